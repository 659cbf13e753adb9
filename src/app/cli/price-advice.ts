// What to do where something has no price: one sentence for each word that the service says why. Its own file because what is missing
// differs from word to word, and so does who can mend it.
import type { CallError, CallFailure, PriceHint } from './call-error.ts';
import { joinForShell } from './shell-words.ts';

/** By `why` of the refusal; `name` is the model, or the one whose rows it goes by, `of` what lists its rows. */
const ADVICE: Readonly<Record<string, (name: string, of: string, hint: PriceHint) => string>> = {
  no_row: (name, _of, { meant }) =>
    `Nobody has said what ${name} costs${meant === undefined ? '' : ` (did you mean ${meant}?)`}: add its price (budgetctl prices add), let the name stand for a model that has one (budgetctl prices alias), use another model, or reserve an amount.`,
  no_base_tier: (name, of) =>
    `${name} has rows for large prompts only: add one for all sizes (budgetctl prices add, without --above), or end those that there are (${of}, budgetctl prices retire).`,
  no_row_outside_bands: (name, of) =>
    `${name} has rows for a time of day only: add one without --band (budgetctl prices add), or end those that there are (${of}, budgetctl prices retire).`,
  bands_overlap: (name, of) =>
    `Two rows of ${name} claim the same time of day: see both (${of}) and end one (budgetctl prices retire).`,
  no_output_rate: (name, of) =>
    `The row of ${name} has no rate for output: add one that has, with all rates that calls need (${of}, budgetctl prices add --output).`,
  no_audio_rate: (name, of) =>
    `The row of ${name} has no rate for audio: add one that has, with all rates that calls need (${of}, budgetctl prices add --audio-input, --audio-output).`,
  no_search_fee: (name, of) =>
    `The row of ${name} has no fee for searches: add one that has, with all rates that calls need (${of}, budgetctl prices add --web-search-fee, --file-search-fee), or call without searches.`,
  service_tier: (name) =>
    `What this service tier, or place of inference, costs at ${name} is not known: leave it out (--service-tier, --inference-geo), name another, or reserve an amount.`,
};

/** Advice for PRICE_UNKNOWN. */
export function priceAdvice({ metadata }: CallFailure, { method, notes }: CallError): string {
  const { provider, model, unit, why = '' } = metadata;
  if (why === 'book_unreadable') {
    return 'Nothing has a price now: use an amount. What is in the way: budgetctl status.';
  }
  if (method === 'Settle' && metadata['field'] === 'usage.served') {
    return "--served is a model that was reserved for, whatever the response calls it: name that, or let the response's name stand for it (budgetctl prices alias); else settle the actual cost, or --unknown.";
  }
  if (method === 'Settle') return 'No pinned price fits what was used: settle the actual cost, or --unknown.';
  const { priceHint } = notes;
  if (unit !== undefined) return unitAdvice(unit, priceHint.meant, method);
  if (model === undefined) return 'No row that counts then prices this usage: see budgetctl prices list, and --served.';
  const name = priceHint.rowsOf ?? `${provider}/${model}`;
  const advice = ADVICE[why] ?? ADVICE['no_row'];
  return advice?.(name, `budgetctl prices list ${joinForShell([name])}`, priceHint) ?? '';
}

// Beside a row that differs by case alone the service takes no other.
function unitAdvice(unit: string, meant: string | undefined, method: string): string {
  if (meant === undefined) return `Say what ${unit} is worth in USD (budgetctl prices unit), or reserve an amount.`;
  const isOther = `${meant} has a row and differs from ${unit} by case alone`;
  return method === 'Quote'
    ? `${isOther}: --unit ${meant}.`
    : `${isOther}, so that ${unit} can get none: use a tree in ${meant}, or reserve an amount.`;
}
