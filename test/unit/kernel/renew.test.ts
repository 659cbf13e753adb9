import { describe, expect, it } from 'vitest';
import { granted, KernelDriver, refused, START_MS } from '../../support/kernel-driver.ts';

function withHold(graceMs = 0): { driver: KernelDriver; id: string } {
  const driver = new KernelDriver();
  driver.graceMs = graceMs;
  driver.run(driver.make.create('t', { limits: 100 }));
  return { driver, id: driver.hold('t', 100, { ttlMs: 60_000 }) };
}

describe('Renew', () => {
  it.each([
    ['from now, not from the end', 50_000, 60_000, 110_000, 60_000],
    ['never backwards', 50_000, 5_000, 60_000, 60_000],
    ['nowhere, where it ends there already', 0, 60_000, 60_000, 60_000],
    ['in the last millisecond', 59_999, 1_000, 60_999, 1_000],
  ])('moves the lease %s', (_, afterMs, ttlMs, expireAfterMs, leaseMs) => {
    const { driver, id } = withHold(5_000);
    driver.advance(afterMs);
    const { figures } = granted(driver.run(driver.make.renew(id, ttlMs))).reservation;
    expect(figures).toMatchObject({
      expireMs: START_MS + expireAfterMs,
      reclaimMs: START_MS + expireAfterMs + 5_000,
      ttlMs: leaseMs,
      started: true,
      grantedMicros: 100n,
    });
  });

  it('moves no money and is not stopped by a lowered limit', () => {
    const { driver, id } = withHold();
    driver.run(driver.make.update('t', { limits: 1 }));
    expect(granted(driver.run(driver.make.renew(id, 90_000))).headroom.micros).toBe(0n);
    expect(driver.balances('t')).toMatchObject({ held: 100n });
  });

  it('writes nothing where nothing moved and no key asks for it', () => {
    const { driver, id } = withHold();
    driver.run(driver.make.renew(id, 60_000));
    const { length } = driver.journal;
    granted(driver.run(driver.make.renew(id, 60_000)));
    expect(driver.journal).toHaveLength(length);
    granted(driver.run(driver.make.renew(id, 60_000, { key: 'k' })));
    expect(driver.journal).toHaveLength(length + 1);
    expect(driver.journal.at(-1)).toMatchObject({ type: 'Renewed', moves: [{ id }] });
  });

  it.each([
    ['after expire_time', 60_000, 'LEASE_EXPIRED'],
    ['after the lapse', 65_000, 'LEASE_EXPIRED'],
  ])('is refused %s', (_, afterMs, reason) => {
    const { driver, id } = withHold(5_000);
    driver.advance(afterMs);
    expect(refused(driver.run(driver.make.renew(id, 60_000)))).toMatchObject({ reason, reservationId: `t:${id}` });
  });

  it('is refused where suspended, after the end, and where nothing is', () => {
    const { driver, id } = withHold();
    driver.run(driver.make.suspend('t'));
    expect(refused(driver.run(driver.make.renew(id, 1_000)))).toMatchObject({
      reason: 'BUDGET_SUSPENDED',
      budget: 't',
    });
    driver.run(driver.make.release(id));
    expect(refused(driver.run(driver.make.renew(id, 1_000)))).toMatchObject({ reason: 'RESERVATION_RELEASED' });
    expect(refused(driver.run(driver.make.renew('nowhere000', 1_000)))).toMatchObject({
      reason: 'RESERVATION_NOT_FOUND',
    });
  });

  it('passes in a closed budget', () => {
    const { driver, id } = withHold();
    driver.run(driver.make.close('t'));
    granted(driver.run(driver.make.renew(id, 90_000)));
  });
});

