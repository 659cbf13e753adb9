// Just enough of HTTP/2 to make many small gRPC calls on one connection: request headers that never change, one message each way,
// frames of one turn written together. Node's own client costs four times what the load may cost on the cores that it shares
// with what it measures. Header blocks that come are not read: a reply with a message is OK, since a refusal has none.
import { connect, type Socket } from 'node:net';

const FRAME_HEADER_BYTES = 9;
const MESSAGE_HEADER_BYTES = 5;
const FRAME = { data: 0, headers: 1, reset: 3, settings: 4, ping: 6, goAway: 7, windowUpdate: 8 } as const;
const END_STREAM = 0x1;
const ACK = 0x1;
const END_HEADERS = 0x4;
const PREFACE = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';
/** By the protocol, until told otherwise. */
const SEND_WINDOW_BYTES = 65_535;
/** The largest there is: replies are small, and what came is given back in time. */
const RECEIVE_WINDOW_BYTES = 2 ** 31 - 1;
const GIVE_BACK_BYTES = 2 ** 20;
const SETTING_INITIAL_WINDOW_SIZE = 4;

/** Called with the message of a reply; undefined where it was refused. */
export type OnReply = (message: Buffer | undefined) => void;

interface Call {
  readonly onReply: OnReply;
  message: Buffer | undefined;
}

/** One connection. */
export class Http2Client {
  readonly #socket: Socket;
  readonly #authority: string;
  readonly #headers = new Map<string, Buffer>();
  readonly #calls = new Map<number, Call>();
  #out: Buffer[] = [];
  #rest: Buffer = Buffer.alloc(0);
  #nextStream = 1;
  #sendWindow = SEND_WINDOW_BYTES;
  #receivedBytes = 0;

  /** `onFailure`: the connection broke, or the server does what this client does not know. */
  constructor(address: string, onFailure: (error: Error) => void) {
    const at = address.lastIndexOf(':');
    this.#authority = address;
    this.#socket = connect({ host: address.slice(0, at), port: Number(address.slice(at + 1)), noDelay: true });
    this.#socket.on('error', onFailure);
    this.#socket.on('data', (chunk: Buffer) => {
      try {
        this.#take(chunk);
      } catch (error) {
        onFailure(error as Error);
      }
      this.#flush();
    });
    const settings = Buffer.alloc(6);
    settings.writeUInt16BE(SETTING_INITIAL_WINDOW_SIZE);
    settings.writeUInt32BE(RECEIVE_WINDOW_BYTES, 2);
    this.#out.push(Buffer.from(PREFACE), frame(FRAME.settings, 0, 0, settings));
    this.#giveBack(RECEIVE_WINDOW_BYTES - SEND_WINDOW_BYTES);
  }

  /** Makes a call; what was called in one turn leaves at its end. Must not be called with more under way than a window holds. */
  call(path: string, message: Uint8Array, onReply: OnReply): void {
    const stream = this.#nextStream;
    this.#nextStream += 2;
    this.#calls.set(stream, { onReply, message: undefined });
    const data = Buffer.alloc(MESSAGE_HEADER_BYTES + message.length);
    data.writeUInt32BE(message.length, 1);
    data.set(message, MESSAGE_HEADER_BYTES);
    this.#sendWindow -= data.length;
    if (this.#sendWindow < 0) throw new Error('more is under way than the window of the connection holds');
    if (this.#out.length === 0) setImmediate(() => this.#flush());
    this.#out.push(frame(FRAME.headers, END_HEADERS, stream, this.#headersOf(path)));
    this.#out.push(frame(FRAME.data, END_STREAM, stream, data));
  }

  close(): void {
    this.#socket.end();
  }

  #flush(): void {
    if (this.#out.length === 0) return;
    const out = this.#out;
    this.#out = [];
    this.#socket.write(Buffer.concat(out));
  }

  #take(chunk: Buffer): void {
    const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    let at = 0;
    while (bytes.length - at >= FRAME_HEADER_BYTES) {
      const end = at + FRAME_HEADER_BYTES + bytes.readUIntBE(at, 3);
      if (end > bytes.length) break;
      const payload = bytes.subarray(at + FRAME_HEADER_BYTES, end);
      this.#frame(bytes[at + 3] as number, bytes[at + 4] as number, bytes.readUInt32BE(at + 5), payload);
      at = end;
    }
    this.#rest = bytes.subarray(at);
  }

  #frame(type: number, flags: number, stream: number, payload: Buffer): void {
    switch (type) {
      case FRAME.data:
        this.#data(stream, payload);
        break;
      case FRAME.settings:
        if ((flags & ACK) === 0) this.#out.push(frame(FRAME.settings, ACK, 0, Buffer.alloc(0)));
        return;
      case FRAME.ping:
        if ((flags & ACK) === 0) this.#out.push(frame(FRAME.ping, ACK, 0, payload));
        return;
      case FRAME.windowUpdate:
        if (stream === 0) this.#sendWindow += payload.readUInt32BE();
        return;
      case FRAME.goAway:
      case FRAME.reset:
        throw new Error(`the server ended ${type === FRAME.reset ? 'a call' : 'the connection'}`);
      default:
    }
    if ((flags & END_STREAM) !== 0) this.#end(stream);
  }

  // A message is small: it comes in one frame, or in one for its header and one for the rest.
  #data(stream: number, payload: Buffer): void {
    const call = this.#calls.get(stream);
    if (call !== undefined)
      call.message = call.message === undefined ? payload : Buffer.concat([call.message, payload]);
    this.#receivedBytes += payload.length;
    if (this.#receivedBytes < GIVE_BACK_BYTES) return;
    this.#giveBack(this.#receivedBytes);
    this.#receivedBytes = 0;
  }

  #end(stream: number): void {
    const call = this.#calls.get(stream);
    this.#calls.delete(stream);
    call?.onReply(call.message?.subarray(MESSAGE_HEADER_BYTES));
  }

  #giveBack(bytes: number): void {
    const payload = Buffer.alloc(4);
    payload.writeUInt32BE(bytes);
    this.#out.push(frame(FRAME.windowUpdate, 0, 0, payload));
  }

  #headersOf(path: string): Buffer {
    let block = this.#headers.get(path);
    if (block === undefined) {
      block = headerBlock(path, this.#authority);
      this.#headers.set(path, block);
    }
    return block;
  }
}

function frame(type: number, flags: number, stream: number, payload: Buffer): Buffer {
  const bytes = Buffer.allocUnsafe(FRAME_HEADER_BYTES + payload.length);
  bytes.writeUIntBE(payload.length, 0, 3);
  bytes[3] = type;
  bytes[4] = flags;
  bytes.writeUInt32BE(stream, 5);
  bytes.set(payload, FRAME_HEADER_BYTES);
  return bytes;
}

// RFC 7541: names by their place in the static table, values as they are, nothing that the peer has to remember.
function headerBlock(path: string, authority: string): Buffer {
  const post = Buffer.of(0x83);
  const http = Buffer.of(0x86);
  const contentType = Buffer.of(0x0f, 0x10);
  const literal = (text: string): Buffer => Buffer.concat([Buffer.of(text.length), Buffer.from(text)]);
  return Buffer.concat([
    post,
    http,
    Buffer.of(0x04),
    literal(path),
    Buffer.of(0x01),
    literal(authority),
    contentType,
    literal('application/grpc'),
    Buffer.of(0x00),
    literal('te'),
    literal('trailers'),
  ]);
}
