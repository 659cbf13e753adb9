// From a report to buckets: the table of kinds, the choice of the one report that counts in a stream, and what holds for every kind.
// The one way in for everything that callers report.
import type { UsageAdapter } from './adapter.ts';
import { aiSdkV5, aiSdkV6 } from './ai-sdk.ts';
import { anthropicMessages } from './anthropic-messages.ts';
import { bedrockConverse } from './bedrock-converse.ts';
import { cohereChat } from './cohere-chat.ts';
import { deepseekChat } from './deepseek-chat.ts';
import { gemini } from './gemini.ts';
import { kindCheck } from './kind-check.ts';
import { litellm } from './litellm.ts';
import { mistralChat } from './mistral-chat.ts';
import { openAiAgents } from './openai-agents.ts';
import { groqChat, openAiChat, openAiCompatible } from './openai-chat.ts';
import { openAiResponses, xaiResponses } from './openai-responses.ts';
import { openRouterChat } from './openrouter-chat.ts';
import { type Faults, fault, field, isFields, type Report, reportOf } from './report.ts';
import { joined, NO_WORDS, NOTHING_SAID, type ServedAs, servedAs, wordsOf } from './served-as.ts';
import { sumProblem, type UsageContext, type UsageProblem, type UsageResult } from './usage.ts';
import { xaiChat } from './xai-chat.ts';

const ADAPTERS = {
  openai_chat: openAiChat,
  openai_compatible: openAiCompatible,
  openai_responses: openAiResponses,
  openai_agents_js: openAiAgents,
  azure_openai_chat: openAiChat,
  azure_openai_responses: openAiResponses,
  anthropic_messages: anthropicMessages,
  gemini,
  vertex_gemini: gemini,
  bedrock_converse: bedrockConverse,
  mistral_chat: mistralChat,
  deepseek_chat: deepseekChat,
  xai_chat: xaiChat,
  xai_responses: xaiResponses,
  groq_chat: groqChat,
  cohere_v2_chat: cohereChat,
  openrouter_chat: openRouterChat,
  ai_sdk_v5: aiSdkV5,
  ai_sdk_v6: aiSdkV6,
  ai_sdk_v7: aiSdkV6,
  litellm,
} as const satisfies Readonly<Record<string, UsageAdapter>>;

const CHECK = kindCheck(ADAPTERS);

/** A kind of report: whose, and of which interface. */
export type UsageKind = keyof typeof ADAPTERS;

/** Every kind. */
export const USAGE_KINDS = Object.keys(ADAPTERS) as readonly UsageKind[];

/** The kind of a name; undefined if there is none such. */
export function usageKindOf(name: string): UsageKind | undefined {
  return Object.hasOwn(ADAPTERS, name) ? (name as UsageKind) : undefined;
}

/**
 * Takes a report apart. `raw` is parsed JSON as the provider sent it: the usage object, a response that holds it, or
 * `{"events": [...]}` with the events of a stream, of which the last cumulative one counts. Never throws; nothing is clamped.
 */
export function normaliseUsage(kind: UsageKind, raw: unknown, context: UsageContext = {}): UsageResult {
  const { found, problem } = findUsage(kind, raw);
  return problem === undefined ? countUsage(found, context) : { problem };
}

/** A report that has been found, with what it says of how the call was served: only its counts are left to be read. */
export interface FoundUsage extends Found {
  readonly adapter: UsageAdapter;
  readonly faults: Faults;
  readonly served: ServedAs;
}

/** A report that has been found, or why none was. */
export type FoundUsageResult =
  | { readonly found: FoundUsage; readonly problem?: never }
  | { readonly found?: never; readonly problem: UsageProblem };

/** The first half of normaliseUsage: it looks at all that was reported, once. */
export function findUsage(kind: UsageKind, raw: unknown): FoundUsageResult {
  const adapter: UsageAdapter = ADAPTERS[kind];
  const faults: Faults = { first: undefined };
  checkKind(kind, raw, faults);
  if (faults.first !== undefined) return { problem: faults.first };
  const found = reportIn(adapter, raw, faults);
  if (found === undefined) return { problem: faults.first ?? MISSING };
  CHECK.counts(kind, found.report);
  return { found: { ...found, adapter, faults, served: servedIn(adapter, found, raw) } };
}

/** The second half: the counts of the report that counts, as a call of this context has them. */
export function countUsage(
  { adapter, report, holders, faults, served }: FoundUsage,
  context: UsageContext,
): UsageResult {
  const counted = adapter.normalise(report, context, holders.at(-1));
  if (faults.first !== undefined) return { problem: faults.first };
  const problem = sumProblem(counted);
  if (problem !== undefined) return { problem };
  const { serviceTier: callerTier } = context;
  if (served === NOTHING_SAID && callerTier === undefined) return { usage: counted };
  return { usage: { ...counted, ...served, ...(callerTier !== undefined && { callerTier }) } };
}

