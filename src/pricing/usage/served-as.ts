// How a call was served, as its report says it: in which tier, at which speed, where. One reader for all kinds, since whoever passes a
// report on keeps these words, each in a place of its own, and a call must cost the same through whichever reports it. Nothing here is a
// fault of the report: those who copy an interface put there what they like. Sources: openai-node and bedrock's Converse (beside the
// usage), anthropic-sdk-typescript (inside), js-genai `trafficType`, vercel/ai `raw` and `providerMetadata`, BerriAI/litellm 21904.
import { isFields, isWord, type Report } from './report.ts';
import { UNREADABLE_WORD, type Usage } from './usage.ts';

type Fields = Report['fields'];

/** What a report says of it. */
export type ServedAs = Pick<Usage, 'serviceTiers' | 'inferenceGeos' | 'otherEvents'>;

/** What a report says that says nothing of it: this very object. */
export const NOTHING_SAID: ServedAs = {};

/** The words that were read, by their sorts: a sort of which nothing is said has none. */
export type Words = Readonly<Record<Sort, readonly string[]>>;

type Sort = 'tiers' | 'speeds' | 'geos';
type Notes = Readonly<Record<Sort, string[]>>;

/** No words. */
export const NO_WORDS: Words = { tiers: [], speeds: [], geos: [] };

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

/** The words of reports, and of the objects that hold them; of each object once. */
export function wordsOf(reports: readonly Report[], holders: readonly Report[]): Words {
  const notes: Notes = { tiers: [], speeds: [], geos: [] };
  for (const { fields } of reports) {
    noteInside(notes, fields);
    for (const raw of objectsAt(fields, ['raw'])) noteInside(notes, raw);
    noteMetadata(notes, fields);
  }
  for (const { fields } of holders) {
    noteBeside(notes, fields);
    noteMetadata(notes, fields);
  }
  return notes;
}

/** The words of both. */
export function joined(a: Words, b: Words): Words {
  const notes: Notes = { tiers: [...a.tiers], speeds: [...a.speeds], geos: [...a.geos] };
  for (const sort of SORTS) for (const word of b[sort]) note(notes[sort], word);
  return notes;
}

const SORTS = ['tiers', 'speeds', 'geos'] as const satisfies readonly Sort[];

/** What the words of a report come to. `others`: those of the other events of its stream, of which only a sort that it has not counts. */
export function servedAs(own: Words, others: Words | undefined): ServedAs {
  const said = saidIn(own);
  if (others === undefined) return said;
  const unsaid = (sort: Sort): readonly string[] => (own[sort].length > 0 ? [] : others[sort]);
  const otherEvents = saidIn({ tiers: unsaid('tiers'), speeds: unsaid('speeds'), geos: unsaid('geos') });
  return otherEvents === NOTHING_SAID ? said : { ...said, otherEvents };
}

function saidIn({ tiers, speeds, geos }: Words): ServedAs {
  // The usual speed is a word all the same: it says that the call had none of the others.
  const serviceTiers = [...tiers, ...speeds.filter((speed) => speed.trim().toLowerCase() !== USUAL_SPEED)];
  if (serviceTiers.length === 0 && geos.length === 0) return NOTHING_SAID;
  return {
    ...(serviceTiers.length > 0 && { serviceTiers }),
    ...(geos.length > 0 && { inferenceGeos: geos }),
  };
}

/** Words inside an object of usage. Some who copy an interface put tokens by the second under `speed`: a number is no word of it. */
function noteInside({ tiers, speeds, geos }: Notes, usage: Fields): void {
  noteAt(tiers, usage, TIER_NAMES);
  noteAt(tiers, usage, TRAFFIC_NAMES);
  if (typeof usage[SPEED_NAME] !== 'number') noteAt(speeds, usage, [SPEED_NAME]);
  noteAt(geos, usage, GEO_NAMES);
}

/** Words beside it. Bedrock also has there whether a faster machine served, which costs more. Source: PerformanceConfiguration. */
function noteBeside({ tiers, speeds }: Notes, holder: Fields): void {
  noteAt(tiers, holder, TIER_NAMES);
  for (const config of objectsAt(holder, ['performanceConfig'])) noteAt(speeds, config, ['latency']);
}

/** Words in what the AI SDK adds from the providers. */
function noteMetadata(notes: Notes, holder: Fields): void {
  for (const metadata of objectsAt(holder, ['providerMetadata'])) {
    for (const own of objectsAt(metadata, Object.keys(metadata))) {
      noteBeside(notes, own);
      for (const usage of objectsAt(own, USAGE_NAMES)) noteInside(notes, usage);
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

function noteAt(words: string[], fields: Fields, names: readonly string[]): void {
  for (const name of names) note(words, wordIn(fields, name));
}

/** The word in a field, or the `type` of an object there; UNREADABLE_WORD where it is neither, undefined where there is nothing. */
function wordIn(fields: Fields, name: string): string | undefined {
  const value = Object.hasOwn(fields, name) ? (fields[name] ?? undefined) : undefined;
  if (value === undefined) return undefined;
  const type = isFields(value) && Object.hasOwn(value, 'type') ? value['type'] : value;
  return type === '' || isWord(type) ? type : UNREADABLE_WORD;
}

// What comes after the words that a sort can hold is as unreadable as what is none, and none of those is lost for it.
function note(words: string[], word: string | undefined): void {
  if (word === undefined || NOT_SAID.has(word.trim().toLowerCase()) || words.includes(word)) return;
  if (words.length < WORDS_MAX) words.push(word);
  else if (!words.includes(UNREADABLE_WORD)) words.push(UNREADABLE_WORD);
}
