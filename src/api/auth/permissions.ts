// Who may do what to which budget. A caller limited to a subtree learns nothing of what lies outside: for a reservation
// that is elsewhere and for one that does not exist the answer is the same.
import type { Answer } from '../../kernel/answer.ts';
import type { Command, CommandKind } from '../../kernel/command.ts';
import {
  type BudgetPath,
  parentOf,
  publicReservationId,
  type ReservationId,
  type TreeId,
  treeOf,
} from '../../kernel/names.ts';
import { type ApiRefusal, forbidden } from '../api-refusal.ts';
import type { Actor, Role } from './actor.ts';

/** What a method does: steers budgets, uses them, or only looks. */
type Access = 'steer' | 'use' | 'read';

const ACCESS: Readonly<Record<CommandKind, Access | 'none'>> = {
  Reserve: 'use',
  Extend: 'use',
  Settle: 'use',
  Release: 'use',
  Renew: 'use',
  CreateBudget: 'steer',
  UpdateBudget: 'steer',
  SuspendBudget: 'steer',
  ResumeBudget: 'steer',
  CloseBudget: 'steer',
  TopUp: 'steer',
  ApplyBudgets: 'steer',
  GetReservation: 'read',
  GetBudget: 'read',
  GetQueue: 'read',
  // The reaper's and the lane's own.
  Expire: 'none',
  CloseIdle: 'none',
  LeaveQueue: 'none',
};

const ALLOWED: Readonly<Record<Role, ReadonlySet<Access | 'none'>>> = {
  admin: new Set<Access>(['steer', 'use', 'read']),
  agent: new Set<Access>(['use', 'read']),
  auditor: new Set<Access>(['read']),
};

/** Undefined: allowed. A promise only where the reservation's budget has to be looked up. */
export type Permission = ApiRefusal | undefined | Promise<ApiRefusal | undefined>;

// 65,536 ids of at most 104 characters with paths that are mostly shared: some 20 MB at the most.
const KNOWN_BUDGETS_MAX = 65_536;

/** Whether the actor sees this budget. `undefined` stands for everything: only an actor without a subtree sees that. */
export function seesBudget(actor: Actor, path: BudgetPath | undefined): boolean {
  const { subtree } = actor;
  if (subtree === undefined) return true;
  return path !== undefined && (path === subtree || path.startsWith(`${subtree}/`));
}

// A Reserve charges every budget that it names, so its caller needs the same right to each.
function judgePaths(actor: Actor, command: Extract<Command, { readonly budget: BudgetPath }>): ApiRefusal | undefined {
  const named = [command.budget, ...(command.kind === 'Reserve' ? command.also : aboveOf(command))];
  const outside = named.find((path) => !seesBudget(actor, path));
  return outside === undefined ? undefined : forbidden(outside);
}

// What a budget has of the one above for itself its siblings do not have: it is for whoever steers that one to say.
function aboveOf(command: Command): BudgetPath[] {
  if (command.kind !== 'CreateBudget' && command.kind !== 'UpdateBudget') return [];
  const { floorMicros, sharePercent, weight } = command;
  const isStated =
    command.kind === 'CreateBudget'
      ? floorMicros !== 0n || sharePercent !== undefined || weight !== 1
      : floorMicros !== undefined || sharePercent !== undefined || weight !== undefined;
  const above = isStated ? parentOf(command.budget) : undefined;
  return above === undefined ? [] : [above];
}

/** Whether the actor sees all or some of this tree. */
export function seesTree(actor: Actor, treeId: TreeId): boolean {
  return actor.subtree === undefined || treeOf(actor.subtree) === treeId;
}

/** Judges commands. Remembers which budget a reservation belongs to, since that never changes. */
export class Permissions {
  readonly #submit: (command: Command) => Promise<Answer>;
  readonly #knownBudgets = new Map<string, BudgetPath>();

  /** `submit` is asked for a reservation whose budget is not known. */
  constructor(submit: (command: Command) => Promise<Answer>) {
    this.#submit = submit;
  }

  /** Judges a command that names one budget or one reservation. Its fields have been checked. */
  judge(actor: Actor, command: Command): Permission {
    if (!ALLOWED[actor.role].has(ACCESS[command.kind])) return forbidden();
    if (actor.subtree === undefined) return undefined;
    if ('budget' in command) return judgePaths(actor, command);
    if (command.kind === 'ApplyBudgets') {
      const outside = command.changes.find(({ budget }) => !seesBudget(actor, budget));
      return outside === undefined ? undefined : forbidden(outside.budget);
    }
    if (command.kind === 'Expire') return forbidden();
    const id = command.kind === 'Renew' ? command.renewals[0]?.id : command.id;
    return id === undefined ? forbidden() : this.#judgeReservation(actor, actor.subtree, command.treeId, id);
  }

  /** Notes the budget of a reservation that was just answered. */
  learn(treeId: TreeId, id: ReservationId, budget: BudgetPath): void {
    this.#learn(publicReservationId(treeId, id), budget);
  }

  #learn(publicId: string, budget: BudgetPath): void {
    const known = this.#knownBudgets;
    if (known.size >= KNOWN_BUDGETS_MAX) {
      // The oldest entry; losing it costs one look-up.
      const oldest = known.keys().next();
      if (oldest.done !== true) known.delete(oldest.value);
    }
    known.set(publicId, budget);
  }

  #judgeReservation(actor: Actor, subtree: BudgetPath, treeId: TreeId, id: ReservationId): Permission {
    if (treeOf(subtree) !== treeId) return forbidden();
    // The whole tree is the actor's: nothing in it has to be hidden.
    if (!subtree.includes('/')) return undefined;
    const publicId = publicReservationId(treeId, id);
    const budget = this.#knownBudgets.get(publicId);
    if (budget !== undefined) return seesBudget(actor, budget) ? undefined : forbidden();
    return this.#lookUp(actor, treeId, id, publicId);
  }

  async #lookUp(actor: Actor, treeId: TreeId, id: ReservationId, publicId: string): Promise<ApiRefusal | undefined> {
    const read = {
      kind: 'GetReservation',
      treeId,
      actor: actor.name,
      key: undefined,
      personal: undefined,
      id,
    } as const;
    const answer = await this.#submit(read);
    if (answer.kind === 'reservation') {
      this.#learn(publicId, answer.reservation.budget);
      return seesBudget(actor, answer.reservation.budget) ? undefined : forbidden();
    }
    if (answer.kind !== 'refusal' || answer.reason.endsWith('_NOT_FOUND')) return forbidden();
    return answer;
  }
}

/** Judges an addition to the price book. It prices every tree, so that only who sees every tree may add to it. */
export function judgePrices(actor: Actor): ApiRefusal | undefined {
  const isAllowed = ALLOWED[actor.role].has('steer') && actor.subtree === undefined;
  return isAllowed ? undefined : forbidden();
}

/** Judges a list of a subtree (undefined: of everything). Every role may look. */
export function judgeList(actor: Actor, path: BudgetPath | undefined): ApiRefusal | undefined {
  return seesBudget(actor, path) ? undefined : forbidden(path);
}
