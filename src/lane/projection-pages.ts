// Cuts entries into pages by the rows that they change: an entry of lapses or renewals changes as many as it names, up to
// a thousand, so that pages counted in entries could hold a million rows and outlast every time-out.
import type { Entry } from '../kernel/entry.ts';
import { entryWeight } from '../kernel/weight.ts';

// Reservation rows that an entry changes; at least 1, for the entry itself, and as many more as the counters that it moves take.
function rowCountOf(entry: Entry): number {
  if (entry.type === 'Expired') return Math.max(entry.lapses.length, entryWeight(entry));
  if (entry.type === 'Renewed' || entry.type === 'Graced') return Math.max(1, entry.moves.length);
  return entryWeight(entry);
}

/** A page and its rows. */
export interface ProjectionPage {
  readonly entries: readonly Entry[];
  readonly rowCount: number;
}

/** Pages of at most `rowCountMax` rows, or of one entry that has more, in order. */
export function projectionPages(entries: readonly Entry[], rowCountMax: number): ProjectionPage[] {
  const pages: ProjectionPage[] = [];
  let from = 0;
  let rowCount = 0;
  entries.forEach((entry, at) => {
    const rows = rowCountOf(entry);
    if (rowCount > 0 && rowCount + rows > rowCountMax) {
      pages.push({ entries: entries.slice(from, at), rowCount });
      from = at;
      rowCount = 0;
    }
    rowCount += rows;
  });
  if (rowCount > 0) pages.push({ entries: entries.slice(from), rowCount });
  return pages;
}
