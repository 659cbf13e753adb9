// One unary call over plain HTTP/2: a grpc-js client would be the bottleneck before the server is.
import type { ClientHttp2Session } from 'node:http2';
import { reasonOf } from './wire.ts';

const SERVICE = '/budgetd.v1.ReservationService';
const FRAME_HEADER_BYTES = 5;

/** What came back. */
export interface UnaryReply {
  /** Why there is none; undefined: there is. The reason, or the status's number where it has none. */
  readonly refusal: string | undefined;
  /** The message. */
  readonly body: Buffer;
}

/** Calls a method of ReservationService, or of the service that `service` names. Rejects where the stream fails. */
export function callUnary(
  session: ClientHttp2Session,
  method: string,
  request: Uint8Array,
  service = SERVICE,
): Promise<UnaryReply> {
  return new Promise((resolve, reject) => {
    const stream = session.request({
      ':method': 'POST',
      ':path': `${service}/${method}`,
      'content-type': 'application/grpc',
      te: 'trailers',
    });
    const chunks: Buffer[] = [];
    let status = '';
    let details: string | undefined;
    const take = (headers: Readonly<Record<string, unknown>>) => {
      status = String(headers['grpc-status'] ?? status);
      const value = headers['grpc-status-details-bin'];
      if (typeof value === 'string') details = value;
    };
    stream.on('response', take);
    stream.on('trailers', take);
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    stream.on('error', reject);
    stream.on('end', () => {
      const body = Buffer.concat(chunks).subarray(FRAME_HEADER_BYTES);
      resolve({ refusal: status === '0' ? undefined : (reasonOf(details) ?? `status ${status}`), body });
    });
    const header = Buffer.alloc(FRAME_HEADER_BYTES);
    header.writeUInt32BE(request.byteLength, 1);
    stream.end(Buffer.concat([header, request]));
  });
}
