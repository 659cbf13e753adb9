// A Reserve, whole or in part.
import type { BudgetModel } from '../budget-model.ts';
import { type ModelCommand, pathOf, submitAndCompare, type Target } from '../model-command.ts';

/** What is drawn at random. */
export interface ReserveFields {
  readonly place: number;
  readonly max: number;
  readonly min: number;
  readonly ttlMs: number;
  readonly key: string | undefined;
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
    const options = { min: Math.min(min, max), ttlMs, ...(key === undefined ? {} : { key }) };
    await submitAndCompare(model, target, target.make.reserve(pathOf(target, place), max, options));
  }

  toString(): string {
    const { place, max, min, ttlMs, key } = this.#fields;
    return `Reserve(place ${place}, max ${max}, min ${Math.min(min, max)}, ${ttlMs} ms, key ${key ?? 'none'})`;
  }
}
