// A quote as a request states it. Its own file because a call and usage may come together or alone, and usage alone has to say more.
import type { QuoteRequest } from '../../gen/budgetd/v1/price_pb.ts';
import type { CallToPrice, UsageToPrice } from '../../kernel/price.ts';
import { type ApiRefusal, invalidFields } from '../api-refusal.ts';
import { unitProblem } from './budget-fields.ts';
import { checkInstant } from './instants.ts';
import { checkModelCall, nameOf } from './model-call.ts';
import type { Problems } from './problems.ts';
import { checkUsage } from './usage.ts';

/** What is asked. */
export interface Quote {
  readonly call: CallToPrice | undefined;
  readonly usage: UsageToPrice | undefined;
  /** The model that served; set where there is usage and no call. */
  readonly served: { readonly provider: string; readonly model: string } | undefined;
  readonly unit: string;
  readonly atMs: number;
}

const UNIT_DEFAULT = 'USD';

/** Checks it; `nowMs` is the time of one that names none. */
export function checkQuote(request: QuoteRequest, nowMs: number): Quote | ApiRefusal {
  const problems: Problems = [];
  const { modelCall, usage: reported } = request;
  if (modelCall === undefined && reported === undefined) {
    problems.push({ field: 'model_call', description: 'is required where there is no usage' });
  }
  const call = modelCall && checkModelCall(problems, 'model_call', modelCall);
  const usage = reported && checkUsage(problems, 'usage', reported);
  if (usage?.kind === 'refusal' && problems.length === 0) return usage;
  const isAlone = call === undefined && reported !== undefined;
  if (isAlone && reported.served === undefined) {
    problems.push({ field: 'usage.served', description: 'is required where there is no model_call' });
  }
  const unit = request.unit === '' ? UNIT_DEFAULT : request.unit;
  const description = unitProblem(unit);
  if (description !== undefined) problems.push({ field: 'unit', description });
  const atMs = checkInstant(problems, 'at_time', request.atTime) ?? nowMs;
  if (problems.length > 0) return invalidFields(problems);
  return {
    call,
    usage: usage?.kind === 'usage' ? usage : undefined,
    served: isAlone && reported.served !== undefined ? nameOf(reported.served) : undefined,
    unit,
    atMs,
  };
}
