import { describe, expect, it } from 'vitest';
import { checkChainOf } from '../../../src/store/check-chain.ts';
import { rowHash } from '../../../src/store/entry-codec.ts';
import { CorruptJournalError, GENESIS_HASH } from '../../../src/store/port.ts';

const TEXTS = ['[1]', '[2,3]', '[4]'] as const;

/** Rows 1, 2 to 3 and 4 as the database gives them. */
function chainOf(texts: readonly string[] = TEXTS): [number, number, number, string, string][] {
  let prevHash = GENESIS_HASH;
  let firstSeq = 1;
  return texts.map((entriesText, i) => {
    const lastSeq = firstSeq + (i === 1 ? 1 : 0);
    const hash = rowHash(prevHash, { treeId: 't', firstSeq, lastSeq, atMs: 1_000 + i, entriesText });
    const row: [number, number, number, string, string] = [firstSeq, lastSeq, 1_000 + i, prevHash, hash];
    firstSeq = lastSeq + 1;
    prevHash = hash;
    return row;
  });
}

const headHash = chainOf().at(-1)?.[4] as string;

describe('checkChainOf', () => {
  it('takes rows as they were written, whole or from the middle on', () => {
    checkChainOf('t', TEXTS, chainOf(), headHash);
    checkChainOf('t', TEXTS.slice(1), chainOf().slice(1), headHash);
    checkChainOf('t', TEXTS.slice(0, 2), chainOf().slice(0, 2));
    checkChainOf('t', [], null);
  });

  const rehashed = chainOf(['[9]', ...TEXTS.slice(1)]);
  it.each<[string, string, readonly string[], readonly unknown[] | null, string | undefined]>([
    ['a text that was edited', 't', ['[1]', '[2,9]', '[4]'], chainOf(), headHash],
    [
      'a row that was edited and hashed again',
      't',
      ['[9]', '[2,3]', '[4]'],
      [rehashed[0], ...chainOf().slice(1)],
      headHash,
    ],
    ['a chain that was hashed again to its end', 't', ['[9]', '[2,3]', '[4]'], rehashed, headHash],
    ['a row that is gone', 't', ['[1]', '[4]'], [chainOf()[0], chainOf()[2]], headHash],
    ['a row without its chain', 't', TEXTS, chainOf().slice(1), headHash],
    ['no chain at all', 't', TEXTS, null, undefined],
    ['rows of another tree', 'u', TEXTS, chainOf(), headHash],
  ])('refuses %s', (_, treeId, texts, chain, head) => {
    expect(() => checkChainOf(treeId, texts, chain, head)).toThrow(CorruptJournalError);
  });
});
