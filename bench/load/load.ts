// What a load generator is told and what it tells. Generators run in processes of their own, over IPC.

/** A load. */
export interface LoadPlan {
  /** host:port of the gRPC server. */
  readonly address: string;
  /** Budgets to reserve on, in turn. */
  readonly budgets: readonly string[];
  /** Commands that wait for an answer at any moment. */
  readonly inFlight: number;
  /** Before anything is counted. */
  readonly warmUpMs: number;
  /** How long is counted. */
  readonly countMs: number;
  /** Reserve alone, or each followed by a Settle of its reservation. */
  readonly mode: 'reserve' | 'cycle';
  /** Streams to spread the commands over; Sessions only. */
  readonly streams: number;
  /** Class of the Reserves, as the contract numbers them; Sessions only. Default: they say none. */
  readonly priority?: number;
  /** Model calls and usage reports instead of amounts, encoded, in base64; Sessions only. Default: amounts. */
  readonly priced?: { readonly call: string; readonly usage: string };
  /** Tells this run's keys from those of others. */
  readonly keyPrefix: string;
}

/** What came of it. */
export interface LoadReport {
  /** Answers that were no refusal, within the counted time: reserves, or whole cycles. */
  readonly count: number;
  readonly refused: number;
  /** The same by reason. */
  readonly refusals: Refusals;
  readonly countedMs: number;
  /** Latencies of single commands in microseconds: median, 95th, 99th percentile, largest. */
  readonly p50Us: number;
  readonly p95Us: number;
  readonly p99Us: number;
  readonly maxUs: number;
  /** Commands sent from first to last, warm-up included, to compare with rows in the database. */
  readonly sent: number;
}

/** Refusals by reason. */
export type Refusals = Readonly<Record<string, number>>;

/** Refusals as text: how many of each reason. */
export function refusalsText(refusals: Refusals): string {
  const parts = Object.entries(refusals).map(([reason, count]) => `${count} ${reason}`);
  return parts.length === 0 ? 'none refused' : parts.join(', ');
}

/** Percentiles of latencies: a function of the share, 0 to 1. */
export function percentiles(latenciesUs: readonly number[]): (share: number) => number {
  const sorted = Float64Array.from(latenciesUs).sort();
  return (share) => Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0);
}

/** Counts answers and their latencies within the counted time. */
export class Meter {
  readonly #fromMs: number;
  readonly #untilMs: number;
  readonly #latenciesUs: number[] = [];
  #count = 0;
  #refused = 0;
  readonly #refusals: Record<string, number> = {};
  sent = 0;

  constructor(plan: LoadPlan) {
    this.#fromMs = performance.now() + plan.warmUpMs;
    this.#untilMs = this.#fromMs + plan.countMs;
  }

  get over(): boolean {
    return performance.now() >= this.#untilMs;
  }

  /** `refusal`: its reason; undefined: it was none. */
  answer(sentMs: number, refusal: string | undefined, counts: boolean): void {
    const nowMs = performance.now();
    if (nowMs < this.#fromMs || nowMs >= this.#untilMs) return;
    this.#latenciesUs.push((nowMs - sentMs) * 1_000);
    if (refusal !== undefined) {
      this.#refused += 1;
      this.#refusals[refusal] = (this.#refusals[refusal] ?? 0) + 1;
    } else if (counts) this.#count += 1;
  }

  report(): LoadReport {
    const at = percentiles(this.#latenciesUs);
    return {
      count: this.#count,
      refused: this.#refused,
      refusals: this.#refusals,
      countedMs: this.#untilMs - this.#fromMs,
      p50Us: at(0.5),
      p95Us: at(0.95),
      p99Us: at(0.99),
      maxUs: at(1),
      sent: this.sent,
    };
  }
}

/** A load at a steady rate. */
export interface PacedPlan {
  readonly address: string;
  /** Budgets to reserve on, in turn. */
  readonly budgets: readonly string[];
  /** Reserves that are due a second, each followed by its Settle. */
  readonly perSecond: number;
  readonly warmUpMs: number;
  readonly countMs: number;
  readonly keyPrefix: string;
}

/** What came of it. Latencies are those of admitted Reserves, from when they were due. */
export interface PacedReport {
  readonly count: number;
  readonly refusals: Refusals;
  readonly p50Us: number;
  readonly p99Us: number;
  readonly maxUs: number;
  readonly sent: number;
}
