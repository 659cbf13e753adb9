// The fields of requests by what is typed for them: options, and arguments by their names. Its own file because the service says what is
// wrong in the words of its contract, which nobody typed.

/** Fields, without places in lists, by option or argument. Of fields inside one another the longest name counts. */
const TYPED: Readonly<Record<string, string>> = {
  // Of many commands.
  budget: 'budget',
  reservation_id: 'reservation',
  idempotency_key: '--key',
  etag: '--etag',
  reason: '--reason',
  labels: '--label',
  ttl: '--ttl',
  min_micros: '--min',
  max_micros: 'amount',
  add_micros: 'amount',
  page_size: '--max-rows',
  page_token: '--page-token',
  at_time: '--at',
  unit: '--unit',
  // Of holds.
  also: '--also',
  tokens: '--tokens',
  tool_calls: '--tool-calls',
  priority: '--priority',
  alternatives: '--alternative',
  max_wait: '--max-wait',
  holder: '--holder',
  acting_for: '--acting-for',
  validate_only: '--dry-run',
  started: '--started',
  actual_micros: 'amount',
  usage_unknown: '--unknown',
  keep_open: '--keep-open',
  retain_micros: '--retain',
  confirm_amount: '--confirm',
  outcome: '--outcome',
  state: '--state',
  // Of model calls and usage.
  model_call: '--model',
  'model_call.candidates': '--model',
  'model_call.request_bytes': '--bytes',
  'model_call.input_tokens': '--input-tokens',
  'model_call.media': '--media',
  'model_call.server_tools': '--server-tool',
  'model_call.has_tools': '--has-tools',
  'model_call.max_output_tokens': '--max-output',
  'model_call.choices': '--choices',
  'model_call.audio_output': '--audio-output',
  'model_call.cache_ttl': '--cache-ttl',
  'model_call.service_tier': '--service-tier',
  'model_call.inference_geo': '--inference-geo',
  usage: 'usage',
  'usage.raw': '--usage-file',
  'usage.raw.kind': '--kind',
  'usage.raw.json': '--usage-file',
  'usage.counts': '--count',
  'usage.served': '--served',
  'usage.service_tier': '--served-tier',
  'usage.library_provider': '--library',
  // Of budgets.
  'budget.budget': 'budget',
  'budget.kind': '--kind',
  'budget.owner': '--owner',
  'budget.labels': '--label',
  'budget.unit': '--unit',
  'budget.uncapped': '--uncapped',
  'budget.limits': '--limit',
  'budget.on_expiry': '--on-expiry',
  'budget.rates': '--rate',
  'budget.shape.max_reservation_micros': '--max-reservation',
  'budget.shape.max_active': '--max-active',
  'budget.shape.max_children': '--max-children',
  'budget.shape.max_depth': '--max-depth',
  'budget.shape.max_lease': '--max-lease',
  'budget.shape.max_renewals': '--max-renewals',
  'budget.shape.close_after': '--close-after',
  'budget.overrun': '--overrun',
  'budget.child_template': '--child-template',
  'budget.enforcement.mode': '--mode',
  'budget.enforcement.tolerance_micros': '--tolerance',
  'budget.enforcement.on_exhaustion': '--on-exhaustion',
  'budget.enforcement.kept': '--keep',
  'budget.alert_at': '--alert-at',
  'budget.alert_at.percent': '--alert-at',
  'budget.weight': '--weight',
  'budget.floor_micros': '--floor',
  'budget.share_percent': '--share',
  'budget.models.allowed_models': '--models',
  'budget.models.allowed_models.models': '--models',
  'budget.models.max_tier': '--max-tier',
  limit: '--limit',
  // Of the price book.
  'row.provider': 'provider',
  'row.model': 'model',
  'row.rates.input': '--input',
  'row.rates.output': '--output',
  'row.rates.cache_read': '--cache-read',
  'row.rates.cache_write_5m': '--cache-write-5m',
  'row.rates.cache_write_1h': '--cache-write-1h',
  'row.rates.audio_input': '--audio-input',
  'row.rates.audio_cache_read': '--audio-cache-read',
  'row.rates.audio_output': '--audio-output',
  'row.fees.request': '--request-fee',
  'row.fees.web_search': '--web-search-fee',
  'row.fees.file_search': '--file-search-fee',
  'row.above_input_tokens': '--above',
  'row.band': '--band',
  'row.effective_from_time': '--from',
  'row.effective_until_time': '--until',
  'row.mark': '--free, --seat',
  'row.source': '--source',
  'alias.provider': 'provider of the name',
  'alias.alias': 'name',
  'alias.form': '--form',
  'alias.model': 'model',
  'alias.target_provider': 'provider of the model',
  'unit_price.unit': 'unit',
  'unit_price.unit_micros': '--per-usd',
  'unit_price.usd_micros': '--usd',
  'unit_price.effective_from_time': '--from',
  'unit_price.source': '--source',
  row_hash: 'row',
  from_time: '--from',
  provider: 'provider',
  model: 'model',
  // Of a watch.
  cursor: '--cursor',
  kinds: '--kind',
};

