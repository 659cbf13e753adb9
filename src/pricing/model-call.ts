// What a caller says about a model call before it is made, and what is wrong with it. Whatever the caller can't bound is
// refused here, so that an estimate is an upper bound or none at all.
import { type FieldProblem, isModelId, isProviderId } from './price-row.ts';
import { isText, isWhole } from './whole.ts';

/** One model at one provider. */
export interface ModelName {
  /** Provider id: "openai". */
  readonly provider: string;
  /** Model id exactly as the request names it, or an alias that the price book knows. */
  readonly model: string;
}

/**
 * Content that the bytes of the request don't bound. `reference` is whatever the provider fetches itself: a URL, a file id, a
 * stored prompt, an earlier response, cached content.
 */
export type MediaKind = 'image' | 'audio' | 'video' | 'document' | 'reference';

/** One piece of such content. */
export interface Media {
  readonly kind: MediaKind;
  /** Tokens that it counts for at the most; required. */
  readonly inputTokensMax?: number;
}

/** A tool that the provider runs by itself during the call. */
export interface ServerTool {
  readonly kind: 'web_search' | 'file_search' | 'other';
  /** Times that it may run at the most; required. Runs of `other` are charged by tokens alone. */
  readonly usesMax?: number;
  /** Tokens that all its runs may add to the input at the most, the prompt read again between runs included; required. */
  readonly inputTokensMax?: number;
}

/** A model call, as far as its price depends on it. All counts are whole numbers. */
export interface ModelCall {
  /** Every model that the route can reach, fallbacks included: 1 to CANDIDATES_MAX. */
  readonly candidates: readonly ModelName[];
  /** Size of the whole request in UTF-8 bytes, tool definitions included. Exactly one of this and inputTokens. */
  readonly requestBytes?: number;
  /** Input tokens of the whole request, media and server tools apart, that the caller vouches for: nothing is added to it. */
  readonly inputTokens?: number;
  /** Media of the request, at most MEDIA_MAX; default none. */
  readonly media?: readonly Media[];
  /** Whether the request defines tools: the provider then adds a hidden prompt. Default false. */
  readonly hasTools?: boolean;
  /** Tools that the provider runs, at most SERVER_TOOLS_MAX; default none. */
  readonly serverTools?: readonly ServerTool[];
  /** Output tokens of one choice at the most, reasoning included; absent: the configured default, which the caller must send. */
  readonly outputTokensMax?: number;
  /** Choices (`n`, `candidateCount`), all of which are billed: 1 to CHOICES_MAX, default 1. */
  readonly choices?: number;
  /** Whether audio may come back. Default false. */
  readonly audioOutput?: boolean;
  /**
   * Life of the cache writes that the request asks for: "5m", "1h", "unknown" or any other text. Absent: it asks for none or names no
   * life, for which providers give five minutes. All others than that are bounded at twice the input rate or more.
   */
  readonly cacheTtl?: string;
  /** Service tier or speed that the request asks for, in the provider's words: "flex", "priority", "fast". Absent: standard. */
  readonly serviceTier?: string;
  /** Where inference must run, in the provider's words: "us". Absent: anywhere. */
  readonly inferenceGeo?: string;
}

/** Most candidates of a call: routes have a handful, and each costs a look-up. */
export const CANDIDATES_MAX = 32;

/** Most pieces of media of a call. */
export const MEDIA_MAX = 1_000;

/** Most server tools of a call. */
export const SERVER_TOOLS_MAX = 16;

/** Most choices of a call: the largest that a provider takes is 128. */
export const CHOICES_MAX = 128;

/** Longest word of a provider's: they have a dozen characters. */
const WORD_LENGTH_MAX = 64;

/** Everything that is wrong with a call; none if it can be priced. Asked for each call that comes: most make nothing but a list. */
export function modelCallProblems(call: ModelCall): readonly FieldProblem[] {
  const problems: FieldProblem[] = [];
  noteCandidates(problems, call.candidates);
  noteInput(problems, call);
  if (call.media !== undefined) noteMedia(problems, call.media);
  if (call.serverTools !== undefined) noteServerTools(problems, call.serverTools);
  noteOutput(problems, call);
  noteWord(problems, 'cacheTtl', call.cacheTtl);
  noteWord(problems, 'serviceTier', call.serviceTier);
  noteWord(problems, 'inferenceGeo', call.inferenceGeo);
  return problems;
}

function noteWord(problems: FieldProblem[], field: string, word: string | undefined): void {
  if (word === undefined || isText(word, WORD_LENGTH_MAX)) return;
  problems.push({ field, text: `must be 1 to ${WORD_LENGTH_MAX} characters` });
}

function noteCandidates(problems: FieldProblem[], candidates: readonly ModelName[]): void {
  if (candidates.length < 1 || candidates.length > CANDIDATES_MAX) {
    problems.push({ field: 'candidates', text: `must be 1 to ${CANDIDATES_MAX}` });
    return;
  }
  for (let index = 0; index < candidates.length; index += 1) {
    const { provider, model } = candidates[index] as ModelName;
    if (!isProviderId(provider)) {
      problems.push({ field: `candidates[${index}].provider`, text: 'must be a provider id' });
    }
    if (!isModelId(model)) problems.push({ field: `candidates[${index}].model`, text: 'must be a model id' });
  }
}

function noteInput(problems: FieldProblem[], { requestBytes, inputTokens }: ModelCall): void {
  if ((requestBytes === undefined) === (inputTokens === undefined)) {
    problems.push({ field: 'requestBytes', text: 'must be set, or inputTokens, and not both' });
  }
  if (requestBytes !== undefined && !isWhole(requestBytes)) problems.push(notWhole('requestBytes'));
  if (inputTokens !== undefined && !isWhole(inputTokens)) problems.push(notWhole('inputTokens'));
}

function noteMedia(problems: FieldProblem[], media: readonly Media[]): void {
  if (media.length > MEDIA_MAX) {
    problems.push({ field: 'media', text: `must be at most ${MEDIA_MAX}` });
    return;
  }
  media.forEach(({ kind, inputTokensMax }, index) => {
    const field = `media[${index}].inputTokensMax`;
    if (inputTokensMax === undefined) {
      problems.push({ field, text: `must be set: bytes do not bound ${kind} content` });
    } else if (!isWhole(inputTokensMax)) problems.push(notWhole(field));
  });
}

function noteServerTools(problems: FieldProblem[], serverTools: readonly ServerTool[]): void {
  if (serverTools.length > SERVER_TOOLS_MAX) {
    problems.push({ field: 'serverTools', text: `must be at most ${SERVER_TOOLS_MAX}` });
    return;
  }
  serverTools.forEach((tool, index) => {
    for (const name of ['usesMax', 'inputTokensMax'] as const) {
      const value = tool[name];
      const field = `serverTools[${index}].${name}`;
      if (value === undefined) {
        problems.push({ field, text: 'must be set: the request does not bound what the provider runs' });
      } else if (!isWhole(value)) problems.push(notWhole(field));
    }
  });
}

function noteOutput(problems: FieldProblem[], { outputTokensMax, choices }: ModelCall): void {
  if (outputTokensMax !== undefined && !isWhole(outputTokensMax)) problems.push(notWhole('outputTokensMax'));
  if (choices !== undefined && !(isWhole(choices) && choices >= 1 && choices <= CHOICES_MAX)) {
    problems.push({ field: 'choices', text: `must be 1 to ${CHOICES_MAX}` });
  }
}

const notWhole = (field: string): FieldProblem => ({ field, text: 'must be a whole number from 0 to 2^53 - 1' });
