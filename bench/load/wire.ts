// Just enough of the wire format for load generators: commands written and results read by hand, so that the load costs
// as little as it can on the cores that it shares with what it measures.
import { fromBinary } from '@bufbuild/protobuf';
import { BinaryReader, BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { anyIs, anyUnpack } from '@bufbuild/protobuf/wkt';
import { ErrorInfoSchema } from '../../src/gen/google/rpc/error_details_pb.ts';
import { StatusSchema } from '../../src/gen/google/rpc/status_pb.ts';

/** Field numbers of SessionCommand and SessionResult. */
const RESERVE = 2;
const SETTLE = 4;
const RESULT_ERROR = 2;
const RESULT_RESERVE = 3;
/** Of ReserveRequest. */
const PRIORITY = 13;
const MODEL_CALL = 16;
/** Of SettleRequest. */
const USAGE = 10;

/** One answer, as far as a load generator cares. */
export interface Result {
  readonly commandId: number;
  /** Why it was refused; undefined: it was not. */
  readonly refusal: string | undefined;
  /** The id that a Reserve was granted; empty otherwise. */
  readonly reservationId: string;
}

/** The bytes of a ReserveRequest. `priority`: as the contract numbers them; 0: it says none. */
export function reserveRequest(budget: string, key: string, maxMicros: number, priority = 0): Uint8Array<ArrayBuffer> {
  const writer = new BinaryWriter()
    .tag(1, WireType.LengthDelimited)
    .string(budget)
    .tag(2, WireType.LengthDelimited)
    .string(key)
    .tag(3, WireType.Varint)
    .int64(maxMicros);
  if (priority !== 0) writer.tag(PRIORITY, WireType.Varint).int32(priority);
  return writer.finish();
}

/** The bytes of a SettleRequest. */
export function settleRequest(reservationId: string, key: string, actualMicros: number): Uint8Array<ArrayBuffer> {
  return new BinaryWriter()
    .tag(1, WireType.LengthDelimited)
    .string(reservationId)
    .tag(2, WireType.LengthDelimited)
    .string(key)
    .tag(3, WireType.Varint)
    .int64(actualMicros)
    .finish();
}

/** What a load says instead of amounts, encoded once: it is the same each time. */
export interface PricedLoad {
  readonly call: Uint8Array;
  readonly usage: Uint8Array;
}

function pricedRequest(name: string, key: string, field: number, message: Uint8Array): Uint8Array<ArrayBuffer> {
  return new BinaryWriter()
    .tag(1, WireType.LengthDelimited)
    .string(name)
    .tag(2, WireType.LengthDelimited)
    .string(key)
    .tag(field, WireType.LengthDelimited)
    .bytes(message)
    .finish();
}

/** Writes frames of commands. */
export class FrameWriter {
  #writer = new BinaryWriter();
  #count = 0;

  get count(): number {
    return this.#count;
  }

  reserve(commandId: number, budget: string, key: string, maxMicros: number, priority = 0): void {
    this.#command(commandId, RESERVE, reserveRequest(budget, key, maxMicros, priority));
  }

  reserveCall(commandId: number, budget: string, key: string, { call }: PricedLoad): void {
    this.#command(commandId, RESERVE, pricedRequest(budget, key, MODEL_CALL, call));
  }

  settleUsage(commandId: number, reservationId: string, key: string, { usage }: PricedLoad): void {
    this.#command(commandId, SETTLE, pricedRequest(reservationId, key, USAGE, usage));
  }

  settle(commandId: number, reservationId: string, key: string, actualMicros: number): void {
    this.#command(commandId, SETTLE, settleRequest(reservationId, key, actualMicros));
  }

  /** The frame's bytes; the next one begins empty. */
  take(): Buffer {
    const bytes = this.#writer.finish();
    this.#writer = new BinaryWriter();
    this.#count = 0;
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  #command(commandId: number, field: number, request: Uint8Array): void {
    this.#writer.tag(1, WireType.LengthDelimited).fork();
    this.#writer.tag(1, WireType.Varint).uint64(commandId);
    this.#writer.tag(field, WireType.LengthDelimited).bytes(request);
    this.#writer.join();
    this.#count += 1;
  }
}

/** The reason in an encoded google.rpc.Status, as bytes or in base64; undefined: it has none. */
export function reasonOf(status: Uint8Array | string | undefined): string | undefined {
  if (status === undefined) return undefined;
  const bytes = typeof status === 'string' ? Buffer.from(status, 'base64') : status;
  for (const detail of fromBinary(StatusSchema, bytes).details) {
    if (anyIs(detail, ErrorInfoSchema)) return anyUnpack(detail, ErrorInfoSchema)?.reason;
  }
  return undefined;
}

/** Reads a frame of results. */
export function readResults(bytes: Uint8Array, onResult: (result: Result) => void): void {
  const reader = new BinaryReader(bytes);
  while (reader.pos < reader.len) {
    reader.tag();
    const end = reader.uint32() + reader.pos;
    let commandId = 0;
    let refusal: string | undefined;
    let reservationId = '';
    while (reader.pos < end) {
      const [field, wireType] = reader.tag();
      if (field === 1) commandId = Number(reader.uint64());
      else if (field === RESULT_RESERVE) reservationId = readReservationId(reader.bytes());
      else if (field === RESULT_ERROR) refusal = reasonOf(reader.bytes()) ?? 'no reason';
      else reader.skip(wireType);
    }
    onResult({ commandId, refusal, reservationId });
  }
}

/** The reservation's id from the bytes of a ReserveResponse. */
export function readReservationId(bytes: Uint8Array): string {
  const reader = new BinaryReader(bytes);
  while (reader.pos < reader.len) {
    const [field, wireType] = reader.tag();
    if (field !== 1) {
      reader.skip(wireType);
      continue;
    }
    const reservation = new BinaryReader(reader.bytes());
    while (reservation.pos < reservation.len) {
      const [inner, innerType] = reservation.tag();
      if (inner === 1) return reservation.string();
      reservation.skip(innerType);
    }
  }
  return '';
}
