// Which column of an invoice holds what, by the names in its first line: those of our own format, and those that exports of
// providers use. Whatever could be meant in two ways is refused, since a wrong column is a wrong sum.

/** What a column may hold. */
export type InvoiceField = 'date' | 'provider' | 'model' | 'lineItem' | 'input' | 'output' | 'cost' | 'currency';

/** A column, counted from 0, and its name as the file writes it. */
export interface InvoiceColumn {
  readonly index: number;
  readonly name: string;
}

/** The columns of a file. */
export interface InvoiceColumns {
  /** Fields that each line must have. */
  readonly count: number;
  readonly fields: Readonly<Partial<Record<InvoiceField, InvoiceColumn>>>;
}

/** The columns, or why they can't be told. */
export type InvoiceColumnsResult =
  | { readonly columns: InvoiceColumns; readonly problems?: never }
  | { readonly columns?: never; readonly problems: readonly string[] };

/** Names by what they hold, the one of our own format first. All others are left alone. */
const NAMES: Readonly<Record<InvoiceField, readonly string[]>> = {
  // Anthropic's cost export; OpenAI's cost export; OpenRouter's activity export.
  date: ['date', 'usage_date_utc', 'start_time_iso', 'created_at'],
  provider: ['provider'],
  model: ['model', 'model_permaslug'],
  // OpenAI names a model and what was billed of it: "gpt-4o-2024-08-06, input".
  lineItem: ['line_item'],
  input: ['input_tokens', 'prompt_tokens', 'tokens_prompt'],
  output: ['output_tokens', 'completion_tokens', 'tokens_completion'],
  cost: ['cost', 'cost_usd', 'amount_value', 'cost_total'],
  currency: ['currency', 'amount_currency'],
};

/** Finds the columns by the file's first line. Case and blanks around a name don't matter; a mark of UTF-8 was taken off before. */
export function invoiceColumnsOf(header: readonly string[]): InvoiceColumnsResult {
  const names = header.map((name) => name.trim().toLowerCase());
  const problems: string[] = [];
  const fields: Partial<Record<InvoiceField, InvoiceColumn>> = {};
  for (const [field, known] of Object.entries(NAMES) as [InvoiceField, readonly string[]][]) {
    const columns = names.flatMap((name, index) => (known.includes(name) ? [{ index, name }] : []));
    const [first, second] = columns;
    if (first !== undefined) fields[field] = first;
    if (first !== undefined && second !== undefined) {
      problems.push(`${first.name} and ${second.name} both say the same: leave one of these columns out`);
    }
  }
  if (fields.model !== undefined && fields.lineItem !== undefined) {
    problems.push(
      `${fields.model.name} and ${fields.lineItem.name} both name the model: leave one of these columns out`,
    );
  }
  const isThere = (...wanted: readonly InvoiceField[]): boolean => wanted.some((field) => fields[field] !== undefined);
  if (!isThere('date')) problems.push(missing('date'));
  if (!isThere('model', 'lineItem')) problems.push(missing('model', 'lineItem'));
  if (!isThere('cost')) problems.push(missing('cost'));
  return problems.length > 0 ? { problems } : { columns: { count: header.length, fields } };
}

function missing(field: InvoiceField, ...others: readonly InvoiceField[]): string {
  const [own, ...aliases] = [field, ...others].flatMap((each) => NAMES[each]);
  return `there is no column ${own} (or ${aliases.join(', ')})`;
}
