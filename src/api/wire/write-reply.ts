// Replies on one reservation straight from the kernel's answer to bytes: the same message as encode/reservation-message
// makes, without the objects in between, which were half of what a hot answer cost. Kept equal by a property test.

import { ReservationState } from '../../gen/budgetd/v1/reservation_pb.ts';
import type { ReservationAnswer } from '../../kernel/answer.ts';
import { publicReservationId } from '../../kernel/names.ts';
import type { Shadow } from '../../kernel/reservation.ts';
import { OUTCOMES } from '../encode/reservation-message.ts';
import { MODES, PRIORITIES } from '../encode/terms-message.ts';
import { waitingOf } from '../encode/waiting.ts';
import type { ReverseWriter } from './reverse-writer.ts';
import { writePrice, writePriced } from './write-price.ts';

const MS_PER_SECOND = 1_000;
const NANOS_PER_MS = 1_000_000;

/** A field's tag: its number and its wire type. */
const varint = (field: number): number => field << 3;
const bytes = (field: number): number => (field << 3) | 2;

/** Field numbers of ReserveResponse and its siblings, which all have these two. */
const REPLY = { reservation: bytes(1), availability: bytes(2) };

/** Field numbers of Reservation. */
const RESERVATION = {
  reservationId: bytes(1),
  budget: bytes(2),
  state: varint(3),
  requestedMicros: varint(4),
  grantedMicros: varint(5),
  heldMicros: varint(6),
  settledMicros: varint(7),
  releasedMicros: varint(8),
  overrunMicros: varint(9),
  createTime: bytes(10),
  expireTime: bytes(11),
  renewAfter: bytes(12),
  endTime: bytes(13),
  late: varint(14),
  estimated: varint(15),
  started: varint(16),
  holder: bytes(17),
  actingFor: bytes(18),
  labels: bytes(19),
  outcome: varint(20),
  releaseReason: bytes(21),
  unit: bytes(22),
  also: bytes(23),
  priority: varint(24),
  alternative: bytes(25),
  shadow: bytes(26),
  waiting: bytes(27),
  price: bytes(28),
  priced: bytes(29),
};

/** Field numbers of Shadow. */
const SHADOW = { mode: varint(1), reason: bytes(2), budget: bytes(3) };

/** Field numbers of Waiting. */
const WAITING = {
  queueTime: bytes(1),
  waitUntil: bytes(2),
  reason: bytes(3),
  budget: bytes(4),
  limit: bytes(5),
  aheadCount: varint(6),
  minMicros: varint(7),
};

/** Field numbers of Availability. */
const AVAILABILITY = { availableMicros: varint(1), budget: bytes(2), limit: bytes(3), unit: bytes(4) };

/** Writes a ReserveResponse, ExtendResponse, SettleResponse, ReleaseResponse, RenewResponse or GetReservationResponse. */
export function writeReply(writer: ReverseWriter, answer: ReservationAnswer): void {
  const { headroom, reservation } = answer;
  const end = writer.length;
  writer.text(AVAILABILITY.unit, reservation.unit);
  writer.text(AVAILABILITY.limit, headroom.limit);
  writer.text(AVAILABILITY.budget, headroom.budget);
  if (headroom.micros !== undefined) writer.microsSet(AVAILABILITY.availableMicros, headroom.micros);
  writer.close(REPLY.availability, end);
  const middle = writer.length;
  writeReservation(writer, answer);
  writer.close(REPLY.reservation, middle);
}