/** Notes where a body, or any event of a stream, is of another kind. */
function checkKind(kind: UsageKind, raw: unknown, faults: Faults): void {
  if (!isFields(raw)) return;
  CHECK.body(kind, raw, faults);
  const events = Object.hasOwn(raw, 'events') ? raw['events'] : undefined;
  if (!Array.isArray(events)) return;
  const { paths }: UsageAdapter = ADAPTERS[kind];
  for (const event of events) {
    if (!isFields(event)) continue;
    CHECK.body(kind, event, faults);
    // What else is wrong with an event that does not count is no fault of the report.
    const unheeded: Faults = { first: undefined };
    for (const path of paths) {
      const { report } = trailAlong(path, event, unheeded);
      if (report !== undefined) CHECK.counts(kind, { ...report, faults });
    }
  }
}

const MISSING: UsageProblem = { code: 'usage_missing', field: 'usage', text: 'is not there, or zeros alone' };

/** A report, and what holds it, from the outermost on: the event, the response. */
interface Found {
  readonly report: Report;
  readonly holders: readonly Report[];
}

/** How the call was served: as the report that counts says, or what holds it; in a stream also what the other events say. */
function servedIn({ paths }: UsageAdapter, { report, holders }: Found, raw: unknown): ServedAs {
  const own = wordsOf([report], holders);
  const events = isFields(raw) && Object.hasOwn(raw, 'events') ? raw['events'] : undefined;
  if (!Array.isArray(events)) return servedAs(own, undefined);
  // What is wrong with the other events is no fault of the report.
  const unheeded: Faults = { first: undefined };
  let others = NO_WORDS;
  for (const event of events) {
    if (!isFields(event)) continue;
    const trails = paths.map((path) => trailAlong(path, event, unheeded));
    const reports = trails.flatMap((trail) => trail.report ?? []);
    others = joined(others, wordsOf(reports, distinct(trails.flatMap((trail) => trail.holders))));
  }
  return servedAs(own, others);
}

/** Paths of one event begin alike: what is on several of them is looked at once. */
function distinct(reports: readonly Report[]): readonly Report[] {
  return reports.filter(({ fields }, at) => reports.findIndex((other) => other.fields === fields) === at);
}

/** The report that counts. */
function reportIn(adapter: UsageAdapter, raw: unknown, faults: Faults): Found | undefined {
  const whole = reportOf(raw, '', faults);
  if (whole === undefined) return undefined;
  const events = field(whole, 'events');
  if (events === undefined) {
    // A response that has a place for usage and nothing in it has none; it is not itself taken for one.
    const paths = adapter.paths.filter(([first = '']) => Object.hasOwn(whole.fields, first));
    return paths.length === 0 ? { report: whole, holders: [] } : reportOn(paths, whole.fields, faults);
  }
  if (!Array.isArray(events)) {
    fault(faults, 'usage_incomplete', 'events', 'must be a list');
    return undefined;
  }
  if (adapter.mergeEvents !== undefined) {
    const report = adapter.mergeEvents(events.filter(isFields).map((fields) => ({ fields, path: '', faults })));
    return report && { report, holders: [] };
  }
  for (let index = events.length - 1; index >= 0; index -= 1) {
    const event: unknown = events[index];
    const found = isFields(event) ? reportOn(adapter.paths, event, faults) : undefined;
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The object on the first of the paths that leads to one. */
function reportOn(paths: UsageAdapter['paths'], fields: Report['fields'], faults: Faults): Found | undefined {
  for (const path of paths) {
    const { report, holders } = trailAlong(path, fields, faults);
    if (report !== undefined) return { report, holders };
  }
  return undefined;
}

/** What stands along a path. */
interface Trail {
  /** The objects on the way, the first included; the last one that is there may lack the next. */
  readonly holders: readonly Report[];
  /** The object at its end; undefined where it is not there. */
  readonly report: Report | undefined;
}

function trailAlong(path: readonly string[], fields: Report['fields'], faults: Faults): Trail {
  const holders: Report[] = [];
  let value: unknown = fields;
  for (const name of path) {
    if (!isFields(value)) return { holders, report: undefined };
    holders.push({ fields: value, path: '', faults });
    value = Object.hasOwn(value, name) ? value[name] : undefined;
  }
  return { holders, report: reportOf(value, '', faults) };
}
