// Lines of invoices: our own format, the exports of providers, and everything that may be wrong.
import { describe, expect, test } from 'vitest';
import { type InvoiceColumns, invoiceColumnsOf } from '../../../../src/pricing/invoice/invoice-columns.ts';
import { invoiceLineOf } from '../../../../src/pricing/invoice/invoice-line.ts';

const USD = 10n ** 30n;

function columns(header: string): InvoiceColumns {
  const { columns: found, problems } = invoiceColumnsOf(header.split(','));
  if (found === undefined) throw new Error(problems.join('; '));
  return found;
}

const read = (header: string, line: string, provider?: string) =>
  invoiceLineOf(columns(header), line.split(','), provider);

describe('columns', () => {
  test.each<[string, string[]]>([
    [
      '',
      [
        'there is no column date (or usage_date_utc, start_time_iso, created_at)',
        'there is no column model (or model_permaslug, line_item)',
        'there is no column cost (or cost_usd, amount_value, cost_total)',
      ],
    ],
    ['date,model,tokens', ['there is no column cost (or cost_usd, amount_value, cost_total)']],
    ['date,model,cost,cost_usd', ['cost and cost_usd both say the same: leave one of these columns out']],
    ['date,date,model,cost', ['date and date both say the same: leave one of these columns out']],
    ['date,model,line_item,cost', ['model and line_item both name the model: leave one of these columns out']],
  ])('%j are refused', (header, problems) => {
    expect(invoiceColumnsOf(header.split(','))).toEqual({ problems });
  });

  test('are found in any order and case, beside others', () => {
    const { fields, count } = columns(' Cost , note,MODEL,Date');
    expect({ fields, count }).toEqual({
      count: 4,
      fields: {
        cost: { index: 0, name: 'cost' },
        model: { index: 2, name: 'model' },
        date: { index: 3, name: 'date' },
      },
    });
  });
});

describe('a line', () => {
  const OWN = 'date,provider,model,input_tokens,output_tokens,cost';
  const line = { month: '2026-11', provider: 'openai', model: 'gpt-4o', cost: USD / 4n };

  test.each<[string, string, string, object]>([
    ['our own', OWN, '2026-11-30,openai,gpt-4o,1000,20,0.25', { ...line, inputTokens: 1_000n, outputTokens: 20n }],
    [
      'without tokens',
      OWN,
      '2026-11-30, OpenAI ,gpt-4o,,,0.25',
      { ...line, inputTokens: undefined, outputTokens: undefined },
    ],
    [
      'OpenAI, costs',
      'start_time,end_time,start_time_iso,end_time_iso,amount_value,amount_currency,line_item,project_id',
      '1764460800,1764547200,2026-11-30T00:00:00+00:00,2026-12-01T00:00:00+00:00,0.2500000000000000,usd,gpt-4o-2024-08-06; input,p',
      { ...line, model: 'gpt-4o-2024-08-06; input', inputTokens: undefined, outputTokens: undefined },
    ],
    [
      'Anthropic, costs',
      'usage_date_utc,model,workspace,api_key,usage_type,context_window,token_type,cost_usd,list_price_usd,cost_type',
      '2026-11-30,Claude Haiku 4.5,Default,k,message,≤ 200k,output,0.25,0.5,token',
      { ...line, model: 'Claude Haiku 4.5', inputTokens: undefined, outputTokens: undefined },
    ],
    [
      'OpenRouter, activity',
      'cost_total,cost_cache,tokens_prompt,tokens_completion,provider_name,model_permaslug,app_name,created_at',
      '0.25,0.0,100,200,Azure,openai/gpt-4o,vscode,2026-11-30 02:37:51.271',
      { ...line, model: 'openai/gpt-4o', inputTokens: 100n, outputTokens: 200n },
    ],
  ])('%s', (_, header, text, expected) => {
    expect(read(header, text, 'openai')).toEqual({ line: expected });
  });

  test('of a line item names the model before the first comma', () => {
    const found = columns('date,line_item,cost');
    const values = ['2026-11-30', 'gpt-4o-2024-08-06, cached input', '1'];
    expect(invoiceLineOf(found, values, 'openai').line?.model).toBe('gpt-4o-2024-08-06');
  });

  test('its own provider goes before the one of the whole file', () => {
    expect(read(OWN, '2026-11-30,anthropic,x,,,1', 'openai').line?.provider).toBe('anthropic');
  });

  test('that bills nothing of nothing is none; one that bills something of nothing is wrong', () => {
    const header = 'start_time_iso,amount_value,amount_currency,line_item';
    expect(read(header, '2025-10-09T00:00:00+00:00,,,')).toEqual({ line: undefined });
    expect(read(header, '2025-10-09T00:00:00+00:00,1,usd,', 'openai')).toEqual({
      problems: ['line_item "" must name a model'],
    });
  });

  test.each<[string, string[]]>([
    ['2026-11-30,openai,gpt-4o,1', ['has 4 fields, where the first line has 6']],
    ['2026-11-30', ['has 1 field, where the first line has 6']],
    ['2026-11-30,,gpt-4o,,,1', ['provider "" must be the id of a provider, such as openai']],
    ['2026-11-30,open ai,gpt-4o,,,1', ['provider "open ai" must be the id of a provider, such as openai']],
    ['2026-11-30,openai,,,,1', ['model "" must name a model']],
    ['2026-11-30,openai,a\u0007b,,,1', ['model "a\u0007b" must name a model']],
    [
      '2026-11-30,openai,gpt-4o,-1,1.5,1',
      ['input_tokens "-1" must be a whole number from 0 up', 'output_tokens "1.5" must be a whole number from 0 up'],
    ],
    [
      'x,?,,a,b,$1',
      [
        'date "x" must be a date such as 2026-11-30, or an instant',
        'provider "?" must be the id of a provider, such as openai',
        'model "" must name a model',
        'cost "$1" must be a plain decimal in USD such as 12.34',
        'input_tokens "a" must be a whole number from 0 up',
        'output_tokens "b" must be a whole number from 0 up',
      ],
    ],
  ])('%j says all that is wrong with it', (text, problems) => {
    expect(read(OWN, text)).toEqual({ problems });
  });

  test.each(['EUR', 'inr', '$', 'USDT'])('in %s is refused', (currency) => {
    expect(read('date,model,cost,currency', `2026-11-30,x,1,${currency}`, 'openai')).toEqual({
      problems: [`currency "${currency}" must be USD: other currencies are not compared`],
    });
  });

  test('shows no more of a value than tells what it is', () => {
    const [problem] = read('date,model,cost', `2026-11-30,x,${'9'.repeat(500)}`, 'openai').problems ?? [];
    expect(problem).toBe(`cost "${'9'.repeat(40)}…" must be a plain decimal in USD such as 12.34`);
  });
});
