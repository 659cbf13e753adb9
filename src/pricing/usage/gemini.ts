// Gemini and Vertex: cached tokens inside the prompt, tool prompts beside it, thoughts beside the candidates, unless the total
// says that they are inside. Source: js-genai, types.ts.
import type { UsageAdapter } from './adapter.ts';
import { NO_USAGE, splitInput, splitOutput } from './buckets.ts';
import { children, count, countOrZero, fault, field, need, type Report, refuse, require, word } from './report.ts';
import type { Usage } from './usage.ts';

/** Reads usageMetadata. */
export function geminiUsage(report: Report): Usage {
  const [prompt = 0n] = need(report, ['promptTokenCount']);
  const tools = countOrZero(report, 'toolUsePromptTokenCount');
  const isCacheSplit = field(report, 'cacheTokensDetails') !== undefined;
  const candidates = modalities(report, 'candidatesTokensDetails');
  refuse(report, candidates.otherTokens > 0n, 'candidatesTokensDetails', 'holds more than text and audio');
  return {
    ...NO_USAGE,
    ...splitInput(report, {
      total: prompt + tools,
      cacheRead: countOrZero(report, 'cachedContentTokenCount'),
      cacheWrite5m: 0n,
      cacheWrite1h: 0n,
      audio:
        modalities(report, 'promptTokensDetails').audioTokens +
        modalities(report, 'toolUsePromptTokensDetails').audioTokens,
      audioCacheRead: isCacheSplit ? modalities(report, 'cacheTokensDetails').audioTokens : undefined,
    }),
    ...splitOutput(report, outputOf(report, prompt + tools), candidates.audioTokens),
  };
}

/** All output, thoughts once. A reply without candidates has none, if the total agrees. */
function outputOf(report: Report, input: bigint): bigint {
  const candidates = count(report, 'candidatesTokenCount');
  const thoughts = countOrZero(report, 'thoughtsTokenCount');
  const total = count(report, 'totalTokenCount');
  if (candidates === undefined && total === undefined) {
    fault(report.faults, 'usage_incomplete', 'candidatesTokenCount', 'must be there, or the total');
  }
  const spoken = candidates ?? 0n;
  if (total === undefined || total === input + spoken + thoughts) return spoken + thoughts;
  require(report, total === input + spoken, 'totalTokenCount', 'must be the sum of its parts');
  require(report, thoughts <= spoken, 'candidatesTokenCount', 'must hold the thoughts');
  return spoken;
}

/** Tokens of audio, and of what is neither audio nor text, in a list of details. */
function modalities(report: Report, name: string): { readonly audioTokens: bigint; readonly otherTokens: bigint } {
  let audioTokens = 0n;
  let otherTokens = 0n;
  for (const detail of children(report, name)) {
    const modality = word(detail, 'modality');
    const tokens = countOrZero(detail, 'tokenCount');
    if (modality === 'AUDIO') audioTokens += tokens;
    else if (modality !== 'TEXT') otherTokens += tokens;
  }
  return { audioTokens, otherTokens };
}

/** Counts of usageMetadata. */
export const GEMINI_COUNTS: readonly string[] = [
  'promptTokenCount',
  'promptTokensDetails.tokenCount',
  'toolUsePromptTokenCount',
  'toolUsePromptTokensDetails.tokenCount',
  'cachedContentTokenCount',
  'cacheTokensDetails.tokenCount',
  'candidatesTokenCount',
  'candidatesTokensDetails.tokenCount',
  'thoughtsTokenCount',
  'totalTokenCount',
];

/** Gemini and Vertex. */
export const gemini: UsageAdapter = {
  paths: [['usageMetadata']],
  body: 'generated',
  counts: GEMINI_COUNTS,
  normalise: (report) => geminiUsage(report),
};
