// Model calls and usage as options. Its own file because every command that prices a call or its usage must take the same words.
import type { MessageInitShape } from '@bufbuild/protobuf';
import { type Command, Option } from 'commander';
import {
  MediaKind,
  type ModelCallSchema,
  type ModelNameSchema,
  ServerToolKind,
  type UsageCounts,
  type UsageSchema,
} from '../../gen/budgetd/v1/model_call_pb.ts';
import { USAGE_KINDS } from '../../pricing/usage/normalise-usage.ts';
import { WHOLE_MAX } from '../../pricing/whole.ts';
import { readText } from '../read-text.ts';
import { meaningOf, wordOption } from './closed-word.ts';
import { parseBig, parseCount } from './options.ts';
import { UsageError } from './usage-error.ts';

type ModelNameInit = MessageInitShape<typeof ModelNameSchema>;
type ModelCallInit = Exclude<MessageInitShape<typeof ModelCallSchema>, { readonly $typeName: string }>;
type UsageInit = MessageInitShape<typeof UsageSchema>;

const MEDIA_KINDS = {
  image: MediaKind.IMAGE,
  audio: MediaKind.AUDIO,
  video: MediaKind.VIDEO,
  document: MediaKind.DOCUMENT,
  reference: MediaKind.REFERENCE,
} as const;

const TOOL_KINDS = {
  web_search: ServerToolKind.WEB_SEARCH,
  file_search: ServerToolKind.FILE_SEARCH,
  other: ServerToolKind.OTHER,
} as const;

/** Values of the options of a call, as parsed. */
export interface CallOptions {
  readonly model?: readonly ModelNameInit[];
  readonly bytes?: bigint;
  readonly inputTokens?: bigint;
  readonly media?: NonNullable<ModelCallInit['media']>;
  readonly serverTool?: NonNullable<ModelCallInit['serverTools']>;
  readonly hasTools?: boolean;
  readonly maxOutput?: bigint;
  readonly choices?: number;
  readonly audioOutput?: boolean;
  readonly cacheTtl?: string;
  readonly serviceTier?: string;
  readonly inferenceGeo?: string;
}

/** Counts of usage by their word, which is the contract's. */
const COUNTS = {
  uncached_input: 'uncachedInput',
  cache_read: 'cacheRead',
  cache_write_5m: 'cacheWrite5m',
  cache_write_1h: 'cacheWrite1h',
  audio_input: 'audioInput',
  audio_cache_read: 'audioCacheRead',
  output: 'output',
  audio_output: 'audioOutput',
  web_searches: 'webSearches',
  file_searches: 'fileSearches',
} as const satisfies Readonly<Record<string, keyof UsageCounts>>;

type TypedCounts = { readonly [Name in (typeof COUNTS)[keyof typeof COUNTS]]?: bigint };

/** Values of the options of usage, as parsed. */
export interface UsageOptions {
  readonly count?: TypedCounts;
  readonly usageFile?: string;
  readonly kind?: string;
  readonly served?: ModelNameInit;
  readonly servedTier?: string;
  readonly library?: string;
}

/** Adds the options of a call. */
export function addCallOptions(command: Command): Command {
  const parsed = <T>(flags: string, text: string, parse: (value: string, previous: T) => T) =>
    new Option(flags, text).argParser(parse);
  return command
    .addOption(
      parsed(
        '--model <provider/model>',
        'the model call to price instead of an amount; once more for each model that it may fall back to',
        (text: string, previous: readonly ModelNameInit[] | undefined) => [...(previous ?? []), parseModelName(text)],
      ),
    )
    .addOption(new Option('--bytes <n>', 'size of its request in bytes, media apart').argParser(parseTokens))
    .addOption(new Option('--input-tokens <n>', 'instead of --bytes: tokens that you vouch for').argParser(parseTokens))
    .addOption(
      new Option('--max-output <n>', 'most output tokens (default: as the service says)').argParser(parseTokens),
    )
    .addOption(new Option('--choices <n>', 'choices that are asked for (default: 1)').argParser(parseCount))
    .addOption(
      parsed(
        '--media <kind=tokens>',
        `media and the most that it counts for: ${Object.keys(MEDIA_KINDS).join(', ')}; may be given several times`,
        (text: string, previous: CallOptions['media']) => [...(previous ?? []), parseMedia(text)],
      ),
    )
    .addOption(
      parsed(
        '--server-tool <kind=uses,tokens>',
        `a tool that the provider runs: ${Object.keys(TOOL_KINDS).join(', ')}; may be given several times`,
        (text: string, previous: CallOptions['serverTool']) => [...(previous ?? []), parseTool(text)],
      ),
    )
    .option('--has-tools', 'the request defines tools')
    .option('--audio-output', 'audio may come back')
    .option('--cache-ttl <life>', 'life of the caches that it asks for: 5m, 1h')
    .option('--service-tier <tier>', 'service tier that it asks for, such as flex or priority')
    .option('--inference-geo <place>', 'where inference must run, such as us');
}