function writeReservation(writer: ReverseWriter, answer: ReservationAnswer): void {
  const { treeId, reservation, dryRun } = answer;
  const { figures } = reservation;
  if (reservation.priced !== undefined) writePriced(writer, RESERVATION.priced, reservation.priced);
  if (reservation.price !== undefined) writePrice(writer, RESERVATION.price, reservation.price);
  if (reservation.queued !== undefined) writeWaiting(writer, answer);
  if (reservation.shadow !== undefined) writeShadow(writer, reservation.shadow);
  writer.text(RESERVATION.alternative, reservation.alternative);
  writer.number(RESERVATION.priority, PRIORITIES[reservation.priority]);
  for (let i = reservation.also.length - 1; i >= 0; i--) writer.textSet(RESERVATION.also, reservation.also[i] ?? '');
  writer.text(RESERVATION.unit, reservation.unit);
  writer.text(RESERVATION.releaseReason, figures.releaseReason);
  if (figures.outcome !== undefined) writer.number(RESERVATION.outcome, OUTCOMES[figures.outcome]);
  for (let i = reservation.labels.length - 1; i >= 0; i--) writeLabel(writer, reservation.labels[i]);
  writer.text(RESERVATION.actingFor, reservation.actingFor);
  writer.text(RESERVATION.holder, reservation.holder);
  writer.flag(RESERVATION.started, figures.started);
  writer.flag(RESERVATION.estimated, figures.estimated);
  writer.flag(RESERVATION.late, figures.late);
  if (figures.endMs !== undefined) writeInstant(writer, RESERVATION.endTime, figures.endMs);
  if (figures.state === 'ACTIVE') {
    writeInstant(writer, RESERVATION.renewAfter, figures.expireMs - Math.floor(figures.ttlMs / 2));
  }
  if (reservation.queued === undefined) writeInstant(writer, RESERVATION.expireTime, figures.expireMs);
  writeInstant(writer, RESERVATION.createTime, reservation.createMs);
  writer.micros(RESERVATION.overrunMicros, figures.overrunMicros);
  writer.micros(RESERVATION.releasedMicros, figures.releasedMicros);
  writer.micros(RESERVATION.settledMicros, figures.settledMicros);
  writer.micros(RESERVATION.heldMicros, figures.heldMicros);
  writer.micros(RESERVATION.grantedMicros, figures.grantedMicros);
  writer.micros(RESERVATION.requestedMicros, figures.requestedMicros);
  if (!dryRun) writer.number(RESERVATION.state, ReservationState[figures.state]);
  writer.text(RESERVATION.budget, reservation.budget);
  if (!dryRun) writer.text(RESERVATION.reservationId, publicReservationId(treeId, reservation.id));
}

function writeShadow(writer: ReverseWriter, { mode, reason, budget }: Shadow): void {
  const end = writer.length;
  writer.text(SHADOW.budget, budget);
  writer.text(SHADOW.reason, reason);
  writer.number(SHADOW.mode, MODES[mode]);
  writer.close(RESERVATION.shadow, end);
}

function writeWaiting(writer: ReverseWriter, { reservation, standing }: ReservationAnswer): void {
  const waiting = waitingOf(reservation, standing);
  if (waiting === undefined) return;
  const end = writer.length;
  writer.micros(WAITING.minMicros, waiting.minMicros);
  if (waiting.aheadCount !== undefined) writer.microsSet(WAITING.aheadCount, BigInt(waiting.aheadCount));
  writer.text(WAITING.limit, waiting.limit);
  writer.text(WAITING.budget, waiting.budget);
  writer.text(WAITING.reason, waiting.reason);
  writeInstant(writer, WAITING.waitUntil, waiting.untilMs);
  writeInstant(writer, WAITING.queueTime, waiting.queueMs);
  writer.close(RESERVATION.waiting, end);
}

// A map's entry has its key and its value, empty or not.
function writeLabel(writer: ReverseWriter, label: readonly [string, string] | undefined): void {
  const [key, value] = label ?? ['', ''];
  const end = writer.length;
  writer.textSet(bytes(2), value);
  writer.textSet(bytes(1), key);
  writer.close(RESERVATION.labels, end);
}

// A Timestamp: seconds, then nanoseconds.
function writeInstant(writer: ReverseWriter, tag: number, ms: number): void {
  const end = writer.length;
  const seconds = Math.floor(ms / MS_PER_SECOND);
  writer.number(varint(2), (ms - seconds * MS_PER_SECOND) * NANOS_PER_MS);
  writer.number(varint(1), seconds);
  writer.close(tag, end);
}
