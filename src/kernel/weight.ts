// How much memory a record takes, for whoever bounds what is kept of them. Counting records alone does not bound it: a reservation
// on nine paths of sixteen levels charges thousands of accounts, where most charge a handful.
import type { BudgetDef, BudgetState } from './budget.ts';
import type { Effect, Entry } from './entry.ts';
import type { PriceRecord } from './price.ts';
import type { Reservation } from './reservation.ts';

/**
 * Accounts, levels and definitions that come with a record of weight 1. One takes about 60 bytes, a usual record some 1,000: so
 * the usual ones, of three levels with three windows each, all weigh 1.
 */
const PARTS_A_UNIT = 32;

const weightOf = (partCount: number): number => 1 + Math.floor(partCount / PARTS_A_UNIT);

/** Weight of a reservation: 1 for a usual one. */
export function reservationWeight({ accounts, price }: Reservation): number {
  return weightOf(accounts.length + priceParts(price));
}

// Hashes of rows, and names: a route of many models in many tiers has hundreds.
function priceParts(price: PriceRecord | undefined): number {
  if (price === undefined) return 0;
  const { rowHashes, aliases = [] } = price.pins;
  return rowHashes.length + aliases.length * NAMES_PARTS;
}

/** What an alias takes, counted in accounts: two names of a model. */
const NAMES_PARTS = 4;

/**
 * Limits, windows and rates of a budget of weight 1. Each comes with its counter, its steps or its level, so that it takes some
 * 200 bytes. Templates are not counted: budgets that are made from one share what is below it.
 */
const TERMS_A_UNIT = 4;

/** What a request that waits is kept with, as far as it may be much. */
export interface WaitingParts {
  readonly budget: string;
  readonly also: readonly string[];
  readonly holder: string;
  readonly actor: string;
  readonly actingFor: string;
  readonly labels: unknown;
  readonly alternatives: unknown;
  readonly call: unknown;
  readonly price: unknown;
  /** Budgets on the paths that it names, each once, whether there are any yet. */
  readonly levelCount: number;
}

/** Characters of a request that waits with weight 1: what usual ones have, paths of sixteen levels included. */
const WAITING_UNIT = 2_000;

/**
 * What a level counts as, in characters: its account takes 60 bytes, and the lists of who waits on it up to 400 where nobody else names
 * it. All that may wait in a tree are read in three seconds then, whatever they name.
 */
const LEVEL_SIZE = 60;

/** Weight of a request that waits: 1 for a usual one. All that wait in a tree are read in one go when it is loaded. */
export function waitingWeight(parts: WaitingParts): number {
  const { budget, also, holder, actor, actingFor, labels, alternatives, call, price, levelCount } = parts;
  const size = sizeOf([budget, also, holder, actor, actingFor, labels, alternatives, call, price]);
  return 1 + Math.floor((size + levelCount * LEVEL_SIZE) / WAITING_UNIT);
}

// What an alternative or a call consists of only the one who prices knows.
function sizeOf(value: unknown): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return NUMBER_SIZE;
  let size = 0;
  for (const [name, each] of Object.entries(value)) size += name.length + sizeOf(each);
  return size;
}

const NUMBER_SIZE = 4;

/** Weight of a budget: 1 for one with two limits and no rates. The same as long as its definition is. */
export function budgetWeight({ def }: BudgetState): number {
  return 1 + Math.floor((def.limits.length + def.windows.length - 1 + def.rates.length) / TERMS_A_UNIT);
}

/** Weight of an entry: 1 for a usual one. The same each time it is asked for. */
export function entryWeight(entry: Entry): number {
  switch (entry.type) {
    case 'Granted':
      return weightOf(accountCount(entry.effects) + entry.rateMoves.length + priceParts(entry.reservation.price));
    case 'Extended':
      return weightOf(accountCount(entry.effects) + priceParts(entry.price));
    case 'Settled':
    case 'Released':
      return weightOf(accountCount(entry.effects));
    case 'Renewed':
    case 'Graced':
      return weightOf(entry.moves.length * FIGURES_PARTS);
    case 'Expired':
      return weightOf(entry.lapses.reduce((sum, { effects }) => sum + FIGURES_PARTS + accountCount(effects), 0));
    case 'Refused':
      return 1;
    case 'Enqueued':
      return weightOf(accountCount([entry.reservation]) + priceParts(entry.reservation.price) + FIGURES_PARTS);
    case 'LeftQueue':
      return weightOf(entry.leaves.length * FIGURES_PARTS);
    case 'Alerted':
      return weightOf(entry.alerts.length * FIGURES_PARTS);
    default:
      return weightOf(termsParts(entry.def) + apartCount(entry.def) + entry.opening.length);
  }
}

/** What the figures of one reservation take, counted in accounts. */
const FIGURES_PARTS = 4;

function accountCount(effects: readonly Pick<Effect, 'accounts'>[]): number {
  let count = 0;
  for (const { accounts } of effects) count += accounts.length;
  return count;
}

// Windows that count children apart: a definition may have a thousand of them.
function apartCount({ windows, childShares }: BudgetDef): number {
  if (childShares.length === 0) return 0;
  return windows.filter(({ childNo }) => childNo !== undefined).length;
}

interface Terms {
  readonly limits: readonly unknown[];
  readonly rates: readonly unknown[];
  readonly childTemplate: Terms | undefined;
}

// A limit comes with its window.
function termsParts({ limits, rates, childTemplate }: Terms): number {
  return limits.length * 2 + rates.length + (childTemplate === undefined ? 0 : termsParts(childTemplate));
}
