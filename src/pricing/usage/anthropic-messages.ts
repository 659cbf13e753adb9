// Anthropic's Messages, also as Bedrock and Vertex pass them on: three counts of input beside each other, cache writes split by the
// life of the cache, and iterations that the top level leaves out. Source: anthropic-sdk-typescript, resources/messages.
import type { UsageAdapter } from './adapter.ts';
import { NO_USAGE, splitWrites } from './buckets.ts';
import { COST_COUNTS } from './openai-chat.ts';
import {
  child,
  children,
  count,
  countOrZero,
  fault,
  field,
  need,
  type Report,
  refuse,
  reportOf,
  require,
  word,
} from './report.ts';
import type { Usage, UsageContext } from './usage.ts';

/** The counts of one object that has Anthropic's input and output fields: the whole, or an iteration. */
function countsOf(report: Report, context: UsageContext): Usage {
  const [uncachedInput = 0n, output = 0n] = need(report, ['input_tokens', 'output_tokens']);
  const split = child(report, 'cache_creation');
  const thinking = countOrZero(child(report, 'output_tokens_details'), 'thinking_tokens');
  require(report, thinking <= output, 'output_tokens', 'must hold the thinking tokens');
  return {
    ...NO_USAGE,
    uncachedInput,
    cacheRead: countOrZero(report, 'cache_read_input_tokens'),
    ...splitWrites(
      report,
      count(report, 'cache_creation_input_tokens'),
      count(split, 'ephemeral_5m_input_tokens'),
      count(split, 'ephemeral_1h_input_tokens'),
      context.cacheTtl,
    ),
    output,
  };
}

/** Reads the shape of Messages. */
export function messagesUsage(report: Report, context: UsageContext): Usage {
  const top = countsOf(report, context);
  const usage = addIterations(report, top, context);
  return { ...usage, webSearches: searchesOf(report), untoldSearches: [] };
}

/**
 * Web searches, billed one by one; fetches are not billed. Any other tool that ran on the provider's side is a fault, since it may
 * be billed by what no report holds.
 */
function searchesOf(report: Report): bigint {
  const tools = child(report, 'server_tool_use');
  for (const name of Object.keys(tools?.fields ?? {})) {
    if (tools === undefined || name === 'web_search_requests' || name === 'web_fetch_requests') continue;
    const runs = field(tools, name);
    refuse(tools, runs !== undefined && runs !== 0, 'other', 'is billed apart from tokens');
  }
  return countOrZero(tools, 'web_search_requests');
}

/** The same where it is a layer between that reports: only where there is a count it is known that it passed one on. */
export function searchesPassedOn(report: Report): Pick<Usage, 'webSearches' | 'untoldSearches'> {
  const webSearches = searchesOf(report);
  const isTold = field(child(report, 'server_tool_use'), 'web_search_requests') !== undefined;
  return { webSearches, untoldSearches: isTold ? ['fileSearches'] : ['webSearches', 'fileSearches'] };
}

/** The top level is the sum of the message iterations; compaction comes on top, and an advisor would be another model. */
function addIterations(report: Report, top: Usage, context: UsageContext): Usage {
  const iterations = children(report, 'iterations');
  if (iterations.length === 0) return top;
  let messageInput = 0n;
  let messageOutput = 0n;
  let usage = top;
  for (const iteration of iterations) {
    const type = word(iteration, 'type');
    const counts = countsOf(iteration, context);
    if (type === 'message') {
      messageInput += counts.uncachedInput;
      messageOutput += counts.output;
    } else if (type === 'compaction') usage = sumOf(usage, counts);
    else refuse(iteration, true, 'type', 'is not one that this model is billed for');
  }
  const isSame = messageInput === top.uncachedInput && messageOutput === top.output;
  require(report, isSame, 'iterations', 'must come to the counts of the whole');
  return usage;
}

function sumOf(a: Usage, b: Usage): Usage {
  return {
    ...a,
    uncachedInput: a.uncachedInput + b.uncachedInput,
    cacheRead: a.cacheRead + b.cacheRead,
    cacheWrite5m: a.cacheWrite5m + b.cacheWrite5m,
    cacheWrite1h: a.cacheWrite1h + b.cacheWrite1h,
    output: a.output + b.output,
  };
}

/**
 * message_start has the input and a placeholder for the output; each message_delta overwrites what it names, but for a 0 in the place of
 * a count of input: counts only grow, and whoever translates another stream into this one fills in zeros. Without a message_delta nobody
 * knows the output.
 */
function mergeEvents(events: readonly Report[]): Report | undefined {
  const fields = new Map<string, unknown>();
  let faults = events[0]?.faults;
  let hasDelta = false;
  for (const event of events) {
    const usage = child(event, 'usage') ?? child(child(event, 'message'), 'usage');
    if (usage === undefined) continue;
    faults = usage.faults;
    hasDelta ||= field(event, 'type') === 'message_delta';
    for (const [name, value] of Object.entries(usage.fields)) {
      const before = fields.get(name);
      const takesBack = name !== 'output_tokens' && value === 0 && typeof before === 'number' && before > 0;
      if (value !== null && !takesBack) fields.set(name, value);
    }
  }
  if (faults === undefined || fields.size === 0) return undefined;
  if (!hasDelta)
    fault(faults, 'usage_incomplete', 'events', 'must hold a message_delta: the output is not known before');
  return reportOf(Object.fromEntries(fields), '', faults);
}

/** Counts of the shape of Messages. */
export const MESSAGES_COUNTS: readonly string[] = [
  'input_tokens',
  'cache_read_input_tokens',
  'cache_creation_input_tokens',
  'cache_creation.ephemeral_5m_input_tokens',
  'cache_creation.ephemeral_1h_input_tokens',
  'output_tokens',
  'output_tokens_details.thinking_tokens',
  'server_tool_use',
  'iterations',
];

/** Anthropic. */
export const anthropicMessages: UsageAdapter = {
  paths: [['usage']],
  body: 'message',
  counts: [...MESSAGES_COUNTS, ...COST_COUNTS],
  mergeEvents,
  normalise: messagesUsage,
};
