// A call that did not end with OK, taken apart: the status, and the google.rpc details that say why, which limit, and
// what would help. Stands alone because printing, exit codes and --json all read the same facts.
import { fromBinary } from '@bufbuild/protobuf';
import { anyUnpack } from '@bufbuild/protobuf/wkt';
import { type ServiceError, status } from '@grpc/grpc-js';
import {
  BadRequestSchema,
  ErrorInfoSchema,
  QuotaFailureSchema,
  RetryInfoSchema,
} from '../../gen/google/rpc/error_details_pb.ts';
import { StatusSchema } from '../../gen/google/rpc/status_pb.ts';
import { durationToMs } from './duration.ts';
import { EXIT, type ExitCode } from './exit-code.ts';

/** The ErrorInfo domain of the coordinator's own refusals. */
const DOMAIN = 'budgetd';

/** What the service says of a field that names something of the price book that is not there. */
const NAMES_NOTHING: ReadonlySet<string> = new Set(['has no rows in the book', 'is of no row in the book']);

/** grpc-js ends its message with this title also where nothing follows (1.14). */
const EMPTY_NOTE = /\.? Resolution note:\s*$/;

/** What a failed call said. */
export interface CallFailure {
  /** Name of the gRPC status, for example `RESOURCE_EXHAUSTED`. */
  readonly code: string;
  /** The sentence for people. */
  readonly message: string;
  /** The coordinator's reason; undefined where it was not the coordinator that refused (no connection, a deadline). */
  readonly reason: string | undefined;
  /** ErrorInfo metadata: budget, limit, available, requested, reservation_id and so on; amounts in micro-units. */
  readonly metadata: Readonly<Record<string, string>>;
  /** QuotaFailure: the failing limits, tightest first. */
  readonly failing: readonly { readonly subject: string; readonly description: string }[];
  /** BadRequest: the fields at fault. */
  readonly fields: readonly { readonly field: string; readonly description: string }[];
  /** RetryInfo: present exactly where waiting can help. */
  readonly retryAfterMs: number | undefined;
}

/** What the price book says of what a call without a price named. */
export interface PriceHint {
  /** The unit or model that was most likely meant. */
  readonly meant?: string | undefined;
  /** The model whose rows were looked at, where the name stands for another one. */
  readonly rowsOf?: string | undefined;
}

/** What is known of a failed call beside its failure. */
export interface CallNotes {
  /** Options that make a repeat of the command the same request, for example `['--key', 'x']`; empty for reads. */
  readonly repeatOptions?: readonly string[];
  /** Whether the key among them was typed, and not made for this call. */
  readonly isKeyTyped?: boolean;
  /** Whether it asked by a model call, which has no least amount, and not by an amount. */
  readonly isModelCall?: boolean;
  readonly priceHint?: PriceHint;
}

/** Thrown for every call whose status is not OK. */
export class CallError extends Error {
  override readonly name = 'CallError';
  readonly failure: CallFailure;
  readonly server: string;
  /** Name of the method that was called, for example `Reserve`. */
  readonly method: string;
  readonly notes: Required<CallNotes>;

  constructor(failure: CallFailure, server: string, method: string, notes: CallNotes = {}) {
    super(`${failure.code}: ${failure.message}`);
    this.failure = failure;
    this.server = server;
    this.method = method;
    this.notes = { repeatOptions: [], isKeyTyped: false, isModelCall: false, priceHint: {}, ...notes };
  }

  /** The same with more known of it. */
  with(notes: CallNotes): CallError {
    return new CallError(this.failure, this.server, this.method, { ...this.notes, ...notes });
  }
}

/** Takes the error of a grpc-js call apart. Details that this program does not know are left out. */
export function describeCallError(error: ServiceError): CallFailure {
  const details = detailsOf(error);
  const info = details.map((any) => anyUnpack(any, ErrorInfoSchema)).find((found) => found?.domain === DOMAIN);
  const quota = details.map((any) => anyUnpack(any, QuotaFailureSchema)).find((found) => found !== undefined);
  const request = details.map((any) => anyUnpack(any, BadRequestSchema)).find((found) => found !== undefined);
  const retry = details.map((any) => anyUnpack(any, RetryInfoSchema)).find((found) => found !== undefined);
  return {
    code: status[error.code] ?? String(error.code),
    message: error.details.replace(EMPTY_NOTE, ''),
    reason: info?.reason,
    metadata: { ...info?.metadata },
    failing: (quota?.violations ?? []).map(({ subject, description }) => ({ subject, description })),
    fields: (request?.fieldViolations ?? []).map(({ field, description }) => ({ field, description })),
    retryAfterMs: retry === undefined ? undefined : durationToMs(retry.retryDelay),
  };
}

/** The exit code for a failed call. */
export function exitCodeOf({ failure, method }: Pick<CallError, 'failure' | 'method'>): ExitCode {
  if (isNotFound(failure, method)) return EXIT.notFound;
  switch (failure.code) {
    case 'INVALID_ARGUMENT':
      return EXIT.usage;
    case 'RESOURCE_EXHAUSTED':
      if (failure.reason === 'OVERLOADED') return EXIT.unavailable;
      // Without a reason it is a limit of the transport, such as the size of a message, and says nothing about money.
      return failure.reason === undefined ? EXIT.unexpected : EXIT.noMoney;
    case 'FAILED_PRECONDITION':
    case 'ALREADY_EXISTS':
    case 'PERMISSION_DENIED':
    case 'UNAUTHENTICATED':
      return EXIT.refused;
    case 'ABORTED':
      // What was to be edited is another than what was read: the same call will be refused again.
      return failure.reason === 'ETAG_MISMATCH' ? EXIT.refused : EXIT.unavailable;
    case 'UNAVAILABLE':
    case 'DEADLINE_EXCEEDED':
      return EXIT.unavailable;
    default:
      return EXIT.unexpected;
  }
}

// The contract has no status of its own for what is not in the price book. A quote asks for it; to a Reserve it is a refusal.
function isNotFound({ code, reason, fields, metadata }: CallFailure, method: string): boolean {
  if (code === 'NOT_FOUND') return true;
  if (reason === 'PRICE_UNKNOWN' && method === 'Quote') {
    return metadata['why'] === 'no_row' || metadata['unit'] !== undefined;
  }
  return fields.length > 0 && fields.every(({ description }) => NAMES_NOTHING.has(description));
}

function detailsOf(error: ServiceError) {
  const [bytes] = error.metadata.get('grpc-status-details-bin');
  return bytes instanceof Buffer ? fromBinary(StatusSchema, bytes).details : [];
}
