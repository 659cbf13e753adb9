// Usage reports as settlements state them, taken apart here: what waits to be decided is a handful of counts, whatever was reported.
// A report that is refused judged nothing: nothing is changed and nothing remembered.
import type { UsageCounts as CountsMessage, RawUsage, Usage } from '../../gen/budgetd/v1/model_call_pb.ts';
import type { UsageToPrice } from '../../kernel/price.ts';
import type { Refusal } from '../../kernel/refusal.ts';
import type { ModelName } from '../../pricing/model-call.ts';
import { isModelId, isProviderId } from '../../pricing/price-row.ts';
import { USAGE_KINDS, usageKindOf } from '../../pricing/usage/normalise-usage.ts';
import type { UsageCounts } from '../../pricing/usage/typed-usage.ts';
import { countedReport, rawReport, type UsageReportResult } from '../../pricing/usage/usage-report.ts';
import { usageInvalid } from '../api-refusal.ts';
import { frameText, frameValue } from '../command-key.ts';
import { checkWord, frameName, nameOf, wireName } from './model-call.ts';
import type { Problems } from './problems.ts';

/** Longest report, in bytes: the events of a stream that hold usage have a few hundred each. */
const JSON_BYTES_MAX = 65_536;

/** Counts of UsageCounts, by their names in the message. */
const COUNT_NAMES = [
  'uncachedInput',
  'cacheRead',
  'cacheWrite5m',
  'cacheWrite1h',
  'audioInput',
  'audioCacheRead',
  'output',
  'audioOutput',
  'webSearches',
  'fileSearches',
] as const;

/** What is said beside a report. */
interface Context {
  readonly serviceTier?: string;
  provider?: string;
}

/** Usage taken apart; USAGE_INVALID where the report is refused. Undefined: a problem with a field is noted. */
export function checkUsage(problems: Problems, field: string, stated: Usage): UsageToPrice | Refusal | undefined {
  const known = problems.length;
  const served = stated.served === undefined ? undefined : checkServed(problems, `${field}.served`, stated.served);
  const serviceTier = checkWord(problems, `${field}.service_tier`, stated.serviceTier);
  const provider = checkWord(problems, `${field}.library_provider`, stated.libraryProvider);
  const context: Context = serviceTier === '' ? {} : { serviceTier };
  if (provider !== '') context.provider = provider;
  const { report } = stated;
  if (report.case === undefined) {
    problems.push({ field: `${field}.report`, description: 'is required: one of raw and counts' });
    return undefined;
  }
  const result =
    report.case === 'raw'
      ? readRaw(problems, `${field}.raw`, report.value, served, context)
      : readCounts(problems, `${field}.counts`, report.value, served, serviceTier);
  if (result === undefined || problems.length > known) return undefined;
  if (result.problem === undefined) return { kind: 'usage', report: result.report };
  const { code, field: path, text } = result.problem;
  const prefix = report.case === 'raw' ? `${field}.raw.json` : `${field}.counts`;
  // The adapters' word for the whole report.
  const isWhole = path === '' || path === 'usage';
  const name = report.case === 'raw' ? path : wireName(path);
  return usageInvalid(code, isWhole ? prefix : `${prefix}.${name}`, text);
}

function readRaw(
  problems: Problems,
  field: string,
  { kind: kindName, json }: RawUsage,
  served: ModelName | undefined,
  context: Context,
): UsageReportResult | undefined {
  const kind = usageKindOf(kindName);
  if (kind === undefined) {
    problems.push({ field: `${field}.kind`, description: `must be one of ${USAGE_KINDS.join(', ')}` });
  }
  if (json === '') problems.push({ field: `${field}.json`, description: 'is required' });
  if (Buffer.byteLength(json) > JSON_BYTES_MAX) {
    problems.push({ field: `${field}.json`, description: `must have at most ${JSON_BYTES_MAX} bytes` });
    return undefined;
  }
  if (kind === undefined) return undefined;
  const parsed = parsedJson(json);
  if (parsed === undefined) return { problem: { code: 'usage_incomplete', field: '', text: 'must be JSON' } };
  return rawReport(kind, parsed.value, served, context);
}

function parsedJson(json: string): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(json) };
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function readCounts(
  problems: Problems,
  field: string,
  stated: CountsMessage,
  served: ModelName | undefined,
  serviceTier: string,
): UsageReportResult {
  const inferenceGeo = checkWord(problems, `${field}.inference_geo`, stated.inferenceGeo);
  const counts: UsageCounts = {
    ...countsOf(stated),
    ...(serviceTier !== '' && { serviceTier }),
    ...(inferenceGeo !== '' && { inferenceGeo }),
  };
  return countedReport(counts, served);
}

function countsOf(stated: CountsMessage): UsageCounts {
  const counts: { -readonly [Name in keyof UsageCounts]: UsageCounts[Name] } = {};
  for (const name of COUNT_NAMES) counts[name] = stated[name];
  return counts;
}

function checkServed(problems: Problems, field: string, stated: ModelName): ModelName {
  if (!isProviderId(stated.provider)) {
    problems.push({ field: `${field}.provider`, description: 'must be a provider id' });
  }
  if (!isModelId(stated.model)) problems.push({ field: `${field}.model`, description: 'must be a model id' });
  return nameOf(stated);
}

/** Frames usage as the client set it: a report by its very text. */
export function frameUsage({ report, served, serviceTier, libraryProvider }: Usage): string {
  const fields =
    (report.case === 'raw' ? frameText('raw', frameRaw(report.value)) : '') +
    (report.case === 'counts' ? frameText('counts', frameCounts(report.value)) : '') +
    frameName('served', served) +
    frameText('tier', serviceTier) +
    frameText('library', libraryProvider);
  return frameText('usage', fields);
}

const frameRaw = ({ kind, json }: RawUsage): string => frameText('kind', kind) + frameText('json', json);

function frameCounts(counts: CountsMessage): string {
  const each = COUNT_NAMES.map((name) => frameValue(name, counts[name] === 0n ? undefined : counts[name]));
  return each.join('') + frameText('geo', counts.inferenceGeo);
}
