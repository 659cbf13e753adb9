// The contract's part on the writer's lease.
import { expect, it } from 'vitest';
import type { ContractWorld } from './contract-world.ts';

/** The lease. Takes the epoch away from whatever runs after it. */
export function describeLease(c: ContractWorld): void {
  it('one process at a time holds the lease, and each takeover raises the epoch', async () => {
    const ours = await c.store.holdWriterLease('contract', 'here:2', c.epoch, 3_600_000);
    expect(ours).toMatchObject({ epoch: c.epoch, held: true, address: 'here:2' });
    expect(ours.expireMs - ours.storeNowMs).toBeGreaterThan(3_590_000);
    const theirs = await c.store.holdWriterLease('other', 'there:1', undefined, 3_600_000);
    expect(theirs).toMatchObject({ epoch: c.epoch, held: false, address: 'here:2' });
    // The same holder without its epoch was restarted: it waits like anybody else.
    expect(await c.store.holdWriterLease('contract', 'here:3', undefined, 1)).toMatchObject({ held: false });
    await c.store.releaseWriterLease('other', c.epoch);
    expect(await c.store.holdWriterLease('other', 'there:1', undefined, 1)).toMatchObject({ held: false });
    await c.store.releaseWriterLease('contract', c.epoch);
    const taken = await c.store.holdWriterLease('other', 'there:1', undefined, 0);
    expect(taken).toMatchObject({ epoch: c.epoch + 1, held: true, address: 'there:1' });
    expect(await c.store.append(c.epoch, [])).toStrictEqual({ outcome: 'fenced' });
    // Run out, but nobody else took it: the holder goes on with the same c.epoch.
    expect(await c.store.holdWriterLease('other', 'there:1', c.epoch + 1, 0)).toMatchObject({
      epoch: c.epoch + 1,
      held: true,
    });
    const back = await c.store.holdWriterLease('contract', 'here:4', c.epoch, 3_600_000);
    expect(back).toMatchObject({ epoch: c.epoch + 2, held: true });
    expect(await c.store.append(c.epoch + 1, [])).toStrictEqual({ outcome: 'fenced' });
    expect((await c.store.append(c.epoch + 2, [])).outcome).toBe('committed');
  });

  it('tells for how long there was no leader, across one that did not last for a grace', async () => {
    const now = await c.store.holdWriterLease('looking', '', undefined, 0);
    await c.store.releaseWriterLease('contract', now.epoch);
    const first = await c.store.holdWriterLease('first', '', undefined, 0, 60_000);
    expect(first).toMatchObject({ held: true });
    const renewed = await c.store.holdWriterLease('first', '', first.epoch, 0, 60_000);
    expect(renewed.gapMs).toBe(first.gapMs);
    const second = await c.store.holdWriterLease('second', '', undefined, 0, 60_000);
    expect(second.gapMs).toBeGreaterThanOrEqual(first.gapMs + second.storeNowMs - first.storeNowMs - 50);
    const third = await c.store.holdWriterLease('third', '', undefined, 0, 0);
    // Instants within one statement differ by what the machine stalls between them.
    expect(third.gapMs).toBeLessThanOrEqual(third.storeNowMs - second.storeNowMs + 50);
  });
}
