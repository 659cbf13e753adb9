// An Extend of one of the latest reservations.
import type { BudgetModel } from '../budget-model.ts';
import { type ModelCommand, reservationOf, submitAndCompare, type Target } from '../model-command.ts';

/** What is drawn at random. */
export interface ExtendFields {
  readonly ref: number;
  readonly add: number;
  readonly min: number;
  readonly key: string | undefined;
}

export class ExtendCommand implements ModelCommand {
  readonly #fields: ExtendFields;

  constructor(fields: ExtendFields) {
    this.#fields = fields;
  }

  check(): boolean {
    return true;
  }

  async run(model: BudgetModel, target: Target): Promise<void> {
    const { ref, add, min, key } = this.#fields;
    const options = { min: Math.min(min, add), ...(key === undefined ? {} : { key }) };
    await submitAndCompare(model, target, target.make.extend(reservationOf(model, ref), add, options));
  }

  toString(): string {
    const { ref, add, min, key } = this.#fields;
    return `Extend(latest but ${ref}, add ${add}, min ${Math.min(min, add)}, key ${key ?? 'none'})`;
  }
}
