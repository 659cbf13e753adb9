// Text of other people, made safe and measured for a terminal. Holders, owners and labels are free text: without this
// they could move the cursor, repaint the screen or turn the reading direction of a line.

/** Control, format, surrogate and private-use characters, and the two line separators. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\u2028\u2029]/gu;
const ZERO_WIDTH = /^\p{Mark}$/u;
/** East Asian wide and full-width forms, and symbols that are drawn as emoji: two cells each. */
const DOUBLE_WIDTH =
  /^[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]$|^\p{Emoji_Presentation}$/u;

/** The text with each unprintable character replaced, so that it stays on its line and does nothing. */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, '\ufffd');
}

/** How many cells the text takes on a terminal. The text must be printable. */
export function widthOf(text: string): number {
  let width = 0;
  for (const character of text) width += widthOfCharacter(character);
  return width;
}

/** The text cut to so many cells at most, with an ellipsis where something was cut off. */
export function cutToWidth(text: string, widthMax: number): string {
  if (widthOf(text) <= widthMax) return text;
  let kept = '';
  let width = 0;
  for (const character of text) {
    width += widthOfCharacter(character);
    if (width > widthMax - 1) break;
    kept += character;
  }
  return `${kept}…`;
}

function widthOfCharacter(character: string): number {
  if (ZERO_WIDTH.test(character)) return 0;
  return DOUBLE_WIDTH.test(character) ? 2 : 1;
}
