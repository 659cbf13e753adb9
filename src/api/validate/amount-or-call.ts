// What a Reserve or an Extend asks for: an amount, or the model call that it is for, never both. Its own file because the two share
// the rule and not the names of their fields.
import type { ModelCall } from '../../gen/budgetd/v1/model_call_pb.ts';
import type { CallToPrice } from '../../kernel/price.ts';
import { checkModelCall } from './model-call.ts';
import { checkMicros, checkMinMicros, type Problems } from './problems.ts';

/** What is asked for, in the kernel's words; amounts are 0 where it is a call. */
export interface AmountOrCall {
  readonly micros: bigint;
  readonly minMicros: bigint;
  readonly call: CallToPrice | undefined;
}

/** Exactly one of an amount, whose name is `field`, and a call; a call is granted whole, so that it has no least amount. */
export function checkAmountOrCall(
  problems: Problems,
  field: string,
  micros: bigint | undefined,
  { minMicros, modelCall }: { readonly minMicros?: bigint | undefined; readonly modelCall?: ModelCall | undefined },
): AmountOrCall {
  if (modelCall === undefined) {
    return {
      micros: checkMicros(problems, field, micros),
      minMicros: checkMinMicros(problems, 'min_micros', minMicros, field, micros),
      call: undefined,
    };
  }
  if (micros !== undefined) problems.push({ field: 'model_call', description: `must not be set with ${field}` });
  if (minMicros !== undefined) {
    problems.push({ field: 'min_micros', description: 'must not be set with model_call' });
  }
  return { micros: 0n, minMicros: 0n, call: checkModelCall(problems, 'model_call', modelCall) };
}
