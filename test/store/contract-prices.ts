// The contract's part on the price book.
import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import type { StoredPrice, StoredPriceKind } from '../../src/store/price-port.ts';
import type { ContractWorld } from './contract-world.ts';

const KINDS: readonly StoredPriceKind[] = ['row', 'alias', 'unit_row', 'retirement', 'import'];

function record(kind: StoredPriceKind, body: string, more: Partial<StoredPrice> = {}): StoredPrice {
  const hash = createHash('sha256').update(body).digest('base64url');
  return { kind, hash, body, origin: 'operator', addedBy: 'ops', addedMs: 1_796_083_200_000, ...more };
}

const inOrder = (records: readonly StoredPrice[]): StoredPrice[] =>
  records.toSorted((a, b) => KINDS.indexOf(a.kind) - KINDS.indexOf(b.kind) || (a.body < b.body ? -1 : 1));

/** Prices. */
export function describePrices(c: ContractWorld): void {
  it('has no prices at first, and gives back what was added, of every kind', async () => {
    expect(await c.store.loadPrices()).toStrictEqual([]);
    const records = KINDS.flatMap((kind) => [
      record(kind, `["${kind}","naïve \\"€\\""]`),
      record(kind, '["same body"]'),
    ]);
    expect(await c.store.addPrices(c.epoch, records)).toBe('added');
    expect(inOrder(await c.store.loadPrices())).toStrictEqual(inOrder(records));
  });

  it('a record that is there stays as it was added first, beside one that is new', async () => {
    const before = await c.store.loadPrices();
    const [known] = before;
    if (known === undefined) throw new Error('nothing was added before');
    const again = { ...known, addedBy: 'somebody else', addedMs: 7, origin: 'catalogue' } as const;
    const fresh = record('row', '["another"]', { origin: 'catalogue', addedBy: 'list' });
    expect(await c.store.addPrices(c.epoch, [again, fresh, fresh])).toBe('added');
    expect(inOrder(await c.store.loadPrices())).toStrictEqual(inOrder([...before, fresh]));
  });

  it('a writer that was replaced, or never was one, adds nothing', async () => {
    const before = inOrder(await c.store.loadPrices());
    for (const epoch of [c.epoch - 1, c.epoch + 1]) {
      expect(await c.store.addPrices(epoch, [record('row', `["of epoch ${epoch}"]`)])).toBe('fenced');
    }
    expect(inOrder(await c.store.loadPrices())).toStrictEqual(before);
    expect(await c.store.addPrices(c.epoch, [])).toBe('added');
  });

  it('takes a whole catalogue at once', async () => {
    const before = await c.store.loadPrices();
    const records = Array.from({ length: 3_000 }, (_, index) => record('row', `["bulk",${index}]`));
    expect(await c.store.addPrices(c.epoch, records)).toBe('added');
    expect(await c.store.loadPrices()).toHaveLength(before.length + records.length);
  });
}
