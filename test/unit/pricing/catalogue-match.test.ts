import { describe, expect, it } from 'vitest';
import { catalogueNames, wouldMatch } from '../../../src/pricing/catalogue-match.ts';

describe('names', () => {
  it.each<[unknown, readonly string[], number]>([
    [{ equals: 'a' }, ['exact a'], 0],
    [{ or: [{ equals: 'a' }, { or: [{ equals: 'b' }] }] }, ['exact a', 'exact b'], 0],
    [{ starts_with: 'a' }, [], 1],
    [{ or: [{ contains: 'a' }, { ends_with: 'b' }, { equals: 'c' }] }, ['exact c'], 2],
    [{ and: [{ equals: 'a' }, { equals: 'b' }] }, [], 1],
    [{ regex: '^gpt-5\\.6-\\d{4}-\\d{2}-\\d{2}$' }, ['dated gpt-5.6'], 0],
    [{ regex: '^x/grok-\\d{8}$' }, ['dated_compact x/grok'], 0],
    [{ regex: 'gpt-\\d{8}$' }, [], 1],
    [{ regex: '^gpt-\\d{8}' }, [], 1],
    [{ regex: '^gpt.5-\\d{8}$' }, [], 1],
    [{ regex: '^-\\d{8}$' }, [], 1],
    [undefined, [], 0],
  ])('%j', (match, names, looseCount) => {
    const found = catalogueNames(match);
    expect(found.names.map(({ alias, form }) => `${form} ${alias}`)).toEqual(names);
    expect(found.looseCount).toBe(looseCount);
  });

  it.each<[unknown, string, boolean]>([
    [{ equals: 'O3' }, 'o3', true],
    [{ equals: 'o3' }, 'o3-mini', false],
    [{ starts_with: 'o3' }, 'o3-mini', true],
    [{ ends_with: 'mini' }, 'o3-mini', true],
    [{ contains: '3-m' }, 'o3-mini', true],
    [{ or: [{ equals: 'a' }, { contains: 'o3' }] }, 'o3', true],
    [{ and: [{ starts_with: 'o3' }, { contains: 'x' }] }, 'o3', false],
    [{ regex: '^gpt-5\\.6-\\d{8}$' }, 'gpt-5.6-20260101', true],
    [{ regex: '^gpt-5\\.6-\\d{8}$' }, 'gpt-5.6-1', false],
    [{ regex: '^gpt-5x?' }, 'gpt-5', true],
    [{ regex: '^gpt-5x?' }, 'claude', false],
    [{ regex: 'claude' }, 'anything', true],
    [{ regex: '^(?!x)' }, 'anything', true],
    [{ moon: 'full' }, 'anything', true],
    [undefined, 'anything', true],
  ])('%j would take %s: %s', (match, name, expected) => {
    expect(wouldMatch(match, name)).toBe(expected);
  });
});
