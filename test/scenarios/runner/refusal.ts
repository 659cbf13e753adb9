// What a refused call said: its status and, from the details that travel with it, the reason, the metadata and whether
// a retry is offered. Kept whole, since a difference prints all of it.
import { fromBinary } from '@bufbuild/protobuf';
import { anyUnpack } from '@bufbuild/protobuf/wkt';
import { type ServiceError, status as StatusCode } from '@grpc/grpc-js';
import {
  BadRequestSchema,
  ErrorInfoSchema,
  QuotaFailureSchema,
  RetryInfoSchema,
} from '../../../src/gen/google/rpc/error_details_pb.ts';
import { StatusSchema } from '../../../src/gen/google/rpc/status_pb.ts';

/** A refusal as a caller sees it. */
export interface RefusalSeen {
  /** Name of the gRPC status, for example RESOURCE_EXHAUSTED. */
  readonly status: string;
  /** Undefined where the status carries no google.rpc.ErrorInfo of the domain budgetd. */
  readonly reason: string | undefined;
  readonly metadata: Readonly<Record<string, string>>;
  /** Delay of RetryInfo in milliseconds; undefined where there is none. */
  readonly retryAfterMs: number | undefined;
  readonly message: string;
  /** Fields of BadRequest and subjects of QuotaFailure, each with its description. */
  readonly violations: readonly string[];
}

/** Whether an error is the status of a call, not a fault of the runner. */
export function isServiceError(error: unknown): error is ServiceError {
  return error instanceof Error && 'code' in error && typeof error.code === 'number' && 'metadata' in error;
}

/** Decodes the status of a refused call. */
export function decodeRefusal(error: ServiceError): RefusalSeen {
  const bytes = error.metadata.get('grpc-status-details-bin')[0];
  const details = bytes instanceof Uint8Array ? fromBinary(StatusSchema, bytes).details : [];
  const info = details.map((detail) => anyUnpack(detail, ErrorInfoSchema)).find((found) => found?.domain === 'budgetd');
  const retry = details.map((detail) => anyUnpack(detail, RetryInfoSchema)).find((found) => found !== undefined);
  const fields = details.flatMap((detail) => anyUnpack(detail, BadRequestSchema)?.fieldViolations ?? []);
  const quotas = details.flatMap((detail) => anyUnpack(detail, QuotaFailureSchema)?.violations ?? []);
  const delay = retry?.retryDelay;
  return {
    status: StatusCode[error.code] ?? `status ${error.code}`,
    reason: info?.reason,
    metadata: info?.metadata ?? {},
    retryAfterMs: retry === undefined ? undefined : Number(delay?.seconds ?? 0n) * 1000 + (delay?.nanos ?? 0) / 1e6,
    message: error.details,
    violations: [
      ...fields.map((violation) => `${violation.field}: ${violation.description}`),
      ...quotas.map((violation) => `${violation.subject}: ${violation.description}`),
    ],
  };
}

/** The whole refusal on one line. */
export function formatRefusal(refusal: RefusalSeen): string {
  const metadata = Object.entries(refusal.metadata).map(([key, value]) => `${key}=${value}`);
  return [
    refusal.status,
    refusal.reason ?? '(no reason)',
    JSON.stringify(refusal.message),
    ...(metadata.length === 0 ? [] : [`{${metadata.join(', ')}}`]),
    refusal.retryAfterMs === undefined ? 'no RetryInfo' : `RetryInfo ${refusal.retryAfterMs}ms`,
    ...(refusal.violations.length === 0 ? [] : [`[${refusal.violations.join('; ')}]`]),
  ].join(' ');
}
