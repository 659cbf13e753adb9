// One call as each kind reports it: the same counts, and the same words for how it was served in every place that the kind has for them.
import { USAGE_KINDS, type UsageKind } from '../../src/pricing/usage/normalise-usage.ts';

/** What is reported: tokens, and words as fields by the names that a place has for them. */
export interface ReportedCall {
  readonly input: number;
  readonly output: number;
  readonly words: Readonly<Record<string, unknown>>;
}

/** A report with the words in one place. */
export interface PlacedReport {
  readonly kind: UsageKind;
  readonly place: string;
  readonly raw: unknown;
}

type Usage = Readonly<Record<string, unknown>>;

const chat = (input: number, output: number): Usage => ({ prompt_tokens: input, completion_tokens: output });
const snake = (input: number, output: number): Usage => ({ input_tokens: input, output_tokens: output });
const camel = (input: number, output: number): Usage => ({ inputTokens: input, outputTokens: output });

const COUNTS: Readonly<Record<UsageKind, (input: number, output: number) => Usage>> = {
  openai_chat: chat,
  openai_compatible: chat,
  openai_responses: snake,
  openai_agents_js: camel,
  azure_openai_chat: chat,
  azure_openai_responses: snake,
  anthropic_messages: snake,
  gemini: (input, output) => ({ promptTokenCount: input, candidatesTokenCount: output }),
  vertex_gemini: (input, output) => ({ promptTokenCount: input, candidatesTokenCount: output }),
  bedrock_converse: camel,
  mistral_chat: chat,
  deepseek_chat: chat,
  xai_chat: chat,
  xai_responses: snake,
  groq_chat: chat,
  cohere_v2_chat: (input, output) => ({ billed_units: snake(input, output) }),
  openrouter_chat: chat,
  ai_sdk_v5: camel,
  ai_sdk_v6: camel,
  ai_sdk_v7: camel,
  litellm: chat,
};

/** The usage of a kind in a response, with what stands beside it. */
function holding(kind: UsageKind, usage: Usage, beside: Usage = {}): Usage {
  if (kind === 'gemini' || kind === 'vertex_gemini') return { usageMetadata: usage, ...beside };
  if (kind === 'groq_chat') return { x_groq: { usage }, ...beside };
  if (kind === 'openai_responses') return { type: 'response.completed', response: { usage, ...beside } };
  return { usage, ...beside };
}

/** Reports of a call with its words inside the usage: of each kind, alone, in a response and in a stream. */
export function reportsInside({ input, output, words }: ReportedCall): readonly PlacedReport[] {
  return USAGE_KINDS.flatMap((kind): readonly PlacedReport[] => {
    const counts = COUNTS[kind](input, output);
    const usage = { ...counts, ...words };
    const places: PlacedReport[] = [
      { kind, place: 'alone', raw: usage },
      { kind, place: 'in a response', raw: holding(kind, usage) },
      kind === 'anthropic_messages'
        ? {
            kind,
            place: 'in a stream',
            raw: {
              events: [
                { type: 'message_start', message: { usage } },
                { type: 'message_delta', usage: counts },
              ],
            },
          }
        : { kind, place: 'in a stream', raw: { events: [{ type: 'start' }, holding(kind, usage)] } },
    ];
    if (!kind.startsWith('ai_sdk')) return places;
    const raw = { ...snake(input, output), ...words };
    const providerMetadata = { anthropic: { usage: raw } };
    return [
      ...places,
      { kind, place: 'in raw', raw: { ...counts, raw } },
      { kind, place: 'in the metadata beside the counts', raw: { ...counts, providerMetadata } },
      { kind, place: 'in the metadata beside the usage', raw: { usage: counts, providerMetadata } },
    ];
  });
}

/** The same with the words beside the usage: in its response, and in the event that has it. */
export function reportsBeside({ input, output, words }: ReportedCall): readonly PlacedReport[] {
  return USAGE_KINDS.filter((kind) => kind !== 'anthropic_messages').flatMap((kind): readonly PlacedReport[] => {
    const usage = COUNTS[kind](input, output);
    const whole = holding(kind, usage, words);
    const places: PlacedReport[] = [
      { kind, place: 'in a response', raw: whole },
      { kind, place: 'in the event', raw: { events: [{ type: 'start' }, whole] } },
    ];
    if (!kind.startsWith('ai_sdk')) return places;
    const providerMetadata = { openai: words };
    return [...places, { kind, place: 'in the metadata', raw: { usage, providerMetadata } }];
  });
}

/** The same with the words in another event of a stream than the report that counts: inside its usage or beside it, before or after. */
export function reportsElsewhere({ input, output, words }: ReportedCall): readonly PlacedReport[] {
  return USAGE_KINDS.flatMap((kind): readonly PlacedReport[] => {
    const counts = COUNTS[kind](input, output);
    const type = kind === 'anthropic_messages' ? { type: 'message_delta' } : {};
    const counting = { ...type, ...holding(kind, counts) };
    const beside = kind === 'openai_responses' ? { response: words } : words;
    const places: PlacedReport[] = [
      { kind, place: 'beside, before', raw: { events: [beside, counting] } },
      { kind, place: 'beside, after', raw: { events: [counting, beside] } },
    ];
    // What is put together of a stream of Messages has the words of all its events.
    if (kind === 'anthropic_messages') return places;
    const inside = holding(kind, { ...counts, ...words });
    return [...places, { kind, place: 'inside, before', raw: { events: [inside, counting] } }];
  });
}
