// Rules of free text and of names. One pass over each text, since every request on the hot path has several.

/**
 * What is wrong with a free text; undefined if nothing is. Lengths are bytes in UTF-8. Control characters are refused
 * everywhere: nobody can see them, terminals obey them, and PostgreSQL cannot store U+0000.
 */
export function textProblem(text: string, bytesMin: number, bytesMax: number): string | undefined {
  let bytes = 0;
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit < 0x20 || (unit >= 0x7f && unit < 0xa0)) return 'must not contain control characters';
    if (unit < 0x80) bytes += 1;
    else if (unit < 0x800) bytes += 2;
    else if (unit < 0xd800 || unit > 0xdfff) bytes += 3;
    else {
      // Half a pair of surrogates can arrive in JSON; UTF-8 has no bytes for it.
      const next = text.charCodeAt(at + 1);
      if (unit > 0xdbff || !(next >= 0xdc00 && next <= 0xdfff)) return 'must be valid Unicode';
      at += 1;
      bytes += 4;
    }
  }
  if (bytes >= bytesMin && bytes <= bytesMax) return undefined;
  if (bytes === 0) return 'is required';
  return bytesMin === 0 ? `must have at most ${bytesMax} bytes` : `must have ${bytesMin} to ${bytesMax} bytes`;
}

/** Largest owner, holder, reason, label value and acting_for, in bytes: enough for a name or a sentence, no document. */
export const FREE_TEXT_BYTES_MAX = 256;

/** Largest idempotency key, in bytes: several UUIDs fit. */
export const KEY_BYTES_MAX = 255;