/** Fields of the contract that sentences of the service name, by what stands in their place. */
const IN_SENTENCES: Readonly<Record<string, string>> = {
  max_micros: 'the amount',
  add_micros: 'the amount',
  actual_micros: 'the actual cost',
  min_micros: '--min',
  model_call: '--model',
  request_bytes: '--bytes',
  input_tokens: '--input-tokens',
  keep_open: '--keep-open',
  usage_unknown: '--unknown',
  above_input_tokens: '--above',
  effective_from_time: '--from',
  effective_until_time: '--until',
  start_time: 'its start',
};

const NAMED = new RegExp(`\\b(?:${Object.keys(IN_SENTENCES).join('|')})\\b`, 'g');
/** Sentences that name fields; others may hold names of budgets and limits, which could be any word. */
const NAMING = /^(?:must (?:not |only )?be |is required|needs |overlaps )/;
/** What is left of a path behind the option: a place in a list or a key, and a field inside. */
const REST = /^(?:\[(?:(?<place>[0-9]+)|"(?<key>.*)")\])?\.?(?<inside>.*)$/s;

/**
 * What was typed for a field of a call of a method: `--limit no. 2, amount`. A field that nobody types keeps its name; those of a budget
 * leave the budget out.
 */
export function typedName(field: string, method: string): string {
  for (let at = field.length; at > 0; at = Math.max(field.lastIndexOf('.', at - 1), field.lastIndexOf('[', at - 1))) {
    const head = field.slice(0, at);
    const option = Object.hasOwn(TYPED, head) ? TYPED[head] : undefined;
    // The fields of a budget are no part of its path.
    if (option === undefined || (head === 'budget' && field !== head)) continue;
    // An edit sends all limits that there are, of which one was typed.
    const isUntyped = method === 'UpdateBudget' && head === 'budget.limits';
    return (isUntyped ? 'limit' : option) + restOf(head, field.slice(at));
  }
  return field.replace(/^budget\./, '');
}

function restOf(head: string, rest: string): string {
  // What is in a report or a template is written as the provider, or the contract, has it.
  if (head === 'usage') return rest;
  if (head === 'budget.child_template') return rest.replace('.', ', ');
  if (head === 'usage.counts') return rest.replace('.', ' ');
  const { place, key, inside = '' } = REST.exec(rest)?.groups ?? {};
  const last = inside.split('.').at(-1) ?? '';
  const part = (last === 'micros' ? 'amount' : last.replace(/_micros$/, '')).replaceAll('_', ' ');
  return [
    place === undefined ? '' : ` no. ${Number(place) + 1}`,
    key === undefined ? '' : ` ${key}`,
    part === '' ? '' : `, ${part}`,
  ].join('');
}

/** What is wrong with a field, with what was typed in the place of other fields. */
export function typedText(description: string): string {
  return NAMING.test(description) ? description.replace(NAMED, (name) => IN_SENTENCES[name] ?? name) : description;
}
