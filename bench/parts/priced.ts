// What it costs to price a model call and usage: the same load by amounts and by calls of one model, on one tree each in one service, in
// turns, so that the machine's drift hits both.
import { create, toBinary } from '@bufbuild/protobuf';
import { ModelCallSchema, UsageSchema } from '../../src/gen/budgetd/v1/model_call_pb.ts';
import { PriceService } from '../../src/gen/budgetd/v1/price_pb.ts';
import { callOnce, startBenchService } from '../service.ts';
import { createTree, leafOf, loadFigure, measure } from './hot-tree.ts';
import type { Figure, Part } from './part.ts';

const BY_AMOUNT = 'Reserve, Session, 512 in flight, by amount';
const BY_CALL = 'Reserve, Session, 512 in flight, by model call';
const CYCLES_BY_AMOUNT = 'Reserve+Settle cycles, Session, 512 in flight, by amount';
const CYCLES_BY_CALL = 'Reserve+Settle cycles, Session, 512 in flight, by model call and usage';

const MODEL = { provider: 'bench', model: 'model' };

/** As an agent sends it: a model, bytes, a maximum; and what comes back. */
const CALL = create(ModelCallSchema, {
  candidates: [MODEL],
  size: { case: 'requestBytes', value: 12_000n },
  hasTools: true,
  maxOutputTokens: 1_000n,
});
const USAGE = create(UsageSchema, {
  report: {
    case: 'raw',
    value: {
      kind: 'openai_chat',
      json: JSON.stringify({
        prompt_tokens: 2_600,
        completion_tokens: 310,
        total_tokens: 2_910,
        prompt_tokens_details: { cached_tokens: 1_024, audio_tokens: 0 },
        completion_tokens_details: { reasoning_tokens: 128, audio_tokens: 0 },
      }),
    },
  },
  served: MODEL,
});

async function addPrices(address: string): Promise<void> {
  // Two tiers, as models with long prompts have.
  for (const [aboveInputTokens, times] of [
    [0n, 1n],
    [200_000n, 2n],
  ] as const) {
    const rates = { input: 2_500_000n * times, output: 10_000_000n * times, cacheRead: 250_000n * times };
    await callOnce(address, PriceService.method.addPrice, {
      row: { ...MODEL, aboveInputTokens, rates, source: 'a benchmark' },
    });
  }
}

/** See the head of this file. */
export const pricedPart: Part = {
  name: 'priced',
  what: 'model calls and usage reports against amounts; ratios are over amounts',
  async run(context) {
    const { databaseUrl, countMs } = context;
    const service = await startBenchService(databaseUrl);
    try {
      const { address } = service;
      await createTree(address, 'amounts');
      await createTree(address, 'calls');
      await addPrices(address);
      const encoded = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64');
      const priced = {
        call: encoded(toBinary(ModelCallSchema, CALL)),
        usage: encoded(toBinary(UsageSchema, USAGE)),
      };
      const loads = [
        // Cycles first: what Reserves leave held lapses a minute later, and that would be measured with them.
        [CYCLES_BY_AMOUNT, 'amounts', 'cycle', CYCLES_BY_AMOUNT],
        [CYCLES_BY_CALL, 'calls', 'cycle', CYCLES_BY_AMOUNT],
        [BY_AMOUNT, 'amounts', 'reserve', BY_AMOUNT],
        [BY_CALL, 'calls', 'reserve', BY_AMOUNT],
      ] as const;
      const figures: Figure[] = [];
      for (const [name, tree, mode, base] of loads) {
        const plan = { address, budgets: [leafOf(tree)], countMs, inFlight: 512, streams: 1, mode };
        const report = await measure(databaseUrl, 'session', { ...plan, ...(tree === 'calls' && { priced }) });
        figures.push(loadFigure({ ...context, figures }, name, report, base));
      }
      return figures;
    } finally {
      await service.stop();
    }
  },
};
