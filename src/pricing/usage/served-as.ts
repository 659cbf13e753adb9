// How a call was served, as its report says it: in which tier, at which speed, where. One reader for all kinds, since whoever passes a
// report on keeps these words, each in a place of its own, and a call must cost the same through whichever reports it. Nothing here is a
// fault of the report: those who copy an interface put there what they like. Sources: openai-node and bedrock's Converse (beside the
// usage), anthropic-sdk-typescript (inside), js-genai `trafficType`, vercel/ai `raw` and `providerMetadata`, BerriAI/litellm 21904.
import { isText } from '../whole.ts';
import { isFields, type Report, WORD_LENGTH_MAX } from './report.ts';
import { UNREADABLE_WORD, type Usage } from './usage.ts';

type Fields = Report['fields'];

/** What a report says of it. */
export type ServedAs = Pick<Usage, 'serviceTiers' | 'inferenceGeos'>;

/** What a report says that says nothing of it: this very object. */
export const NOTHING_SAID: ServedAs = {};

/** Words of one sort that a report can hold: one or two are usual, and nothing long may wait to be decided. */
const WORDS_MAX = 8;

const TIER_NAMES = ['service_tier', 'serviceTier'] as const;
const TRAFFIC_NAMES = ['trafficType', 'traffic_type'] as const;
const GEO_NAMES = ['inference_geo', 'inferenceGeo'] as const;
const SPEED_NAME = 'speed';

/** Where the AI SDK keeps the usage of a provider, among what else the provider says. */
const USAGE_NAMES = ['usage', 'usageMetadata'] as const;

/** What stands for nothing being said: Google's enumerations have such a value. */
const NOT_SAID: ReadonlySet<string> = new Set(['unspecified', 'service_tier_unspecified', 'traffic_type_unspecified']);

/** A speed that is none of its own. */
const USUAL_SPEED = 'standard';

/** The words of a report, and of the objects that hold it. */
export function servedAs({ fields }: Report, holders: readonly Report[]): ServedAs {
  const tiers: string[] = [];
  const geos: string[] = [];
  noteInside(tiers, geos, fields);
  for (const raw of objectsAt(fields, ['raw'])) noteInside(tiers, geos, raw);
  noteMetadata(tiers, geos, fields);
  for (const holder of holders) {
    noteBeside(tiers, holder.fields);
    noteMetadata(tiers, geos, holder.fields);
  }
  if (tiers.length === 0 && geos.length === 0) return NOTHING_SAID;
  return {
    ...(tiers.length > 0 && { serviceTiers: tiers }),
    ...(geos.length > 0 && { inferenceGeos: geos }),
  };
}

/** Words inside an object of usage. */
function noteInside(tiers: string[], geos: string[], usage: Fields): void {
  for (const name of TIER_NAMES) note(tiers, wordIn(usage, name));
  for (const name of TRAFFIC_NAMES) note(tiers, wordIn(usage, name));
  const speed = wordIn(usage, SPEED_NAME);
  if (speed?.trim().toLowerCase() !== USUAL_SPEED) note(tiers, speed);
  for (const name of GEO_NAMES) note(geos, wordIn(usage, name));
}

/** Words beside it. Bedrock also has there whether a faster machine served, which costs more. Source: PerformanceConfiguration. */
function noteBeside(tiers: string[], holder: Fields): void {
  for (const name of TIER_NAMES) note(tiers, wordIn(holder, name));
  for (const config of objectsAt(holder, ['performanceConfig'])) {
    const latency = wordIn(config, 'latency');
    if (latency?.trim().toLowerCase() !== USUAL_SPEED) note(tiers, latency);
  }
}

/** Words in what the AI SDK adds from the providers. */
function noteMetadata(tiers: string[], geos: string[], holder: Fields): void {
  for (const metadata of objectsAt(holder, ['providerMetadata'])) {
    for (const own of objectsAt(metadata, Object.keys(metadata))) {
      noteBeside(tiers, own);
      for (const usage of objectsAt(own, USAGE_NAMES)) noteInside(tiers, geos, usage);
    }
  }
}

function objectsAt(fields: Fields, names: readonly string[]): readonly Fields[] {
  const found: Fields[] = [];
  for (const name of names) {
    const value = Object.hasOwn(fields, name) ? fields[name] : undefined;
    if (isFields(value)) found.push(value);
  }
  return found;
}

/** The word in a field, or the `type` of an object there; UNREADABLE_WORD where it is neither, undefined where there is nothing. */
function wordIn(fields: Fields, name: string): string | undefined {
  const value = Object.hasOwn(fields, name) ? (fields[name] ?? undefined) : undefined;
  if (value === undefined) return undefined;
  const type = isFields(value) && Object.hasOwn(value, 'type') ? value['type'] : value;
  return typeof type === 'string' && isText(type, WORD_LENGTH_MAX) ? type : UNREADABLE_WORD;
}

function note(words: string[], word: string | undefined): void {
  if (word === undefined || NOT_SAID.has(word.trim().toLowerCase()) || words.includes(word)) return;
  if (words.length < WORDS_MAX) words.push(word);
  else words[WORDS_MAX - 1] = UNREADABLE_WORD;
}
