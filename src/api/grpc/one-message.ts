// The one message of a unary request, out of its envelope: a byte of flags, four of its length, its bytes.
import { ENVELOPE_BYTES } from '../envelope.ts';

/** What has come so far. */
export class OneMessage {
  /** The first piece as it came, where it is all; else a copy of all, with room for more. */
  #buffer: Buffer | undefined;
  #bytes = 0;

  /** Takes the next piece. However many there are, each byte is copied a few times at most, and twice what has come is kept at most. */
  add(piece: Buffer): void {
    if (this.#buffer === undefined) {
      this.#buffer = piece;
      this.#bytes = piece.length;
      // A piece is a part of all that was read with it, which would be kept with it.
      if (this.message === undefined) this.#buffer = Buffer.from(piece);
      return;
    }
    const bytes = this.#bytes + piece.length;
    if (bytes > this.#buffer.length) this.#grow(bytes);
    piece.copy(this.#buffer, this.#bytes);
    this.#bytes = bytes;
  }

  /** Of the envelope; undefined while nothing has come. */
  get flags(): number | undefined {
    return this.#bytes === 0 ? undefined : this.#buffer?.readUInt8(0);
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

  #grow(bytes: number): void {
    const { length = 0 } = this;
    const grown = Buffer.allocUnsafe(Math.max(bytes, Math.min(2 * this.#bytes, ENVELOPE_BYTES + length)));
    this.#buffer?.copy(grown, 0, 0, this.#bytes);
    this.#buffer = grown;
  }
}
