// The one message of a unary request, out of its envelope: a byte of flags, four of its length, its bytes. Whatever comes compressed
// is refused by its headers, so that the flags say nothing here.
import { ENVELOPE_BYTES } from '../envelope.ts';

/** What has come so far. */
export class OneMessage {
  /** The first piece as it came, which mostly is all; else a copy of all, with room for more. */
  #buffer: Buffer | undefined;
  #bytes = 0;

  /** Takes the next piece. However many there are, each byte is copied a few times at most. */
  add(piece: Buffer): void {
    if (this.#buffer === undefined) this.#buffer = piece;
    else {
      const bytes = this.#bytes + piece.length;
      if (bytes > this.#buffer.length) this.#grow(Math.max(bytes, 2 * this.#buffer.length));
      piece.copy(this.#buffer, this.#bytes);
    }
    this.#bytes += piece.length;
  }

  /** Bytes of the message, as its envelope says; undefined while that is not there. */
  get length(): number | undefined {
    return this.#bytes < ENVELOPE_BYTES ? undefined : this.#buffer?.readUInt32BE(1);
  }

  /** Whether more has come than one message. */
  get isExceeded(): boolean {
    const { length } = this;
    return length !== undefined && this.#bytes > ENVELOPE_BYTES + length;
  }

  /** The message where it is whole and nothing has come after it. */
  get message(): Buffer | undefined {
    const { length } = this;
    if (length === undefined || this.#bytes !== ENVELOPE_BYTES + length) return undefined;
    return this.#buffer?.subarray(ENVELOPE_BYTES, this.#bytes);
  }

  #grow(size: number): void {
    const grown = Buffer.allocUnsafe(size);
    this.#buffer?.copy(grown, 0, 0, this.#bytes);
    this.#buffer = grown;
  }
}
