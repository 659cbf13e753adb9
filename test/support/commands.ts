// Commands for tests, with every field that a case does not care about filled in. Stands alone because the kernel's tables,
// the properties and the models all speak in commands, and a new field should have to be added once.
import { commandKey } from '../../src/api/command-key.ts';
import {
  type BudgetTerms,
  type LimitInput,
  NO_SHAPE,
  type OnExpiry,
  type OverrunPolicy,
  type Shape,
} from '../../src/kernel/budget.ts';
import type * as kernel from '../../src/kernel/command.ts';
import { ENFORCED, type Enforcement, type Priority } from '../../src/kernel/enforcement.ts';
import type { BudgetPath, ReservationId, TreeId } from '../../src/kernel/names.ts';
import type { CallToPrice, UsageToPrice } from '../../src/kernel/price.ts';
import { ANY_MODEL, type ModelRules } from '../../src/kernel/price.ts';
import type { RateInput } from '../../src/kernel/rate.ts';
import type { Alternative } from '../../src/kernel/request.ts';
import type { Outcome } from '../../src/kernel/reservation.ts';
import type { WindowRule } from '../../src/kernel/window.ts';
import type { EditHistory } from '../../src/kernel/window-history.ts';

/** An amount, as a test finds it easiest to write. */
export type Micros = bigint | number;

interface Keyed {
  readonly key?: string;
  readonly personal?: kernel.PersonalFields;
}

interface ReserveOptions extends Keyed {
  readonly id?: string;
  readonly min?: Micros;
  /** Default: 60 s. */
  readonly ttlMs?: number | 'unset';
  readonly also?: readonly string[];
  readonly tokens?: number;
  readonly toolCalls?: number;
  readonly priority?: Priority;
  readonly alternatives?: readonly Alternative[];
  /** Default: it does not wait. */
  readonly waitMs?: number;
  /** Instead of an amount. */
  readonly call?: CallToPrice;
  readonly holder?: string;
  readonly dryRun?: boolean;
}

interface SettleOptions extends Keyed {
  readonly keepOpen?: boolean;
  readonly retain?: Micros;
  readonly confirmed?: boolean;
  readonly outcome?: Outcome;
  /** Instead of an amount. */
  readonly usage?: UsageToPrice;
}

/** A limit in another window than lifetime. */
export interface WindowLimit {
  readonly amount: Micros;
  readonly rule: WindowRule;
}

/** Limits by name; a bare amount is the one limit called "lifetime". */
export type LimitsOption = Micros | Readonly<Record<string, Micros | WindowLimit>>;

interface BudgetOptions extends Keyed {
  readonly limits?: LimitsOption;
  readonly uncapped?: boolean;
  readonly rates?: readonly RateInput[];
  readonly shape?: Partial<Shape>;
  readonly onExpiry?: OnExpiry;
  readonly overrun?: OverrunPolicy;
  readonly enforcement?: Partial<Enforcement>;
  readonly alertAt?: readonly number[];
  readonly weight?: number;
  readonly floor?: Micros;
  readonly share?: number;
  readonly models?: Partial<ModelRules>;
  readonly template?: BudgetTerms;
  readonly unit?: string;
  readonly budgetKind?: string;
  readonly owner?: string;
}

interface UpdateOptions extends Omit<BudgetOptions, 'unit' | 'template' | 'share'> {
  /** `to` undefined: taken away. */
  readonly share?: { readonly to: number | undefined };
  readonly template?: { readonly to: BudgetTerms | undefined };
  readonly history?: EditHistory;
  readonly revision?: number;
  readonly replaceLabels?: boolean;
}

/** Personal fields with one label. */
export function personalFields(actingFor: string, label = 'x', salt = 'c2FsdHNhbHRzYWx0c2FsdA'): kernel.PersonalFields {
  return { salt, actingFor, labels: [['label', label]] };
}

/** Builders of commands on one tree. */
export class Commands {
  readonly treeId: TreeId;
  #idCount = 0;

  constructor(treeId = 't') {
    this.treeId = treeId as TreeId;
  }

