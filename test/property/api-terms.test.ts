// Terms of budgets go out and come back: what GetBudget shows is taken by CreateBudget and UpdateBudget as the same terms,
// templates inside templates included.
import { create, fromBinary, fromJson, toBinary, toJson } from '@bufbuild/protobuf';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { templateMessage } from '../../src/api/encode/terms-message.ts';
import type { Problems } from '../../src/api/validate/problems.ts';
import { checkTemplate, frameTemplate } from '../../src/api/validate/template.ts';
import { windowName } from '../../src/api/validate/window-name.ts';
import { BudgetTemplateSchema } from '../../src/gen/budgetd/v1/terms_pb.ts';
import { termsTo, window } from '../support/arbitrary-budget-terms.ts';

const terms = termsTo(8);

it('takes what it shows, in binary and in JSON', () => {
  fc.assert(
    fc.property(terms, (given) => {
      const message = templateMessage(given);
      const wires = [
        fromBinary(BudgetTemplateSchema, toBinary(BudgetTemplateSchema, message)),
        fromJson(BudgetTemplateSchema, toJson(BudgetTemplateSchema, create(BudgetTemplateSchema, message))),
      ];
      for (const wire of wires) {
        const problems: Problems = [];
        expect(checkTemplate(problems, 'child_template', wire)).toEqual(given);
        expect(problems).toEqual([]);
      }
    }),
  );
});

it('frames different templates differently, and the same alike', () => {
  fc.assert(
    fc.property(terms, terms, (one, other) => {
      const same = JSON.stringify(one, bigintText) === JSON.stringify(other, bigintText);
      expect(frameTemplate(templateMessage(one)) === frameTemplate(templateMessage(other))).toBe(same);
      expect(frameTemplate(templateMessage(structuredClone(one)))).toBe(frameTemplate(templateMessage(one)));
    }),
  );
});

it('gives no two windows one name', () => {
  fc.assert(
    fc.property(window, window, (one, other) => {
      expect(windowName(one) === windowName(other)).toBe(JSON.stringify(one) === JSON.stringify(other));
      expect(windowName(one)).toMatch(/^[A-Za-z0-9._:/+-]{1,63}$/);
    }),
    { numRuns: 1_000 },
  );
});

function bigintText(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? `${value}n` : value;
}
