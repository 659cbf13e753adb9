// Which of some words was most likely meant by one that is none of them. Its own file because keys of a file and words of options are
// mistyped alike.

/** More slips than that make another word; in short words fewer do. */
const SLIPS_MAX = 2;

/** The one that is the fewest slips away (a letter too many, too few, wrong, or two swapped); undefined: none is near. */
export function nearestWord(typed: string, words: readonly string[]): string | undefined {
  const most = Math.min(SLIPS_MAX, Math.floor(typed.length / 3));
  let nearest: string | undefined;
  let fewest = most + 1;
  for (const word of words) {
    const slips = slipsBetween(typed.toLowerCase(), word.toLowerCase());
    if (slips < fewest) [nearest, fewest] = [word, slips];
  }
  return nearest;
}

/** ` (did you mean limits?)`, to stand behind what is wrong; empty where none is near, or it is that very word. */
export function didYouMean(typed: string, words: readonly string[]): string {
  const nearest = nearestWord(typed, words);
  return nearest === undefined || nearest === typed ? '' : ` (did you mean ${nearest}?)`;
}

// Row by row: what the first letters of the one are away from the first of the other.
function slipsBetween(a: string, b: string): number {
  if (Math.abs(a.length - b.length) > SLIPS_MAX) return SLIPS_MAX + 1;
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const isSame = a[i - 1] === b[j - 1];
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      row[j] = Math.min(
        (last[j] ?? 0) + 1,
        (row[j - 1] ?? 0) + 1,
        (last[j - 1] ?? 0) + (isSame ? 0 : 1),
        isSwap ? (beforeLast[j - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY,
      );
    }
    [beforeLast, last] = [last, row];
  }
  return last[b.length] ?? 0;
}