describe('Renew of many', () => {
  it('answers each in the order asked, with one entry for all', () => {
    const driver = new KernelDriver();
    driver.run(driver.make.create('t', { limits: 100 }));
    const [a, b, c] = [driver.hold('t', 1), driver.hold('t', 1), driver.hold('t', 1)];
    driver.run(driver.make.release(b));
    const { length } = driver.journal;
    const answer = driver.run(
      driver.make.batchRenew([
        [a, 90_000],
        [b, 90_000],
        ['nowhere000', 90_000],
        [c, 10_000],
      ]),
    );
    expect(answer).toMatchObject({
      kind: 'renewals',
      results: [
        { kind: 'reservation', reservation: { id: a, figures: { expireMs: START_MS + 90_000 } } },
        { reason: 'RESERVATION_RELEASED' },
        { reason: 'RESERVATION_NOT_FOUND' },
        { kind: 'reservation', reservation: { id: c, figures: { expireMs: START_MS + 60_000, started: true } } },
      ],
    });
    expect(driver.journal).toHaveLength(length + 1);
    expect(driver.journal.at(-1)).toMatchObject({
      type: 'Renewed',
      moves: [{ id: a }, { id: c }],
      refused: [{ id: b, reason: 'RESERVATION_RELEASED', budget: 't' }],
    });
  });

  it('writes down what a Renew of one would: refusals that are decisions, also where nothing moved', () => {
    const driver = new KernelDriver();
    driver.run(driver.make.create('t', { limits: 100 }));
    driver.run(driver.make.create('t/c'));
    const [a, b] = [driver.hold('t/c', 1), driver.hold('t', 1)];
    driver.run(driver.make.suspend('t/c'));
    driver.run(driver.make.release(b));
    const { length } = driver.journal;
    for (const id of [a, b, 'nowhere000']) driver.run(driver.make.renew(id, 90_000));
    const alone = driver.journal.slice(length);
    expect(alone).toMatchObject([
      { type: 'Refused', command: 'Renew', id: a, budget: 't/c', refusal: { reason: 'BUDGET_SUSPENDED' } },
      { type: 'Refused', command: 'Renew', id: b, refusal: { reason: 'RESERVATION_RELEASED' } },
    ]);
    driver.run(
      driver.make.batchRenew([
        [a, 90_000],
        ['nowhere000', 90_000],
        [b, 90_000],
      ]),
    );
    const together = driver.journal.slice(length + alone.length);
    expect(together).toMatchObject([{ type: 'Renewed', moves: [] }]);
    expect(together[0]).toHaveProperty(
      'refused',
      alone.map((entry) => {
        if (entry.type !== 'Refused') throw new Error(`not refused: ${entry.type}`);
        return { id: entry.id, reason: entry.refusal.reason, budget: entry.budget };
      }),
    );
  });

  it('takes the same lease twice as two renewals in a row', () => {
    const { driver, id } = withHold();
    const answer = driver.run(
      driver.make.batchRenew([
        [id, 90_000],
        [id, 70_000],
        [id, 95_000],
      ]),
    );
    const ends = answer.kind === 'renewals' ? answer.results.map((each) => granted(each).reservation.figures) : [];
    expect(ends.map(({ expireMs }) => expireMs - START_MS)).toEqual([90_000, 90_000, 95_000]);
    expect(driver.journal.at(-1)).toMatchObject({ moves: [{ id, figures: { expireMs: START_MS + 95_000 } }] });
    expect(driver.reservation(id).figures.expireMs).toBe(START_MS + 95_000);
  });

  it('of which none moved and none was judged writes nothing', () => {
    const { driver, id } = withHold();
    const { length } = driver.journal;
    driver.run(driver.make.batchRenew([['nowhere000', 1_000]]));
    driver.run(
      driver.make.batchRenew([
        ['nowhere000', 1_000],
        ['nowhere001', 1_000],
      ]),
    );
    driver.run(driver.make.batchRenew([]));
    expect(driver.journal).toHaveLength(length);
    expect(driver.reservation(id).figures.started).toBe(false);
  });
});
