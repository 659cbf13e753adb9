// What a reservation says of prices, for people: what it pays for, what the caller has to send, and what was charged.
import { CostSource, type PricedUsage } from '../../gen/budgetd/v1/model_call_pb.ts';
import type { Reservation } from '../../gen/budgetd/v1/reservation_pb.ts';
import { formatAmount } from './amount.ts';
import type { Fact } from './facts.ts';

/** Enough of a hash to find its row. */
const HASH_CHARS = 12;

/** Facts on prices; none of a reservation by amount. */
export function priceFacts({ price, priced, unit }: Pick<Reservation, 'price' | 'priced' | 'unit'>): Fact[] {
  return [
    ...(price === undefined
      ? []
      : ([
          [
            'pays for',
            `${price.maxInputTokens} tokens in, ${price.maxOutputTokens} out${price.choices > 1 ? ` of each of ${price.choices} choices` : ''}`,
          ],
          ['to send', price.outputIsDefault ? `a maximum of ${price.maxOutputTokens} output tokens` : undefined],
        ] as const)),
    ['charged', priced && chargedText(priced, unit)],
  ];
}

function chargedText({ served, micros, source, rowHash }: PricedUsage, unit: string): string {
  const by = source === CostSource.REPORTED ? 'as the provider says' : `by row ${rowHash.slice(0, HASH_CHARS)}`;
  return `${formatAmount(micros, unit)} for ${served?.provider}/${served?.model}, ${by}`;
}
