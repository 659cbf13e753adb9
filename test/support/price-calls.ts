// What tests of PriceService over a real client begin with: a row, a call that it prices, and how answers are read.
import { BadRequestSchema } from '../../src/gen/google/rpc/error_details_pb.ts';
import { type FailedCall, findDetail } from './api-servers.ts';

/** A row as AddPrice takes it. */
export const gpt = {
  provider: 'openai',
  model: 'gpt-4o',
  rates: { input: 2_500_000n, output: 10_000_000n },
  source: 'contract',
};

/** A call of its model. */
export const gptCall = {
  candidates: [gpt],
  size: { case: 'inputTokens' as const, value: 1_000n },
  maxOutputTokens: 100n,
};

/** An instant as messages have it. */
export const at = (ms: number) => ({ seconds: BigInt(Math.floor(ms / 1_000)), nanos: (ms % 1_000) * 1_000_000 });

/** The answer of a call that has to succeed. */
export function done<T extends object>(reply: T | FailedCall): T {
  if ('types' in reply) throw new Error(`${reply.code} ${reply.reason}: ${reply.message}`);
  return reply;
}

/** The fields that a refusal names. */
export function fieldsOf(reply: object): string[] {
  if (!('types' in reply)) throw new Error('it was not refused');
  const { status } = reply as FailedCall;
  return (findDetail(status, BadRequestSchema)?.fieldViolations ?? []).map(({ field }) => field);
}