/** The call that the options describe; undefined where they name no model. Throws UsageError for what they don't say. */
export function modelCallOf(options: CallOptions): ModelCallInit | undefined {
  const { model, bytes, inputTokens } = options;
  if (model === undefined) {
    const stray = CALL_OPTIONS.find((name) => options[name] !== undefined);
    if (stray !== undefined) throw new UsageError(`--${flagOf(stray)} goes with --model`);
    return undefined;
  }
  if ((bytes === undefined) === (inputTokens === undefined)) {
    throw new UsageError('--model goes with --bytes or --input-tokens');
  }
  return {
    candidates: [...model],
    size:
      bytes === undefined ? { case: 'inputTokens', value: inputTokens ?? 0n } : { case: 'requestBytes', value: bytes },
    media: [...(options.media ?? [])],
    serverTools: [...(options.serverTool ?? [])],
    hasTools: options.hasTools === true,
    ...(options.maxOutput === undefined ? {} : { maxOutputTokens: options.maxOutput }),
    ...(options.choices === undefined ? {} : { choices: options.choices }),
    audioOutput: options.audioOutput === true,
    cacheTtl: options.cacheTtl ?? '',
    serviceTier: options.serviceTier ?? '',
    inferenceGeo: options.inferenceGeo ?? '',
  };
}

const CALL_OPTIONS = [
  'bytes',
  'inputTokens',
  'media',
  'serverTool',
  'hasTools',
  'maxOutput',
  'choices',
  'audioOutput',
  'cacheTtl',
  'serviceTier',
  'inferenceGeo',
] as const satisfies readonly (keyof CallOptions)[];

const flagOf = (name: string): string => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

/** Adds the options of usage. */
export function addUsageOptions(command: Command): Command {
  return command
    .option(
      '--usage-file <file>',
      'the usage that the provider reported, as JSON: alone, in its response, or in {"events": […]} of a stream; - reads standard input',
    )
    .addOption(
      new Option(
        '--count <name=n>',
        `instead of a report what the call used, each token and search in one count: ${Object.keys(COUNTS).join(', ')}; may be given several times`,
      ).argParser(parseUsageCount),
    )
    .addOption(wordOption('--kind <kind>', 'whose report it is (docs/usage.md)', USAGE_KINDS))
    .addOption(
      new Option('--served <provider/model>', 'the model that answered (default: the only one)').argParser(
        parseModelName,
      ),
    )
    .option(
      '--served-tier <tier>',
      'the service tier that served it, where the report names none whose price is known (docs/usage.md)',
    )
    .option('--library <provider>', 'with kind ai_sdk_v5 and up: the provider behind the library');
}

/** The usage that the options name; undefined where they name none. Throws UsageError. */
export function usageOf(options: UsageOptions): UsageInit | undefined {
  const { usageFile, count, kind, served, servedTier = '', library = '' } = options;
  if (usageFile !== undefined && count !== undefined) throw new UsageError('give either --usage-file or --count');
  const isReport = usageFile !== undefined;
  const strayOf = (names: readonly (keyof UsageOptions)[]) => names.find((name) => options[name] !== undefined);
  const ofReports = isReport ? undefined : strayOf(['kind', 'library']);
  if (ofReports !== undefined) throw new UsageError(`--${flagOf(ofReports)} goes with --usage-file`);
  const ofBoth = isReport || count !== undefined ? undefined : strayOf(['served', 'servedTier']);
  if (ofBoth !== undefined) throw new UsageError(`--${flagOf(ofBoth)} goes with --usage-file or --count`);
  const beside = { ...(served === undefined ? {} : { served }), serviceTier: servedTier, libraryProvider: library };
  if (count !== undefined) return { report: { case: 'counts', value: count }, ...beside };
  if (usageFile === undefined) return undefined;
  if (kind === undefined) throw new UsageError('--usage-file goes with --kind');
  return { report: { case: 'raw', value: { kind, json: textOf(usageFile) } }, ...beside };
}

function parseUsageCount(text: string, previous: TypedCounts | undefined): TypedCounts {
  const [word = '', value = '', ...more] = text.split('=');
  if (!text.includes('=') || more.length > 0)
    throw new UsageError(`"${text}" is not name=n, with a name of ${Object.keys(COUNTS).join(', ')}`);
  const name = meaningOf<keyof TypedCounts>(word, COUNTS);
  if (previous?.[name] !== undefined) throw new UsageError(`${word} is given twice`);
  return { ...previous, [name]: parseTokens(value) };
}

function textOf(file: string): string {
  try {
    return readText(file === '-' ? 0 : file);
  } catch (error) {
    throw new UsageError(`${file} can't be read: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** Reads a provider and a model, which may itself hold slashes. Throws UsageError. */
export function parseModelName(text: string): ModelNameInit {
  const slash = text.indexOf('/');
  if (slash < 1 || slash === text.length - 1) {
    throw new UsageError(`"${text}" is not provider/model: write the provider too, as in openai/gpt-4o`);
  }
  return { provider: text.slice(0, slash), model: text.slice(slash + 1) };
}

function parseTokens(text: string): bigint {
  return parseBig(text, BigInt(WHOLE_MAX));
}

function parseMedia(text: string) {
  const [kind = '', tokens = '', ...more] = text.split('=');
  if (!text.includes('=') || more.length > 0)
    throw new UsageError(`"${text}" is not kind=tokens, with a kind of ${Object.keys(MEDIA_KINDS).join(', ')}`);
  return { kind: meaningOf(kind, MEDIA_KINDS), maxInputTokens: parseTokens(tokens) };
}

function parseTool(text: string) {
  const [, kind, uses = '', tokens = ''] = /^([^=]*)=([^,]*),([^,]*)$/.exec(text) ?? [];
  if (kind === undefined)
    throw new UsageError(`"${text}" is not kind=uses,tokens, with a kind of ${Object.keys(TOOL_KINDS).join(', ')}`);
  return {
    kind: meaningOf(kind, TOOL_KINDS),
    maxUses: parseTokens(uses),
    maxInputTokens: parseTokens(tokens),
  };
}
