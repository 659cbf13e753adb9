// A Reserve, whole or in part.
import type { BudgetModel } from '../budget-model.ts';
import { type ModelCommand, PLACES, pathOf, RUN_PLACE, submitAndCompare, type Target } from '../model-command.ts';

/** What is drawn at random. */
export interface ReserveFields {
  readonly place: number;
  /** More places to charge. */
  readonly also: readonly number[];
  readonly max: number;
  readonly min: number;
  readonly ttlMs: number;
  readonly key: string | undefined;
}

// One past the places that are made by a call is the one that is not.
function reservable(target: Target, place: number): string {
  return place < PLACES.length ? pathOf(target, place) : `${target.make.treeId}${RUN_PLACE}`;
}

export class ReserveCommand implements ModelCommand {
  readonly #fields: ReserveFields;

  constructor(fields: ReserveFields) {
    this.#fields = fields;
  }

  check(): boolean {
    return true;
  }

  async run(model: BudgetModel, target: Target): Promise<void> {
    const { place, max, min, ttlMs, key } = this.#fields;
    const also = this.#fields.also.map((each) => reservable(target, each));
    const options = { min: Math.min(min, max), ttlMs, also, ...(key === undefined ? {} : { key }) };
    await submitAndCompare(model, target, target.make.reserve(reservable(target, place), max, options));
  }

  toString(): string {
    const { place, also, max, min, ttlMs, key } = this.#fields;
    return `Reserve(place ${[place, ...also].join(' and ')}, max ${max}, min ${Math.min(min, max)}, ${ttlMs} ms, key ${key ?? 'none'})`;
  }
}
