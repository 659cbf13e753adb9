// Personal fields of a repeat are compared by their salted commitments, since the journal holds nothing else of them. Once
// erased, nothing is left to compare.
import { describe, expect, it } from 'vitest';
import { apply } from '../../../src/kernel/apply.ts';
import type { Entry } from '../../../src/kernel/entry.ts';
import { personalFields } from '../../support/commands.ts';
import { granted, KernelDriver, refused } from '../../support/kernel-driver.ts';

const ALICE = personalFields('alice', 'red');

function withGrant(personal: typeof ALICE | 'none' = ALICE): KernelDriver {
  const driver = new KernelDriver();
  driver.run(driver.make.create('t', { limits: 100 }));
  driver.hold('t', 10, { key: 'k', ...(personal === 'none' ? {} : { personal }) });
  return driver;
}

/** The same journal as read back after its personal fields were erased. */
function erased(driver: KernelDriver): KernelDriver {
  const after = new KernelDriver();
  for (const entry of driver.journal) {
    apply(after.state, withoutPersonal(entry));
  }
  after.state.commit();
  return after;
}

function withoutPersonal(entry: Entry): Entry {
  const { personal } = entry;
  if (personal === undefined) return entry;
  const without = { ...entry, personal: { ...personal, salt: undefined, actingFor: '', labels: [] } };
  if (without.type !== 'Granted') return without;
  return { ...without, reservation: { ...without.reservation, actingFor: '', labels: [] } };
}

describe('a repeat with personal fields', () => {
  it('is the same request with another salt', () => {
    const driver = withGrant();
    const salted = { ...ALICE, salt: 'b3RoZXJvdGhlcm90aGVybw' };
    const answer = granted(driver.run(driver.make.reserve('t', 10, { key: 'k', personal: salted })));
    expect(answer).toMatchObject({ replayed: true, reservation: { actingFor: 'alice', labels: [['label', 'red']] } });
  });

  it.each([
    ['another person', personalFields('bob', 'red')],
    ['another label', personalFields('alice', 'blue')],
    ['none', undefined],
  ])('is another request with %s', (_, personal) => {
    const driver = withGrant();
    const options = { key: 'k', ...(personal === undefined ? {} : { personal }) };
    expect(refused(driver.run(driver.make.reserve('t', 10, options))).reason).toBe('IDEMPOTENCY_KEY_REUSED');
  });

  it('is another request where the first had none', () => {
    const driver = withGrant('none');
    expect(refused(driver.run(driver.make.reserve('t', 10, { key: 'k', personal: ALICE }))).reason).toBe(
      'IDEMPOTENCY_KEY_REUSED',
    );
    expect(granted(driver.run(driver.make.reserve('t', 10, { key: 'k' }))).replayed).toBe(true);
  });

  it('passes as the same once they are erased, and is answered without them', () => {
    const driver = erased(withGrant());
    const repeat = driver.make.reserve('t', 10, { key: 'k', personal: personalFields('bob') });
    expect(granted(driver.run(repeat))).toMatchObject({ replayed: true, reservation: { actingFor: '', labels: [] } });
    expect(refused(driver.run(driver.make.reserve('t', 11, { key: 'k', personal: ALICE }))).reason).toBe(
      'IDEMPOTENCY_KEY_REUSED',
    );
  });
});
