// The body of a request that is one message, checked before Connect decodes it: what is no message of the method's type gets the
// contract's INVALID_FIELD with its fields named, where Connect would answer with a bare code or call it internal.
import { type DescMessage, fromBinary } from '@bufbuild/protobuf';
import { Code, ConnectError } from '@connectrpc/connect';
import { compressionGzip } from '@connectrpc/connect-node';
import { type ApiRefusal, invalidFields, undecodable } from '../api-refusal.ts';
import { isCrowdedJson, isCrowdedMessage } from '../crowded-message.ts';
import { ENVELOPE_BYTES } from '../envelope.ts';
import { MESSAGE_BYTES_MAX } from '../transport-limits.ts';
import { jsonProblems } from './json-problems.ts';

/** What a request's headers say of its body. */
export interface BodyForm {
  readonly isJson: boolean;
  /** Whether an envelope is around the message: of gRPC, or of Connect's streams, which is the same. */
  readonly isEnveloped: boolean;
  readonly isGzip: boolean;
}

// The content types of such calls in the three protocols; Connect has another one where the answer is a stream.
const CONTENT_TYPE =
  /^application\/(?:(grpc(?:-web)?|connect)(?:\+(?:(json)|proto))?|(json)|proto)(?:; ?charset=utf-?8)?$/i;

/** Reads the headers; undefined: no form that Connect would decode, and it says so itself. */
export function bodyForm(header: Headers): BodyForm | undefined {
  const match = CONTENT_TYPE.exec(header.get('content-type') ?? '');
  if (match === null) return undefined;
  const isEnveloped = match[1] !== undefined;
  const named =
    match[1] === 'connect' ? 'connect-content-encoding' : isEnveloped ? 'grpc-encoding' : 'content-encoding';
  const encoding = header.get(named) ?? 'identity';
  if (encoding !== 'identity' && encoding !== 'gzip') return undefined;
  return { isJson: match[2] !== undefined || match[3] !== undefined, isEnveloped, isGzip: encoding === 'gzip' };
}

/**
 * The same bytes. Throws what `refuse` makes of a refusal where they are no message. A body past the largest message passes
 * unchecked: Connect refuses it for its size.
 */
export async function* checkedBody(
  body: AsyncIterable<Uint8Array>,
  form: BodyForm,
  desc: DescMessage,
  refuse: (refusal: ApiRefusal) => Error,
): AsyncGenerator<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size > MESSAGE_BYTES_MAX + ENVELOPE_BYTES) {
      // What was kept goes first, once.
      yield* chunks.splice(0);
      yield chunk;
    } else chunks.push(chunk);
  }
  if (size > MESSAGE_BYTES_MAX + ENVELOPE_BYTES) return;
  const bytes = Buffer.concat(chunks);
  const refusal = await refusalOf(bytes, form, desc);
  if (refusal !== undefined) throw refuse(refusal);
  yield bytes;
}

async function refusalOf(bytes: Buffer, form: BodyForm, desc: DescMessage): Promise<ApiRefusal | undefined> {
  let message: Uint8Array | undefined;
  try {
    message = await unwrapped(bytes, form);
  } catch (cause) {
    // One that unfolds to more than may be taken has an answer of its own.
    return ConnectError.from(cause).code === Code.ResourceExhausted ? undefined : undecodable();
  }
  if (message === undefined) return undefined;
  return form.isJson ? jsonRefusal(message, desc) : binaryRefusal(message, desc);
}

// Undefined: not one message in one envelope, which Connect has its own answer to.
async function unwrapped(bytes: Buffer, { isEnveloped, isGzip }: BodyForm): Promise<Uint8Array | undefined> {
  if (!isEnveloped) return isGzip ? compressionGzip.decompress(bytes, MESSAGE_BYTES_MAX) : bytes;
  if (bytes.length < ENVELOPE_BYTES || bytes.readUInt32BE(1) !== bytes.length - ENVELOPE_BYTES) return undefined;
  const message = bytes.subarray(ENVELOPE_BYTES);
  if (bytes[0] === 0) return message;
  if (bytes[0] !== 1) return undefined;
  // Connect, as the specification has it, would call it internal.
  if (!isGzip) throw new Error('marked as compressed, without a word of how');
  return compressionGzip.decompress(message, MESSAGE_BYTES_MAX);
}

function binaryRefusal(message: Uint8Array, desc: DescMessage): ApiRefusal | undefined {
  if (isCrowdedMessage(desc, message)) return undecodable();
  try {
    fromBinary(desc, message);
    return undefined;
  } catch {
    // As on grpc-js: whatever the reader stumbled over, the caller is told the same.
    return undecodable();
  }
}

function jsonRefusal(message: Uint8Array, desc: DescMessage): ApiRefusal | undefined {
  if (isCrowdedJson(message)) return undecodable();
  let text: string;
  try {
    // Not the forgiving decoder that Connect uses: it would store another text than was sent.
    text = new TextDecoder('utf-8', { fatal: true }).decode(message);
  } catch {
    return invalidFields([{ field: 'body', description: 'must be UTF-8' }]);
  }
  const problems = jsonProblems(desc, text);
  return problems.length === 0 ? undefined : invalidFields(problems);
}
