// Model calls and usage as requests state them: what pricing gets, every field that is wrong by its path in the contract, and what
// counts as another request.
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { isRefusal } from '../../../src/api/api-refusal.ts';
import { extendCommand, reserveCommand, settleCommand } from '../../../src/api/validate/reservation-commands.ts';
import {
  MediaKind,
  type ModelCallSchema,
  ServerToolKind,
  type UsageSchema,
} from '../../../src/gen/budgetd/v1/model_call_pb.ts';
import {
  ExtendRequestSchema,
  ReserveRequestSchema,
  SettleRequestSchema,
} from '../../../src/gen/budgetd/v1/reservation_pb.ts';
import type { ReservationId } from '../../../src/kernel/names.ts';
import { USAGE_KINDS } from '../../../src/pricing/usage/normalise-usage.ts';

type CallInit = Exclude<MessageInitShape<typeof ModelCallSchema>, { $typeName: string }>;
type UsageInit = Exclude<MessageInitShape<typeof UsageSchema>, { $typeName: string }>;

const origin = { actor: 'tester', newReservationId: () => '06fk2xw8q40000000001' as ReservationId };
const reservationId = 'acme:06fk2xw8q40000000001';
const idempotencyKey = 'k-1';
const GPT = { provider: 'openai', model: 'gpt-4o' };
const CALL: CallInit = { candidates: [GPT], size: { case: 'requestBytes', value: 9n } };

const reserveOf = (call: CallInit, more: MessageInitShape<typeof ReserveRequestSchema> = {}) =>
  reserveCommand(
    create(ReserveRequestSchema, { budget: 'acme', idempotencyKey, modelCall: call, ...more } as never),
    origin,
  );
const extendOf = (call: CallInit, more: MessageInitShape<typeof ExtendRequestSchema> = {}) =>
  extendCommand(
    create(ExtendRequestSchema, { reservationId, idempotencyKey, modelCall: call, ...more } as never),
    origin,
  );
const settleOf = (usage: UsageInit, more: MessageInitShape<typeof SettleRequestSchema> = {}) =>
  settleCommand(
    create(SettleRequestSchema, {
      reservationId,
      idempotencyKey,
      cost: { case: 'usage', value: usage },
      ...more,
    } as never),
    origin,
  );

function refused(outcome: object) {
  if (!isRefusal(outcome)) throw new Error('it was not refused');
  return outcome;
}
// With its key, so that a repeat can be told from a new request.
function refusedReport(outcome: ReturnType<typeof settleOf>) {
  if (isRefusal(outcome)) throw new Error('it has no key');
  expect(outcome.key).toBeDefined();
  return refused(outcome.usage ?? {});
}
const fieldsOf = (outcome: object): string[] => (refused(outcome).fields ?? []).map(({ field }) => field);
const fingerprintOf = (outcome: object): string => {
  if (!('key' in outcome)) throw new Error(`refused: ${JSON.stringify(outcome)}`);
  return (outcome.key as { fingerprint: string }).fingerprint;
};