  reserve(budget: string, max: Micros, options: ReserveOptions = {}): kernel.Reserve {
    const {
      id,
      min = max,
      ttlMs = 60_000,
      holder = '',
      dryRun = false,
      also = [],
      tokens = 0,
      toolCalls = 0,
    } = options;
    const { priority = 'normal', alternatives = [], waitMs = 0 } = options;
    const fields = JSON.stringify([
      String(max),
      String(min),
      ttlMs,
      holder,
      also,
      tokens,
      toolCalls,
      priority,
      alternatives.map(({ label, maxMicros: each }) => [label, String(each)]),
      waitMs,
      options.call,
    ]);
    return {
      ...this.#base('Reserve', budget, options, fields),
      kind: 'Reserve',
      id: (id ?? this.#newId()) as ReservationId,
      budget: budget as BudgetPath,
      maxMicros: BigInt(max),
      minMicros: BigInt(min),
      call: options.call,
      price: undefined,
      ttlMs: ttlMs === 'unset' ? undefined : ttlMs,
      also: also as readonly BudgetPath[],
      tokens,
      toolCalls,
      priority,
      alternatives,
      waitMs,
      holder,
      dryRun,
    };
  }

  /** The same request once more: a Reserve takes a fresh id, as every request does on its way in. */
  again(command: kernel.Command): kernel.Command {
    return command.kind === 'Reserve' ? { ...command, id: this.#newId() as ReservationId } : command;
  }

  extend(
    id: string,
    add: Micros,
    options: Keyed & { readonly min?: Micros; readonly call?: CallToPrice } = {},
  ): kernel.Extend {
    const { min = add, call } = options;
    return {
      ...this.#base('Extend', id, options, JSON.stringify([String(add), String(min), call])),
      call,
      kind: 'Extend',
      id: id as ReservationId,
      addMicros: BigInt(add),
      minMicros: BigInt(min),
    };
  }

  /** `actual` undefined: unknown usage. */
  settle(id: string, actual: Micros | undefined, options: SettleOptions = {}): kernel.Settle {
    const { keepOpen = false, retain, outcome, confirmed = false, usage } = options;
    const counts = JSON.stringify(usage, (_key, value: unknown) => (typeof value === 'bigint' ? String(value) : value));
    const fields = JSON.stringify([String(actual), keepOpen, String(retain), outcome, confirmed, counts]);
    return {
      ...this.#base('Settle', id, options, fields),
      kind: 'Settle',
      id: id as ReservationId,
      actualMicros: actual === undefined ? undefined : BigInt(actual),
      usage,
      keepOpen,
      retainMicros: retain === undefined ? undefined : BigInt(retain),
      confirmed,
      outcome,
    };
  }

  release(id: string, options: Keyed & { readonly reason?: string } = {}): kernel.Release {
    const { reason = '' } = options;
    return { ...this.#base('Release', id, options, reason), kind: 'Release', id: id as ReservationId, reason };
  }

  renew(id: string, ttlMs: number | undefined, options: Keyed & { readonly started?: boolean } = {}): kernel.Renew {
    const { started = false } = options;
    const renewals = [{ id: id as ReservationId, ttlMs }];
    return { ...this.#base('Renew', id, options, JSON.stringify([ttlMs, started])), kind: 'Renew', renewals };
  }

  batchRenew(renewals: readonly (readonly [id: string, ttlMs: number])[]): kernel.Renew {
    return {
      ...this.#base('Renew', '', {}, ''),
      kind: 'Renew',
      renewals: renewals.map(([id, ttlMs]) => ({ id: id as ReservationId, ttlMs })),
    };
  }

  expire(countMax = 1_000): kernel.Expire {
    return { ...this.#base('Expire', '', {}, ''), kind: 'Expire', countMax };
  }

  create(budget: string, options: BudgetOptions = {}): kernel.CreateBudget {
    const { unit, owner = '' } = options;
    const terms = this.terms(options);
    return {
      ...this.#base('CreateBudget', budget, options, fieldsOf({ ...terms, unit, owner })),
      kind: 'CreateBudget',
      budget: budget as BudgetPath,
      owner,
      unit,
      ...terms,
    };
  }

  /** Terms of a budget, or of a template. */
  terms(options: Omit<BudgetOptions, 'unit' | 'owner'> = {}): BudgetTerms {
    const { limits, uncapped = false, rates = [], shape, onExpiry = 'release', overrun = 'record' } = options;
    return {
      budgetKind: options.budgetKind ?? 'run',
      uncapped,
      limits: limitInputs(limits) ?? [],
      rates,
      shape: { ...NO_SHAPE, ...shape },
      onExpiry,
      overrun,
      enforcement: { ...ENFORCED, ...options.enforcement },
      alertAt: options.alertAt ?? [],
      weight: options.weight ?? 1,
      floorMicros: BigInt(options.floor ?? 0),
      sharePercent: options.share,
      models: { ...ANY_MODEL, ...options.models },
      childTemplate: options.template,
    };
  }

  update(budget: string, options: UpdateOptions = {}): kernel.UpdateBudget {
    const { limits, uncapped, onExpiry, budgetKind, owner, revision, replaceLabels = false } = options;
    const { rates, shape = {}, overrun, enforcement = {}, alertAt, weight, template, history } = options;
    const inputs = limitInputs(limits);
    const shares = {
      weight,
      floorMicros: options.floor === undefined ? undefined : BigInt(options.floor),
      sharePercent: options.share,
    };
    const { models = {} } = options;
    const policy = { rates, shape, overrun, enforcement, alertAt, ...shares, models, childTemplate: template };
    const fields = fieldsOf({ inputs, uncapped, onExpiry, budgetKind, owner, revision, replaceLabels, ...policy });
    return {
      ...this.#base('UpdateBudget', budget, options, fields),
      kind: 'UpdateBudget',
      budget: budget as BudgetPath,
      expectedRevision: revision,
      budgetKind,
      owner,
      uncapped,
      limits: inputs,
      onExpiry,
      ...policy,
      history,
      replaceLabels,
    };
  }

  suspend(budget: string, options: Keyed & { readonly reason?: string } = {}): kernel.SwitchBudget {
    return this.#switch('SuspendBudget', budget, options);
  }

  resume(budget: string, options: Keyed & { readonly reason?: string } = {}): kernel.SwitchBudget {
    return this.#switch('ResumeBudget', budget, options);
  }

  close(budget: string, options: Keyed & { readonly reason?: string } = {}): kernel.SwitchBudget {
    return this.#switch('CloseBudget', budget, options);
  }

  /** The changes as they were built, but for their keys. */
  applyBudgets(
    changes: readonly kernel.BudgetEdit[],
    options: { readonly key?: string; readonly dryRun?: boolean } = {},
  ): kernel.ApplyBudgets {
    const { key, dryRun = false } = options;
    const fields = fieldsOf({ changes: changes.map((change) => ({ ...change, key: undefined, personal: undefined })) });
    const keyOf = (index: number) =>
      key === undefined ? undefined : commandKey('ApplyBudgets', this.treeId, `${key}.${index}`, fields);
    return {
      ...this.#base('ApplyBudgets', this.treeId, {}, ''),
      kind: 'ApplyBudgets',
      key: keyOf(0),
      changes: changes.map((change, index) => ({ ...change, key: keyOf(index) })),
      dryRun,
    };
  }

  topUp(budget: string, add: Micros, options: Keyed & { readonly limit?: string } = {}): kernel.TopUp {
    const { limit } = options;
    return {
      ...this.#base('TopUp', budget, options, JSON.stringify([String(add), limit])),
      kind: 'TopUp',
      budget: budget as BudgetPath,
      limit,
      addMicros: BigInt(add),
    };
  }

  closeIdle(budget: string): kernel.CloseIdle {
    return { ...this.#base('CloseIdle', budget, {}, ''), kind: 'CloseIdle', budget: budget as BudgetPath };
  }

  getBudget(budget: string): kernel.GetBudget {
    return { ...this.#base('GetBudget', budget, {}, ''), kind: 'GetBudget', budget: budget as BudgetPath };
  }

  getReservation(id: string): kernel.GetReservation {
    return { ...this.#base('GetReservation', id, {}, ''), kind: 'GetReservation', id: id as ReservationId };
  }

  #switch(
    kind: kernel.SwitchBudget['kind'],
    budget: string,
    options: Keyed & { readonly reason?: string },
  ): kernel.SwitchBudget {
    const { reason = '' } = options;
    return {
      ...this.#base(kind, budget, options, reason),
      kind,
      budget: budget as BudgetPath,
      expectedRevision: undefined,
      reason,
    };
  }

  #base(method: string, resource: string, options: Keyed, fields: string): kernel.CommandBase {
    return {
      treeId: this.treeId,
      actor: 'tester',
      key: options.key === undefined ? undefined : commandKey(method, resource, options.key, fields),
      personal: options.personal,
    };
  }

  #newId(): string {
    this.#idCount += 1;
    return `r${String(this.#idCount).padStart(9, '0')}`;
  }
}

function fieldsOf(fields: Readonly<Record<string, unknown>>): string {
  return JSON.stringify(fields, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value));
}

function limitInputs(limits: LimitsOption | undefined): LimitInput[] | undefined {
  if (limits === undefined) return undefined;
  const named = typeof limits === 'object' ? limits : { lifetime: limits };
  return Object.entries(named).map(([name, limit]) =>
    typeof limit === 'object'
      ? { name, rule: limit.rule, amountMicros: BigInt(limit.amount) }
      : { name, rule: { kind: 'lifetime' }, amountMicros: BigInt(limit) },
  );
}
