// What it costs to price a model call and usage: the same load by amounts and by calls of one model, on one tree each in one service, in
// several short turns each, of which the middle one counts: the machine's drift hits both.
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

// One row, as nearly all models have.
async function addPrice(address: string): Promise<void> {
  const rates = { input: 2_500_000n, output: 10_000_000n, cacheRead: 1_250_000n };
  await callOnce(address, PriceService.method.addPrice, { row: { ...MODEL, rates, source: 'a benchmark' } });
}

/** Turns of each load; odd, so that there is a middle one. */
const TURNS = 5;

function middleOf<Report extends { readonly count: number }>(reports: readonly Report[]): Report {
  return reports.toSorted((a, b) => a.count - b.count)[(reports.length - 1) / 2] as Report;
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
      await addPrice(address);
      const encoded = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64');
      const priced = {
        call: encoded(toBinary(ModelCallSchema, CALL)),
        usage: encoded(toBinary(UsageSchema, USAGE)),
      };
      // Cycles first: what Reserves leave held lapses a minute later, and that would be measured with them.
      const loads = [
        ['cycle', CYCLES_BY_AMOUNT, CYCLES_BY_CALL],
        ['reserve', BY_AMOUNT, BY_CALL],
      ] as const;
      const figures: Figure[] = [];
      for (const [mode, byAmount, byCall] of loads) {
        const turns: Record<'amounts' | 'calls', Awaited<ReturnType<typeof measure>>[]> = { amounts: [], calls: [] };
        const shared = { address, countMs: countMs / TURNS, inFlight: 512, streams: 1, mode };
        for (let turn = 0; turn < TURNS; turn++) {
          turns.amounts.push(await measure(databaseUrl, 'session', { ...shared, budgets: [leafOf('amounts')] }));
          turns.calls.push(await measure(databaseUrl, 'session', { ...shared, budgets: [leafOf('calls')], priced }));
        }
        figures.push(loadFigure({ ...context, figures }, byAmount, middleOf(turns.amounts), byAmount));
        figures.push(loadFigure({ ...context, figures }, byCall, middleOf(turns.calls), byAmount));
      }
      return figures;
    } finally {
      await service.stop();
    }
  },
};