describe('a model call', () => {
  it('is what pricing takes, and nothing that was not said', () => {
    expect(reserveOf(CALL)).toMatchObject({ maxMicros: 0n, minMicros: 0n, price: undefined });
    expect(reserveOf(CALL)).toHaveProperty('call', { kind: 'call', call: { candidates: [GPT], requestBytes: 9 } });
    const all: CallInit = {
      candidates: [GPT, { provider: 'openrouter', model: 'google/gemini' }],
      size: { case: 'inputTokens', value: 0n },
      media: [{ kind: MediaKind.AUDIO, maxInputTokens: 0n }],
      serverTools: [{ kind: ServerToolKind.WEB_SEARCH, maxUses: 3n, maxInputTokens: 4n }],
      hasTools: true,
      maxOutputTokens: 9_007_199_254_740_991n,
      choices: 128,
      audioOutput: true,
      cacheTtl: '1h',
      serviceTier: 'flex',
      inferenceGeo: 'us',
    };
    expect(extendOf(all)).toHaveProperty('call', {
      kind: 'call',
      call: {
        candidates: all.candidates,
        inputTokens: 0,
        media: [{ kind: 'audio', inputTokensMax: 0 }],
        serverTools: [{ kind: 'web_search', usesMax: 3, inputTokensMax: 4 }],
        hasTools: true,
        outputTokensMax: 9_007_199_254_740_991,
        choices: 128,
        audioOutput: true,
        cacheTtl: '1h',
        serviceTier: 'flex',
        inferenceGeo: 'us',
      },
    });
  });

  it.each<[string, CallInit]>([
    ['candidates', { candidates: [] }],
    ['candidates', { candidates: Array.from({ length: 33 }, () => GPT) }],
    ['candidates[1].provider', { candidates: [GPT, { provider: 'OpenAI', model: 'x' }] }],
    ['candidates[0].model', { candidates: [{ provider: 'openai', model: 'gpt 4o' }] }],
    ['size', { size: { case: undefined } }],
    ['request_bytes', { size: { case: 'requestBytes', value: -1n } }],
    ['request_bytes', { size: { case: 'requestBytes', value: 2n ** 53n } }],
    ['input_tokens', { size: { case: 'inputTokens', value: 2n ** 62n } }],
    ['media', { media: Array.from({ length: 1_001 }, () => ({ kind: MediaKind.IMAGE, maxInputTokens: 1n })) }],
    ['media[0].kind', { media: [{ maxInputTokens: 1n }] }],
    ['media[0].kind', { media: [{ kind: 99 as never, maxInputTokens: 1n }] }],
    ['media[0].max_input_tokens', { media: [{ kind: MediaKind.VIDEO }] }],
    ['media[0].max_input_tokens', { media: [{ kind: MediaKind.VIDEO, maxInputTokens: -1n }] }],
    ['server_tools[0].kind', { serverTools: [{ maxUses: 1n, maxInputTokens: 1n }] }],
    ['server_tools[0].max_uses', { serverTools: [{ kind: ServerToolKind.OTHER, maxInputTokens: 1n }] }],
    ['server_tools[0].max_input_tokens', { serverTools: [{ kind: ServerToolKind.OTHER, maxUses: 1n }] }],
    ['max_output_tokens', { maxOutputTokens: -1n }],
    ['max_output_tokens', { maxOutputTokens: 2n ** 53n }],
    ['choices', { choices: 0 }],
    ['choices', { choices: 129 }],
    ['cache_ttl', { cacheTtl: 'x'.repeat(65) }],
    ['service_tier', { serviceTier: 'a\nb' }],
    ['inference_geo', { inferenceGeo: 'é'.repeat(33) }],
  ])('names %s, case %#', (field, changes) => {
    const call = { ...CALL, ...changes };
    expect(fieldsOf(reserveOf(call))).toEqual([`model_call.${field}`]);
    expect(fieldsOf(extendOf(call))).toEqual([`model_call.${field}`]);
    const alternatives = [{ label: 'a', modelCall: call }];
    expect(fieldsOf(reserveOf(CALL, { alternatives } as never))).toEqual([`alternatives[0].model_call.${field}`]);
  });

  it('stands alone: no amount, no least amount, and the same for alternatives', () => {
    expect(fieldsOf(reserveOf(CALL, { maxMicros: 0n }))).toEqual(['model_call']);
    expect(fieldsOf(reserveOf(CALL, { minMicros: 0n }))).toEqual(['min_micros']);
    expect(fieldsOf(extendOf(CALL, { addMicros: 1n, minMicros: 1n }))).toEqual(['model_call', 'min_micros']);
    const both = [{ label: 'a', maxMicros: 1n, modelCall: CALL }];
    expect(fieldsOf(reserveOf(CALL, { alternatives: both } as never))).toEqual(['alternatives[0].model_call']);
    // An amount above that of a call is not known to be so before the call is priced.
    expect(reserveOf(CALL, { alternatives: [{ label: 'a', maxMicros: 2n ** 62n }] })).toMatchObject({
      alternatives: [{ label: 'a', maxMicros: 2n ** 62n }],
    });
  });

  it('is another request with any other field', () => {
    const changes: CallInit[] = [
      {},
      { candidates: [{ provider: 'openai', model: 'gpt-4' }] },
      { candidates: [GPT, { provider: 'openai', model: 'gpt-4' }] },
      { candidates: [{ provider: 'openai', model: 'gpt-4' }, GPT] },
      { size: { case: 'inputTokens', value: 9n } },
      { size: { case: 'requestBytes', value: 10n } },
      { media: [{ kind: MediaKind.IMAGE, maxInputTokens: 1n }] },
      { media: [{ kind: MediaKind.AUDIO, maxInputTokens: 1n }] },
      { serverTools: [{ kind: ServerToolKind.OTHER, maxUses: 1n, maxInputTokens: 11n }] },
      { serverTools: [{ kind: ServerToolKind.OTHER, maxUses: 11n, maxInputTokens: 1n }] },
      { hasTools: true },
      { audioOutput: true },
      { maxOutputTokens: 4_096n },
      { choices: 1 },
      { cacheTtl: '5m' },
      { serviceTier: '5m' },
      { inferenceGeo: '5m' },
    ];
    const prints = changes.map((change) => fingerprintOf(reserveOf({ ...CALL, ...change })));
    expect(
      new Set([
        ...prints,
        fingerprintOf(
          reserveCommand(create(ReserveRequestSchema, { budget: 'acme', idempotencyKey, maxMicros: 0n }), origin),
        ),
      ]).size,
    ).toBe(changes.length + 1);
    expect(fingerprintOf(reserveOf(CALL))).toBe(prints[0]);
    const alternative = (change: CallInit) =>
      fingerprintOf(reserveOf(CALL, { alternatives: [{ label: 'a', modelCall: { ...CALL, ...change } }] } as never));
    expect(alternative({})).not.toBe(alternative({ choices: 1 }));
  });
});

