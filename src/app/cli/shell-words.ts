// Words put into a line that a POSIX shell reads back as the same words. Its own file because what is printed after a
// failed call has to work when pasted.

/** Words that no shell changes. */
const PLAIN_WORD = /^[A-Za-z0-9_.,:@%+=/-]+$/;

/** A word as the last operand of a command that is shown. */
export function operandForShell(word: string): string {
  return `${word.startsWith('-') ? '-- ' : ''}${joinForShell([word])}`;
}

/** Joins words with spaces and quotes those that need it. */
export function joinForShell(words: readonly string[]): string {
  return words.map((word) => (PLAIN_WORD.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`)).join(' ');
}
