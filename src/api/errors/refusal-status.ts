// Turns a refusal into its gRPC status: the only place where reasons meet the wire. All details together stay under
// 4 KB, so that they fit the 8 KB of headers that common clients and proxies take, base64 included.
import { type DescMessage, type MessageShape, toBinary } from '@bufbuild/protobuf';
import type { Code } from '../../gen/google/rpc/code_pb.ts';
import {
  BadRequest_FieldViolationSchema,
  BadRequestSchema,
  ErrorInfoSchema,
  PreconditionFailureSchema,
  QuotaFailure_ViolationSchema,
  QuotaFailureSchema,
  ResourceInfoSchema,
  RetryInfoSchema,
} from '../../gen/google/rpc/error_details_pb.ts';
import type { FailingLimit, FieldProblem } from '../../kernel/refusal.ts';
import type { ApiRefusal } from '../api-refusal.ts';
import { durationFromMs } from '../encode/time.ts';
import type { CallStatus, StatusDetail } from './call-status.ts';
import { clipText } from './clip-text.ts';
import { REASON_CODES } from './reason-codes.ts';

// `ErrorInfo.domain` of every refusal.
const ERROR_DOMAIN = 'budgetd';

// DESIGN says under 4 KB for all details together. 96 bytes of that are left for the tags and lengths around them.
const DETAILS_BYTES_MAX = 4_000;
// The message repeats in `grpc-message`, percent-encoded: a short one leaves room in the headers.
const MESSAGE_BYTES_MAX = 512;
// A path has at most 1,023 bytes, a reservation id 104: both pass whole, and nothing else is that long.
const METADATA_BYTES_MAX = 1_023;
const DESCRIPTION_BYTES_MAX = 256;
// Type URL, tags and lengths around one detail.
const ENVELOPE_BYTES = 64;
// Tag and length in front of one item of a list.
const ITEM_BYTES = 4;

/** Collects details up to the bound. */
class DetailList {
  readonly details: StatusDetail[] = [];
  #bytesLeft: number;

  constructor(bytesMax: number) {
    this.#bytesLeft = bytesMax;
  }

