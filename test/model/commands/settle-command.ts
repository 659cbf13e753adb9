// A Settle of one of the latest reservations: whole, of a part, or of unknown usage; late where time has passed.
import type { BudgetModel } from '../budget-model.ts';
import { type ModelCommand, reservationOf, submitAndCompare, type Target } from '../model-command.ts';

/** What is drawn at random. */
export interface SettleFields {
  readonly ref: number;
  /** Undefined: unknown, and then not kept open. */
  readonly actual: number | undefined;
  readonly keepOpen: boolean;
  readonly retain: number | undefined;
  readonly key: string | undefined;
}

export class SettleCommand implements ModelCommand {
  readonly #fields: SettleFields;

  constructor(fields: SettleFields) {
    this.#fields = { ...fields, keepOpen: fields.keepOpen && fields.actual !== undefined };
  }

  check(): boolean {
    return true;
  }

  async run(model: BudgetModel, target: Target): Promise<void> {
    const { ref, actual, keepOpen, retain, key } = this.#fields;
    const command = target.make.settle(reservationOf(model, ref), actual, {
      keepOpen,
      ...(keepOpen && retain !== undefined ? { retain } : {}),
      ...(key === undefined ? {} : { key }),
    });
    await submitAndCompare(model, target, command);
  }

  toString(): string {
    const { ref, actual, keepOpen, retain, key } = this.#fields;
    const rest = keepOpen ? `, keep open, retain ${retain ?? 'all'}` : '';
    return `Settle(latest but ${ref}, ${actual ?? 'unknown'}${rest}, key ${key ?? 'none'})`;
  }
}
