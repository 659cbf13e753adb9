// OpenRouter: OpenAI's shape and what the call cost, which is preferred. With a key of one's own `cost` is OpenRouter's share only
// and the provider's comes on top; otherwise upstream_inference_cost repeats it. Source: openrouter.ai, usage accounting.
import { type Decimal, decimalOf, tenTo } from '../exact.ts';
import type { UsageAdapter } from './adapter.ts';
import { searchesPassedOn } from './anthropic-messages.ts';
import { CHAT_COUNTS, COST_COUNTS, cacheReadOf, chatUsage, HIT_COUNTS } from './openai-chat.ts';
import { child, fault, field, type Report } from './report.ts';
import type { ReportedCost, Usage } from './usage.ts';

/** Most places of a cost: a double in dollars has no more that mean anything, and each costs time. */
const PLACES_MAX = 24;

/** Highest cost of one call that is believed, in dollars. */
const COST_USD_MAX = 1_000_000n;

/** OpenRouter. */
export const openRouterChat: UsageAdapter = {
  paths: [['usage']],
  body: 'chat',
  counts: [...CHAT_COUNTS, ...HIT_COUNTS, ...COST_COUNTS, 'server_tool_use'],
  normalise: (report) => {
    const usage: Usage = {
      ...chatUsage(report, 'inside', { cacheRead: cacheReadOf(report) }),
      ...searchesPassedOn(report),
    };
    const reportedCost = costOf(report);
    return reportedCost === undefined ? usage : { ...usage, reportedCost };
  },
};

/** The true cost; undefined where the report has none that can be relied on. Zero without a key of one's own may be a gap. */
function costOf(report: Report): ReportedCost | undefined {
  const cost = dollars(report, 'cost');
  if (cost === undefined) return undefined;
  if (!isByok(report)) return cost.scaled > 0n ? cost : undefined;
  const upstream = dollars(child(report, 'cost_details'), 'upstream_inference_cost');
  if (upstream === undefined) {
    fault(report.faults, 'usage_incomplete', 'cost_details.upstream_inference_cost', 'must be there with is_byok');
    return undefined;
  }
  return sumOf(cost, upstream);
}

function isByok(report: Report): boolean {
  const value = field(report, 'is_byok');
  if (value === undefined || typeof value === 'boolean') return value ?? false;
  fault(report.faults, 'usage_incomplete', 'is_byok', 'must be true or false');
  return false;
}

function dollars(report: Report | undefined, name: string): Decimal | undefined {
  const value = field(report, name);
  if (value === undefined || report === undefined) return undefined;
  const decimal = decimalOf(value);
  if (decimal !== undefined && decimal.places <= PLACES_MAX && decimal.scaled <= COST_USD_MAX * tenTo(decimal.places)) {
    return decimal;
  }
  fault(report.faults, 'invalid_count', name, `must be an amount of dollars, 0 to ${COST_USD_MAX}`);
  return undefined;
}

function sumOf(a: Decimal, b: Decimal): Decimal {
  const places = Math.max(a.places, b.places);
  return { scaled: a.scaled * tenTo(places - a.places) + b.scaled * tenTo(places - b.places), places };
}
