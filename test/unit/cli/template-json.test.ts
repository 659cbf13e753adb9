// Templates typed by hand: the example can be taken as it stands, and what is wrong is said in few words.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { create } from '@bufbuild/protobuf';
import { expect, it } from 'vitest';
import { checkTemplate } from '../../../src/api/validate/template.ts';
import { parseTemplate, TEMPLATE_EXAMPLE } from '../../../src/app/cli/template-json.ts';
import { BudgetTemplateSchema } from '../../../src/gen/budgetd/v1/terms_pb.ts';

it('the example is one that the service takes, and the README has it too', () => {
  const problems: never[] = [];
  const template = create(BudgetTemplateSchema, parseTemplate(TEMPLATE_EXAMPLE));
  expect(checkTemplate(problems, 'child_template', template)).toMatchObject({ childTemplate: { budgetKind: 'run' } });
  expect(problems).toEqual([]);
  expect(readFileSync(join(import.meta.dirname, '../../../README.md'), 'utf8')).toContain(TEMPLATE_EXAMPLE);
});

it('a template may say a little or nothing', () => {
  expect(parseTemplate('{"kind": "run", "shape": {"maxActive": 3}}')).toMatchObject({
    kind: 'run',
    shape: { maxActive: 3 },
  });
  expect(parseTemplate('{}')).toMatchObject({ kind: '', limits: [] });
});

it.each([
  ['{"knd": 1}', 'BudgetTemplate: key "knd" is unknown (--help has an example)'],
  ['{"limits": [{"window": {"rolling": {"duration": "1h"}}}]}', 'Duration: "1h" (--help'],
  ['{"rates": [{"kind": "TOKENS"}]}', 'RateKind: "TOKENS" (--help'],
  ['{"limits": [{"amountMicros": "x"}]}', 'Limit.amount_micros: expected bigint'],
  ['/no/such/file', 'takes JSON or a file with it: ENOENT'],
])('%s: %s', (text, message) => {
  expect(() => parseTemplate(text)).toThrow(message);
});