const USAGE = { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 };
const raw = (json: string, kind = 'openai_chat'): UsageInit => ({ report: { case: 'raw', value: { kind, json } } });
const reportOf = (outcome: object) => {
  if (!('usage' in outcome)) throw new Error(`refused: ${JSON.stringify(outcome)}`);
  return (outcome.usage as { report: { usage: object; usageOfOtherTtl: object; served: object | undefined } }).report;
};

describe('usage', () => {
  it('is taken apart before it is decided on, once for either life of a cache', () => {
    const openai = reportOf(settleOf(raw(JSON.stringify(USAGE))));
    expect(openai).toMatchObject({ served: undefined, usage: { uncachedInput: 100n, output: 10n } });
    expect(openai.usageOfOtherTtl).toBe(openai.usage);
    const anthropic = { input_tokens: 5, cache_creation_input_tokens: 7, cache_read_input_tokens: 0, output_tokens: 1 };
    expect(reportOf(settleOf({ ...raw(JSON.stringify(anthropic), 'anthropic_messages'), served: GPT }))).toMatchObject({
      served: GPT,
      usage: { cacheWrite5m: 7n, cacheWrite1h: 0n },
      usageOfOtherTtl: { cacheWrite5m: 0n, cacheWrite1h: 7n },
    });
    const counts = { uncachedInput: 3n, cacheWrite1h: 4n, fileSearches: 2n, inferenceGeo: 'us' };
    expect(reportOf(settleOf({ report: { case: 'counts', value: counts }, serviceTier: 'flex' }))).toMatchObject({
      usage: { uncachedInput: 3n, cacheWrite1h: 4n, fileSearches: 2n, callerTier: 'flex', inferenceGeos: ['us'] },
    });
  });

  it.each<[string, UsageInit]>([
    ['usage.report', {}],
    ['usage.raw.kind', raw('{}', '')],
    ['usage.raw.kind', raw('{}', 'toString')],
    ['usage.raw.json', raw('')],
    ['usage.raw.json', raw(`"${'x'.repeat(65_535)}"`)],
    ['usage.served.provider', { ...raw('{}'), served: { provider: '', model: 'x' } }],
    ['usage.served.model', { ...raw('{}'), served: { provider: 'openai', model: '' } }],
    ['usage.service_tier', { ...raw('{}'), serviceTier: '\u0000' }],
    ['usage.library_provider', { ...raw('{}'), libraryProvider: 'x'.repeat(65) }],
    ['usage.counts.inference_geo', { report: { case: 'counts', value: { output: 1n, inferenceGeo: 'a\tb' } } }],
  ])('names %s, case %#', (field, usage) => {
    expect(refused(settleOf(usage))).toMatchObject({ reason: 'INVALID_FIELD', fields: [{ field }] });
  });

  it.each<[string, string, UsageInit]>([
    ['usage_incomplete', 'usage.raw.json', raw('{"prompt_tokens": 1')],
    ['usage_incomplete', 'usage.raw.json', raw('[1]')],
    ['usage_missing', 'usage.raw.json', raw('null')],
    ['usage_missing', 'usage.raw.json', raw('{"usage": null}')],
    ['usage_incomplete', 'usage.raw.json.completion_tokens', raw('{"prompt_tokens": 1}')],
    ['invalid_count', 'usage.raw.json.prompt_tokens', raw('{"prompt_tokens": -1, "completion_tokens": 2}')],
    ['inconsistent_usage', 'usage.raw.json.total_tokens', raw(JSON.stringify({ ...USAGE, total_tokens: 1 }))],
    ['invalid_count', 'usage.counts.cache_write_5m', { report: { case: 'counts', value: { cacheWrite5m: -1n } } }],
    ['usage_missing', 'usage.counts', { report: { case: 'counts', value: { webSearches: 1n } } }],
  ])('is refused as %s of %s, case %#', (why, field, usage) => {
    const refusal = refusedReport(settleOf(usage));
    expect(refusal).toMatchObject({ reason: 'USAGE_INVALID', fields: [{ field }], unpriced: { why, field } });
    expect(refusal.message).toContain('usage_unknown');
  });

  it('names invalid fields of the request before it judges a report', () => {
    expect(refused(settleOf(raw('null'), { outcome: 9 as never })).reason).toBe('INVALID_FIELD');
  });

  it('knows every kind, and holds what is hostile in bounds', () => {
    for (const kind of USAGE_KINDS) expect(refusedReport(settleOf(raw('null', kind))).reason).toBe('USAGE_INVALID');
    for (const json of ['['.repeat(65_536), `{"usage":${'{"usage":'.repeat(6_000)}1${'}'.repeat(6_001)}`, '1e999']) {
      expect(refusedReport(settleOf(raw(json))).reason).toBe('USAGE_INVALID');
    }
    const polluted = settleOf(raw('{"__proto__": {"prompt_tokens": 1, "completion_tokens": 1}}'));
    expect(refusedReport(polluted).unpriced?.why).toBe('usage_missing');
  });

  it('is another request with any other field, a report by its text', () => {
    const json = JSON.stringify(USAGE);
    const counts = (value: object): UsageInit => ({ report: { case: 'counts', value } });
    const usages: UsageInit[] = [
      raw(json),
      raw(`${json} `),
      raw(json, 'openai_compatible'),
      { ...raw(json), served: GPT },
      { ...raw(json), serviceTier: 'flex' },
      { ...raw(json), libraryProvider: 'flex' },
      counts({ uncachedInput: 1n }),
      counts({ output: 1n }),
      counts({ output: 1n, inferenceGeo: 'us' }),
    ];
    expect(new Set(usages.map((usage) => fingerprintOf(settleOf(usage)))).size).toBe(usages.length);
    expect(fingerprintOf(settleOf(raw(json)))).toBe(fingerprintOf(settleOf(raw(json))));
  });
});
