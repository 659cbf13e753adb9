// The time that a caller gives a call, as gRPC writes it: at most eight digits and a unit, e.g. "1500m" for a second and a half.

const UNIT_MS: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1_000, m: 1, u: 1e-3, n: 1e-6 };

/** Milliseconds of a `grpc-timeout` header; undefined where it is none. */
export function timeoutMsOf(header: string): number | undefined {
  const [, digits, unit] = /^(\d{1,8})([HMSmun])$/.exec(header) ?? [];
  const unitMs = UNIT_MS[unit ?? ''];
  return digits === undefined || unitMs === undefined ? undefined : Number(digits) * unitMs;
}
