// Adds one tree's journal up a second time, from the stored text and the design alone: nothing here uses the service's codec,
// its arithmetic or its replay. Says whatever breaks a promise, entry by entry.

type Raw = Readonly<Record<string, unknown>>;

/** A reservation's figures as an entry carries them. */
export interface Figures {
  readonly state: string;
  readonly requested: bigint;
  readonly granted: bigint;
  readonly held: bigint;
  readonly settled: bigint;
  readonly released: bigint;
  readonly overrun: bigint;
  readonly expireMs: number;
  readonly reclaimMs: number;
}

/** An entry that a key leads to. */
export interface KeyedEntry {
  readonly seq: number;
  readonly type: string;
  /** Of the reservation that it is about, where it is about one. */
  readonly id: string;
  readonly figures: Figures | undefined;
  readonly reason: string | undefined;
  readonly revision: number | undefined;
}

interface Budget {
  readonly path: string;
  readonly parentNo: number | undefined;
  readonly limits: readonly { readonly name: string; readonly amount: bigint }[];
}

interface Sums {
  held: bigint;
  settled: bigint;
  overrun: bigint;
}

/** One row of the journal, as stored. */
export interface StoredRow {
  readonly tree: string;
  readonly firstSeq: number;
  readonly lastSeq: number;
  readonly epoch: number;
  readonly entriesText: string;
}

/** See the head of this file. */
export class TreeBook {
  readonly tree: string;
  readonly problems: string[] = [];
  readonly keyed = new Map<string, KeyedEntry[]>();
  /** Every figures that each reservation ever had. */
  readonly figures = new Map<string, Figures[]>();
  entryCount = 0;
  readonly #budgets = new Map<number, Budget>();
  readonly #sums = new Map<number, Sums>();
  readonly #chains = new Map<string, readonly number[]>();
  #seq = 0;
  #atMs = 0;
  #epoch = 0;

  constructor(tree: string) {
    this.tree = tree;
  }

