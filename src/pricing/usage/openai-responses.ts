// The Responses shape of OpenAI and xAI: every detail inside its total, reasoning too. In a stream it comes with
// response.completed, .incomplete or .failed. Source: openai-node, resources/responses/responses.ts.
import type { UsageAdapter } from './adapter.ts';
import { NO_USAGE, splitInput, splitOutput } from './buckets.ts';
import { COST_COUNTS } from './openai-chat.ts';
import {
  child,
  children,
  count,
  countOrZero,
  fault,
  hasList,
  need,
  type Report,
  refuse,
  require,
  word,
} from './report.ts';
import type { SearchCount, Usage } from './usage.ts';

function responsesUsage(report: Report): Usage {
  const [inputTokens = 0n, outputTokens = 0n] = need(report, ['input_tokens', 'output_tokens']);
  const input = child(report, 'input_tokens_details');
  const output = child(report, 'output_tokens_details');
  const cached = child(input, 'cached_tokens_details');
  const total = count(report, 'total_tokens');
  const isSum = total === undefined || total === inputTokens + outputTokens;
  require(report, isSum, 'total_tokens', 'must be the sum of its parts');
  const reasoning = countOrZero(output, 'reasoning_tokens');
  require(report, reasoning <= outputTokens, 'output_tokens', 'must hold the reasoning tokens');
  return {
    ...NO_USAGE,
    ...splitInput(report, {
      total: inputTokens,
      cacheRead: countOrZero(input, 'cached_tokens'),
      cacheWrite5m: countOrZero(input, 'cache_write_tokens'),
      cacheWrite1h: 0n,
      audio: countOrZero(input, 'audio_tokens'),
      audioCacheRead: count(cached, 'audio_tokens'),
    }),
    ...splitOutput(report, outputTokens, countOrZero(output, 'audio_tokens')),
  };
}

/** Tools whose runs are billed by what no count stands for: a container by the hour, another model's images. */
const BILLED_APART: ReadonlySet<string> = new Set(['code_interpreter_call', 'image_generation_call']);

/** What a web search may do that is not billed as one. Source: OpenAI's guide to web search. */
const READING: ReadonlySet<string> = new Set(['open_page', 'find_in_page']);

type Searches = Pick<Usage, SearchCount | 'untoldSearches'>;

/** Searches, of which a response lists every one in its output; a report alone tells of none. */
function searchesIn(around: Report | undefined): Searches {
  const untoldSearches: readonly SearchCount[] = ['webSearches', 'fileSearches'];
  if (!hasList(around, 'output')) return { webSearches: 0n, fileSearches: 0n, untoldSearches };
  let webSearches = 0n;
  let fileSearches = 0n;
  for (const item of children(around, 'output')) {
    const type = word(item, 'type') ?? '';
    refuse(item, BILLED_APART.has(type), 'type', 'is of a tool that is billed apart from tokens');
    if (type === 'file_search_call') fileSearches += 1n;
    if (type === 'web_search_call' && !READING.has(word(child(item, 'action'), 'type') ?? '')) webSearches += 1n;
  }
  return { webSearches, fileSearches, untoldSearches: [] };
}

/** Counts of the shape that responsesUsage reads. */
const RESPONSES_COUNTS: readonly string[] = [
  'input_tokens',
  'input_tokens_details.cached_tokens',
  'input_tokens_details.cache_write_tokens',
  'input_tokens_details.audio_tokens',
  'input_tokens_details.cached_tokens_details.audio_tokens',
  'output_tokens',
  'output_tokens_details.reasoning_tokens',
  'output_tokens_details.audio_tokens',
  'total_tokens',
];

/** OpenAI. */
export const openAiResponses: UsageAdapter = {
  paths: [['response', 'usage'], ['usage']],
  body: 'response',
  counts: [...RESPONSES_COUNTS, ...COST_COUNTS],
  normalise: (report, _, around) => ({ ...responsesUsage(report), ...searchesIn(around) }),
};

/** Runs that xAI tells of in its usage and that are no searches, but for calls of foreign tools, which cost tokens alone. */
const XAI_OTHER_RUNS = ['x_search_calls', 'code_interpreter_calls', 'image_generation_calls'] as const;

/** OpenAI lists searches in the output alone, where xAI counts them in the usage: without a count there may be none in the output. */
function needNoRuns(report: Report, around: Report | undefined): void {
  const { webSearches, fileSearches } = searchesIn(around);
  if (webSearches + fileSearches === 0n) return;
  const text = "must be there, since the output lists searches: this looks like OpenAI's, kind openai_responses";
  fault(report.faults, 'usage_incomplete', 'num_server_side_tools_used', text);
}

/** Searches of xAI: each kind of run has its count in the usage itself. Source: responses of api.x.ai. */
function xaiSearches(report: Report, around: Report | undefined): Searches {
  const runs = count(report, 'num_server_side_tools_used');
  const details = child(report, 'server_side_tool_usage_details');
  if (details === undefined) {
    refuse(report, runs !== undefined && runs > 0n, 'num_server_side_tools_used', 'is billed apart from tokens');
    if (runs === undefined) needNoRuns(report, around);
    const untoldSearches: readonly SearchCount[] = runs === undefined ? ['webSearches', 'fileSearches'] : [];
    return { webSearches: 0n, fileSearches: 0n, untoldSearches };
  }
  for (const name of XAI_OTHER_RUNS) {
    refuse(details, countOrZero(details, name) > 0n, name, 'is billed apart from tokens');
  }
  return {
    webSearches: countOrZero(details, 'web_search_calls'),
    fileSearches: countOrZero(details, 'file_search_calls') + countOrZero(details, 'document_search_calls'),
    untoldSearches: [],
  };
}

/** xAI: as OpenAI, with searches that it counts, and others that it bills by source. */
export const xaiResponses: UsageAdapter = {
  paths: [['response', 'usage'], ['usage']],
  body: 'response',
  counts: [...RESPONSES_COUNTS, 'num_sources_used', 'num_server_side_tools_used', 'server_side_tool_usage_details'],
  normalise: (report, _, around) => {
    refuse(report, countOrZero(report, 'num_sources_used') > 0n, 'num_sources_used', 'is billed apart from tokens');
    return { ...responsesUsage(report), ...xaiSearches(report, around) };
  },
};
