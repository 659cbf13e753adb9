// Cuts text to a number of bytes without leaving half a character behind. Its own file because the bound on error
// details rests on it.

const ELLIPSIS = '…';
const ELLIPSIS_BYTES = 3;

/** The text if it has at most `bytesMax` bytes in UTF-8 (at least 3), else its beginning with an ellipsis. */
export function clipText(text: string, bytesMax: number): string {
  // No UTF-16 unit takes more than 3 bytes, so most texts need no count.
  if (text.length * 3 <= bytesMax || Buffer.byteLength(text) <= bytesMax) return text;
  const bytes = Buffer.from(text);
  let end = bytesMax - ELLIPSIS_BYTES;
  // 10xxxxxx continues a character: step back to where one starts.
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return bytes.toString('utf8', 0, end) + ELLIPSIS;
}