  add(row: StoredRow): void {
    const entries = JSON.parse(row.entriesText) as Raw[];
    if (row.firstSeq !== this.#seq + 1) this.#says(row.firstSeq, 'does not follow the row before');
    if (row.epoch < this.#epoch) this.#says(row.firstSeq, `is of epoch ${row.epoch}, after ${this.#epoch}`);
    this.#epoch = row.epoch;
    for (const entry of entries) this.#entry(entry);
    if (row.lastSeq !== this.#seq) this.#says(row.lastSeq, 'is not the last of its row');
  }

  /** To be called after the last row: what every budget holds must be what its reservations hold. */
  close(): void {
    const sums = new Map<number, Sums>(
      [...this.#budgets.keys()].map((no) => [no, { held: 0n, settled: 0n, overrun: 0n }]),
    );
    for (const [id, all] of this.figures) {
      const last = all.at(-1) as Figures;
      for (const no of this.#chains.get(id) ?? []) add(sums.get(no) as Sums, last.held, last.settled, last.overrun);
    }
    for (const [no, { path }] of this.#budgets) {
      const moved = text(this.#sums.get(no) as Sums);
      const summed = text(sums.get(no) as Sums);
      if (moved !== summed) this.#says(this.#seq, `${path} was moved to ${moved}, its reservations have ${summed}`);
    }
  }

  #entry(raw: Raw): void {
    this.entryCount += 1;
    const seq = raw['seq'] as number;
    const atMs = raw['at'] as number;
    if (seq !== this.#seq + 1) this.#says(seq, `does not follow ${this.#seq}`);
    if (atMs < this.#atMs) this.#says(seq, 'goes back in time');
    this.#seq = seq;
    this.#atMs = atMs;
    const type = raw['type'] as string;
    this.#remember(raw, seq, type);
    if (raw['def'] !== undefined) this.#define(raw['def'] as Raw);
    if (type === 'Granted') this.#granted(raw, seq);
    else if (type === 'Extended') this.#extended(raw, seq);
    else if (type === 'Settled' || type === 'Released') this.#change(seq, raw['id'] as string, raw['fig']);
    else if (type === 'Renewed' || type === 'Graced') this.#moved(raw, seq, type);
    else if (type === 'Expired') this.#lapsed(raw, seq, atMs);
    if (raw['fx'] !== undefined) this.#move(seq, raw['fx'] as unknown[], raw['accounts'] as number[]);
    if (raw['room'] !== undefined && raw['fx'] !== undefined) this.#compareRoom(raw, seq);
  }

  #remember(raw: Raw, seq: number, type: string): void {
    const key = raw['key'] as readonly string[] | undefined;
    if (key === undefined) return;
    const move = (raw['moves'] as readonly unknown[][] | undefined)?.[0];
    const figures = raw['fig'] ?? move?.[1];
    const entry: KeyedEntry = {
      seq,
      type,
      id: `${this.tree}:${String(raw['id'] ?? move?.[0] ?? '')}`,
      figures: figures === undefined ? undefined : figuresOf(figures),
      reason: (raw['refusal'] as Raw | undefined)?.['reason'] as string | undefined,
      revision: (raw['def'] as Raw | undefined)?.['revision'] as number | undefined,
    };
    const digest = key[0] as string;
    this.keyed.set(digest, [...(this.keyed.get(digest) ?? []), entry]);
  }

  #define(def: Raw): void {
    const no = def['no'] as number;
    const limits = (def['limits'] as Raw[]).map((limit) => ({
      name: limit['name'] as string,
      amount: big(limit['amount']),
    }));
    const parentNo = (def['parentNo'] as number | null) ?? undefined;
    this.#budgets.set(no, { path: def['path'] as string, parentNo, limits });
    if (!this.#sums.has(no)) this.#sums.set(no, { held: 0n, settled: 0n, overrun: 0n });
  }

  #granted(raw: Raw, seq: number): void {
    const id = raw['id'] as string;
    const chain = this.#chainOf(raw['budgetNo'] as number);
    const figures = figuresOf(raw['fig']);
    if (this.figures.has(id)) this.#says(seq, `grants ${id} again`);
    this.#chains.set(id, chain);
    this.figures.set(id, [figures]);
    this.#judgeGrant(seq, chain, figures.requested, big(raw['min']), figures.granted);
  }

  #extended(raw: Raw, seq: number): void {
    const id = raw['id'] as string;
    const before = this.figures.get(id)?.at(-1);
    this.#change(seq, id, raw['fig']);
    const after = this.figures.get(id)?.at(-1);
    if (before === undefined || after === undefined) return;
    const chain = this.#chains.get(id) ?? [];
    this.#judgeGrant(seq, chain, big(raw['add']), big(raw['min']), after.granted - before.granted);
  }

  // min(max, what is available), and not less than min: DESIGN, the contract.
  #judgeGrant(seq: number, chain: readonly number[], max: bigint, min: bigint, granted: bigint): void {
    const room = this.#roomOf(chain);
    const due = room === undefined || room > max ? max : room;
    if (granted !== due || granted < min)
      this.#says(seq, `grants ${granted} of ${min} to ${max} where ${room} was free`);
  }

  #change(seq: number, id: string, figures: unknown): Figures | undefined {
    const all = this.figures.get(id);
    if (all === undefined) {
      this.#says(seq, `changes ${id}, which was never granted`);
      return undefined;
    }
    const before = all.at(-1) as Figures;
    const after = figuresOf(figures);
    if (before.state === 'SETTLED' || before.state === 'RELEASED') this.#says(seq, `changes ${id}, which had ended`);
    if (after.settled < 0n || after.held < 0n || after.released < 0n) this.#says(seq, `leaves ${id} below 0`);
    all.push(after);
    return before;
  }

  #moved(raw: Raw, seq: number, type: string): void {
    const [from, to] = [raw['from'] as number, raw['to'] as number];
    for (const move of raw['moves'] as unknown[][]) {
      const before = this.#change(seq, move[0] as string, move[1]);
      const after = figuresOf(move[1]);
      if (before === undefined) continue;
      if (after.expireMs < before.expireMs || after.reclaimMs < before.reclaimMs) this.#says(seq, 'moves a lease back');
      if (sumsOf(before) !== sumsOf(after)) this.#says(seq, 'moves money with a lease');
      const within = [before.expireMs, before.reclaimMs].some((at) => at > from && at <= to);
      if (type === 'Graced' && !within) this.#says(seq, `gives ${String(move[0])} a grace for no reason`);
    }
  }

  #lapsed(raw: Raw, seq: number, atMs: number): void {
    for (const lapse of raw['lapses'] as unknown[][]) {
      const before = this.#change(seq, lapse[0] as string, lapse[1]);
      if (before !== undefined && before.reclaimMs > atMs) this.#says(seq, `lapses ${String(lapse[0])} too early`);
      this.#move(seq, lapse[3] as unknown[]);
    }
  }

