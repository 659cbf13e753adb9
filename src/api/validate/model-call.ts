// Model calls as requests state them, as what pricing takes. What makes a call priceable is pricing's to say; this file only gives its
// problems the names that the request's fields have.
import {
  MediaKind,
  type ModelCall as ModelCallMessage,
  type ModelName,
  ServerToolKind,
} from '../../gen/budgetd/v1/model_call_pb.ts';
import type { CallToPrice } from '../../kernel/price.ts';
import {
  type Media,
  type ModelCall,
  modelCallProblems,
  type ModelName as Name,
  type ServerTool,
} from '../../pricing/model-call.ts';
import { frameText, frameValue } from '../command-key.ts';
import type { Problems } from './problems.ts';
import { textProblem } from './text.ts';

/** Longest word of a provider's, in bytes, as pricing has it in characters. */
const WORD_BYTES_MAX = 64;

type Writable<T> = { -readonly [Name in keyof T]: T[Name] };

/** Fields that are words of a provider's; most calls say none. */
const WORDS = ['cacheTtl', 'serviceTier', 'inferenceGeo'] as const;

const MEDIA_KINDS: ReadonlyMap<number, Media['kind']> = new Map([
  [MediaKind.IMAGE, 'image'],
  [MediaKind.AUDIO, 'audio'],
  [MediaKind.VIDEO, 'video'],
  [MediaKind.DOCUMENT, 'document'],
  [MediaKind.REFERENCE, 'reference'],
]);

const TOOL_KINDS: ReadonlyMap<number, ServerTool['kind']> = new Map([
  [ServerToolKind.WEB_SEARCH, 'web_search'],
  [ServerToolKind.FILE_SEARCH, 'file_search'],
  [ServerToolKind.OTHER, 'other'],
]);

/** A call with every field checked. It is plain data, as JSON has it: the journal may keep it. */
export function checkModelCall(problems: Problems, field: string, stated: ModelCallMessage): CallToPrice {
  const call: Writable<ModelCall> = { candidates: stated.candidates.map(nameOf) };
  const { size, media, serverTools, maxOutputTokens, choices } = stated;
  if (size.case === undefined) {
    problems.push({ field: `${field}.size`, description: 'is required: one of request_bytes and input_tokens' });
    call.inputTokens = 0;
  } else call[size.case] = Number(size.value);
  if (media.length > 0) call.media = media.map((each, at) => mediaOf(problems, `${field}.media[${at}]`, each));
  if (serverTools.length > 0) {
    call.serverTools = serverTools.map((each, at) => toolOf(problems, `${field}.server_tools[${at}]`, each));
  }
  if (stated.hasTools) call.hasTools = true;
  if (maxOutputTokens !== undefined) call.outputTokensMax = Number(maxOutputTokens);
  if (choices !== undefined) call.choices = choices;
  if (stated.audioOutput) call.audioOutput = true;
  for (const name of WORDS) {
    if (stated[name] === '') continue;
    const word = checkWord(problems, `${field}.${wireName(name)}`, stated[name]);
    if (word !== '') call[name] = word;
  }
  for (const problem of modelCallProblems(call)) {
    problems.push({ field: `${field}.${wireName(problem.field)}`, description: problem.text });
  }
  return { kind: 'call', call };
}

/** A word of a provider's, empty or not. */
export function checkWord(problems: Problems, field: string, word: string): string {
  const description = word === '' ? undefined : textProblem(word, 0, WORD_BYTES_MAX);
  if (description === undefined) return word;
  problems.push({ field, description });
  return '';
}

/** The name of a field in the contract, or a path of such. Bounds begin with their "max" there. */
export function wireName(path: string): string {
  return path.replace(/[A-Z]|\d+[a-z]/g, (part) => `_${part.toLowerCase()}`).replace(/([a-z_]+)_max$/, 'max_$1');
}

/** The name of a model without what generated messages have beside it. */
export function nameOf({ provider, model }: Name): Name {
  return { provider, model };
}

function mediaOf(problems: Problems, field: string, stated: ModelCallMessage['media'][number]): Media {
  const kind = kindOf(problems, field, stated.kind, MEDIA_KINDS) ?? 'reference';
  const { maxInputTokens } = stated;
  return maxInputTokens === undefined ? { kind } : { kind, inputTokensMax: Number(maxInputTokens) };
}

function toolOf(problems: Problems, field: string, stated: ModelCallMessage['serverTools'][number]): ServerTool {
  const tool: Writable<ServerTool> = { kind: kindOf(problems, field, stated.kind, TOOL_KINDS) ?? 'other' };
  if (stated.maxUses !== undefined) tool.usesMax = Number(stated.maxUses);
  if (stated.maxInputTokens !== undefined) tool.inputTokensMax = Number(stated.maxInputTokens);
  return tool;
}

function kindOf<T>(problems: Problems, field: string, value: number, known: ReadonlyMap<number, T>): T | undefined {
  const kind = known.get(value);
  if (kind === undefined) {
    problems.push({ field: `${field}.kind`, description: value === 0 ? 'is required' : `has no value ${value}` });
  }
  return kind;
}

/** Frames a model's name. */
export function frameName(tag: string, name: ModelName | undefined): string {
  if (name === undefined) return '';
  return frameText(tag, `${frameText('provider', name.provider)}${frameText('model', name.model)};`);
}

/** Frames a call as the client set it: another order of its lists is another request. */
export function frameModelCall(call: ModelCallMessage | undefined): string {
  if (call === undefined) return '';
  // Piece by piece, without lists in between: it is framed for every call.
  let lists = '';
  for (const name of call.candidates) lists += frameName('candidate', name);
  for (const each of call.media) lists += frameText('media', frameMedia(each));
  for (const each of call.serverTools) lists += frameText('tool', frameTool(each));
  const fields =
    lists +
    frameValue(call.size.case ?? '', call.size.value) +
    frameValue('tools', call.hasTools) +
    frameValue('output', call.maxOutputTokens) +
    frameValue('choices', call.choices) +
    frameValue('audio', call.audioOutput) +
    frameText('ttl', call.cacheTtl) +
    frameText('tier', call.serviceTier) +
    frameText('geo', call.inferenceGeo);
  return frameText('call', fields);
}

const frameMedia = ({ kind, maxInputTokens }: ModelCallMessage['media'][number]): string =>
  frameValue('kind', kind) + frameValue('input', maxInputTokens);

const frameTool = ({ kind, maxUses, maxInputTokens }: ModelCallMessage['serverTools'][number]): string =>
  frameValue('kind', kind) + frameValue('uses', maxUses) + frameValue('input', maxInputTokens);
