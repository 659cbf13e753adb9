// One page of a list, cut where the response would grow past what clients take.
import { type DescMessage, type MessageShape, toBinary } from '@bufbuild/protobuf';
import type { ApiLog } from '../api-log.ts';
import type { ApiRefusal } from '../api-refusal.ts';

// gRPC clients refuse messages above 4 MiB unless told otherwise; an entry of many long labels has 10 KB and more.
const PAGE_BYTES_MAX = 3 * 1024 * 1024;

// The errors' classes belong to the store's room; their names are what the read models promise.
const STORE_ERRORS: ReadonlySet<string> = new Set(['StoreUnavailableError', 'StoreTimeoutError']);

/** Takes entries from the front of the list: at most `countMax`, at least one, and not past the size of a page. */
export function cutPage<D extends DescMessage>(
  desc: D,
  messages: readonly MessageShape<D>[],
  countMax: number,
): readonly MessageShape<D>[] {
  let bytes = 0;
  const cut = messages.findIndex((message, index) => {
    bytes += toBinary(desc, message).length;
    return index >= countMax || (index > 0 && bytes > PAGE_BYTES_MAX);
  });
  return cut === -1 ? messages : messages.slice(0, cut);
}

/** Reads from the read models; a store that does not answer is a refusal, anything else a fault. */
export async function readOrRefuse<T>(reading: Promise<T>, log: ApiLog): Promise<{ readonly value: T } | ApiRefusal> {
  try {
    return { value: await reading };
  } catch (cause) {
    const refusal = storeRefusal(cause, log);
    if (refusal === undefined) throw cause;
    return refusal;
  }
}

/** The refusal where what was thrown says that the store does not answer; undefined where it says something else. */
export function storeRefusal(cause: unknown, log: ApiLog): ApiRefusal | undefined {
  if (!(cause instanceof Error) || !STORE_ERRORS.has(cause.name)) return undefined;
  log.warn({ err: cause }, 'readers get no answer: the store does not answer');
  return { kind: 'refusal', reason: 'STORE_UNAVAILABLE', message: 'the store does not answer', retryAfterMs: 1_000 };
}