  // A grant names its accounts once, and not again in its effect.
  #move(seq: number, effects: readonly unknown[], named: readonly number[] = []): void {
    for (const effect of effects as unknown[][]) {
      const [held, settled, overrun] = [big(effect[0]), big(effect[1]), big(effect[2])];
      const accounts = (effect[4] as number[] | undefined) ?? named;
      for (let i = 0; i < accounts.length; i += 3) {
        const no = accounts[i] as number;
        const sums = this.#sums.get(no);
        if (sums === undefined) {
          this.#says(seq, `moves budget ${no}, which does not exist`);
          continue;
        }
        add(sums, held, settled, overrun);
        this.#judgeCeiling(seq, no, sums, held + settled);
      }
    }
  }

  // A lowered amount may lie below what is used; then nothing may be added until it fits again.
  #judgeCeiling(seq: number, no: number, sums: Sums, change: bigint): void {
    if (sums.held < 0n || sums.settled < 0n || sums.overrun < 0n) this.#says(seq, `takes budget ${no} below 0`);
    if (change <= 0n) return;
    const budget = this.#budgets.get(no) as Budget;
    for (const { amount, name } of budget.limits) {
      if (sums.settled + sums.held > amount) {
        this.#says(seq, `takes ${budget.path} to ${sums.settled + sums.held}, past ${amount} of ${name}`);
      }
    }
  }

  #compareRoom(raw: Raw, seq: number): void {
    const chain = this.#chains.get(raw['id'] as string) ?? [];
    const told = (raw['room'] as unknown[])[0];
    const room = this.#roomOf(chain);
    if ((told === null ? undefined : big(told)) !== room)
      this.#says(seq, `tells ${String(told)} where ${room} is free`);
  }

  #chainOf(no: number): number[] {
    const chain: number[] = [];
    for (let at: number | undefined = no; at !== undefined; at = this.#budgets.get(at)?.parentNo) chain.push(at);
    return chain;
  }

  #roomOf(chain: readonly number[]): bigint | undefined {
    let least: bigint | undefined;
    for (const no of chain) {
      const { held, settled, overrun } = this.#sums.get(no) as Sums;
      for (const { amount } of this.#budgets.get(no)?.limits ?? []) {
        const room = amount - settled - held - overrun;
        if (least === undefined || room < least) least = room;
      }
    }
    return least !== undefined && least < 0n ? 0n : least;
  }

  #says(seq: number, text: string): void {
    this.problems.push(`${this.tree}: entry ${seq} ${text}`);
  }
}

function figuresOf(value: unknown): Figures {
  const f = value as unknown[];
  return {
    state: f[0] as string,
    requested: big(f[1]),
    granted: big(f[2]),
    held: big(f[3]),
    settled: big(f[4]),
    released: big(f[5]),
    overrun: big(f[6]),
    expireMs: f[9] as number,
    reclaimMs: f[10] as number,
  };
}

function sumsOf(figures: Figures): string {
  const { requested, granted, held, settled, released, overrun } = figures;
  return [requested, granted, held, settled, released, overrun].join(' ');
}

function big(value: unknown): bigint {
  return BigInt(value as number | string);
}

function add(sums: Sums, held: bigint, settled: bigint, overrun: bigint): void {
  sums.held += held;
  sums.settled += settled;
  sums.overrun += overrun;
}

function text(sums: Sums): string {
  return `held ${sums.held}, settled ${sums.settled}, overrun ${sums.overrun}`;
}