  /** Adds a detail if it fits. */
  add<D extends DescMessage>(desc: D, value: MessageShape<D>): void {
    const bytes = toBinary(desc, value).length + ENVELOPE_BYTES;
    if (bytes > this.#bytesLeft) return;
    this.#bytesLeft -= bytes;
    this.details.push({ desc, value });
  }

  /** As many of the items, from the first on, as a detail of its own has room for. */
  fitting<D extends DescMessage>(desc: D, items: readonly MessageShape<D>[]): MessageShape<D>[] {
    let bytesLeft = this.#bytesLeft - ENVELOPE_BYTES;
    const cut = items.findIndex((item) => {
      bytesLeft -= toBinary(desc, item).length + ITEM_BYTES;
      return bytesLeft < 0;
    });
    return items.slice(0, cut === -1 ? items.length : cut);
  }
}

function metadataOf(refusal: ApiRefusal): Record<string, string> {
  const metadata: Record<string, string> = {};
  const put = (name: string, value: string | bigint | number | undefined): void => {
    if (value !== undefined) metadata[name] = clipText(String(value), METADATA_BYTES_MAX);
  };
  put('budget', refusal.budget);
  put('limit', refusal.limit);
  put('unit', refusal.unit ?? refusal.unpriced?.unit);
  const named = refusal.failing?.find(({ budget, limit }) => budget === refusal.budget && limit === refusal.limit);
  put('amount', named?.amountMicros);
  put('available', refusal.availableMicros);
  put('requested', refusal.requestedMicros);
  put('largest', refusal.largestMicros);
  put('reservation_id', refusal.reservationId);
  if (refusal.leaderAddress !== '') put('leader_address', refusal.leaderAddress);
  put('rate_kind', refusal.rate?.kind);
  put('rate_count', refusal.rate?.count);
  put('rate_per_ms', refusal.rate?.perMs);
  put('rate_burst', refusal.rate?.burst);
  put('rate_available', refusal.rate?.availableCount);
  put('rate_requested', refusal.rate?.requestedCount);
  put('bound', refusal.bound?.name);
  put('bound_max', refusal.bound?.max);
  put('bound_observed', refusal.bound?.observed);
  put('provider', refusal.unpriced?.provider);
  put('model', refusal.unpriced?.model);
  put('more', refusal.unpriced?.moreCount);
  put('why', refusal.unpriced?.why);
  put('field', refusal.unpriced?.field);
  put('change_index', refusal.change?.index);
  put('change_budget', refusal.change?.budget);
  return metadata;
}

function addFields(list: DetailList, fields: readonly FieldProblem[]): void {
  const violations = fields.map(({ field, description }) => ({
    $typeName: 'google.rpc.BadRequest.FieldViolation' as const,
    field: clipText(field, DESCRIPTION_BYTES_MAX),
    description: clipText(description, DESCRIPTION_BYTES_MAX),
    reason: '',
  }));
  list.add(BadRequestSchema, {
    $typeName: 'google.rpc.BadRequest',
    fieldViolations: list.fitting(BadRequest_FieldViolationSchema, violations),
  });
}

// A limit is named `<budget>:<limit>`: a path has no colon, so the first one parts them.
function addLimits(list: DetailList, failing: readonly FailingLimit[]): void {
  const violations = failing.map(({ budget, limit, amountMicros, availableMicros }) => ({
    $typeName: 'google.rpc.QuotaFailure.Violation' as const,
    subject: `${budget}:${limit}`,
    description: `${availableMicros} of ${amountMicros} available`,
    apiService: '',
    quotaMetric: '',
    quotaId: limit,
    quotaDimensions: {},
    quotaValue: amountMicros,
  }));
  list.add(QuotaFailureSchema, {
    $typeName: 'google.rpc.QuotaFailure',
    violations: list.fitting(QuotaFailure_ViolationSchema, violations),
  });
}

// What the refusal is about, for clients that read the standard details only.
function addSubject(list: DetailList, code: Code, refusal: ApiRefusal, message: string): void {
  const isReservation = refusal.reservationId !== undefined;
  const subject = refusal.reservationId ?? refusal.budget;
  if (subject === undefined) return;
  const description = clipText(message, DESCRIPTION_BYTES_MAX);
  // 5, 6 and 9: NOT_FOUND, ALREADY_EXISTS and FAILED_PRECONDITION.
  if (code === 5 || code === 6) {
    const resourceType = isReservation ? 'budgetd.v1.Reservation' : 'budgetd.v1.Budget';
    const info = { resourceType, resourceName: clipText(subject, METADATA_BYTES_MAX), owner: '', description };
    list.add(ResourceInfoSchema, { $typeName: 'google.rpc.ResourceInfo', ...info });
  } else if (code === 9) {
    const violation = { type: refusal.reason, subject: clipText(subject, METADATA_BYTES_MAX), description };
    list.add(PreconditionFailureSchema, {
      $typeName: 'google.rpc.PreconditionFailure',
      violations: [{ $typeName: 'google.rpc.PreconditionFailure.Violation', ...violation }],
    });
  }
}

/** Longest google.protobuf.Duration, in milliseconds: a slow rate that is asked for very much takes longer to fill. */
const DURATION_MAX_MS = 315_576_000_000_000;

/** The status of a refusal, with every standard detail that fits it, the most telling first. */
export function refusalStatus(refusal: ApiRefusal): CallStatus {
  const code = REASON_CODES[refusal.reason];
  // Half a surrogate pair could not be percent-encoded into `grpc-message`.
  const message = clipText(refusal.message.toWellFormed(), MESSAGE_BYTES_MAX);
  const list = new DetailList(DETAILS_BYTES_MAX);
  list.add(ErrorInfoSchema, {
    $typeName: 'google.rpc.ErrorInfo',
    reason: refusal.reason,
    domain: ERROR_DOMAIN,
    metadata: metadataOf(refusal),
  });
  if (refusal.retryAfterMs !== undefined) {
    const retryMs = Math.min(Math.max(0, Math.ceil(refusal.retryAfterMs)), DURATION_MAX_MS);
    const retryDelay = durationFromMs(retryMs);
    list.add(RetryInfoSchema, { $typeName: 'google.rpc.RetryInfo', retryDelay });
  }
  if (refusal.fields !== undefined) addFields(list, refusal.fields);
  if (refusal.failing !== undefined && refusal.failing.length > 0) addLimits(list, refusal.failing);
  addSubject(list, code, refusal, message);
  return { code, message, details: list.details };
}
