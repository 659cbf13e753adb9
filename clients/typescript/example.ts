// Reserve, work, settle. Run beside a running service: npx node clients/typescript/example.ts
import { randomUUID } from 'node:crypto';
import { createClient } from './src/create-client.ts';
import { refusalOf } from './src/refusal-of.ts';

const server = process.env['BUDGETD_SERVER'] ?? '127.0.0.1:50051';
const client = createClient({ baseUrl: `http://${server}`, token: process.env['BUDGETD_TOKEN'] });
const print = (line: string) => process.stdout.write(`${line}\n`);

/** Stands for the real work: it may spend what the hold allows, and says what it did spend. */
async function work(allowedMicros: bigint): Promise<bigint> {
  return (allowedMicros * 7n) / 10n;
}

try {
  // The same key and the same request: a second run gets the same answer and makes no second budget.
  await client.budgets.createBudget({
    budget: { budget: 'example', limits: [{ amountMicros: 1_000_000n }] },
    idempotencyKey: 'create-example',
  });

  // One key for one step of work. A retry of this step sends the same key, and never reserves twice.
  const { reservation } = await client.reservations.reserve({
    budget: 'example',
    idempotencyKey: randomUUID(),
    maxMicros: 250_000n, // 0.25 USD at the most
    minMicros: 100_000n, // less than 0.10 USD is of no use
    ttl: { seconds: 60n },
    holder: 'example.ts',
  });
  if (reservation === undefined) throw new Error('a grant without a reservation');
  print(`granted ${reservation.grantedMicros} micros: ${reservation.reservationId}`);

  const actualMicros = await work(reservation.grantedMicros);

  const settled = await client.reservations.settle({
    reservationId: reservation.reservationId,
    idempotencyKey: 'settle',
    cost: { case: 'actualMicros', value: actualMicros },
  });
  print(`settled ${settled.reservation?.settledMicros}, released ${settled.reservation?.releasedMicros}`);
  print(`available ${settled.availability?.availableMicros} ${settled.availability?.unit}-micros`);
} catch (error) {
  const refusal = refusalOf(error);
  if (refusal === undefined) throw error;
  print(`refused: ${refusal.reason} ${JSON.stringify(refusal.metadata)}`);
  print(refusal.retryAfterMs === undefined ? 'waiting will not help' : `retry after ${refusal.retryAfterMs} ms`);
  process.exitCode = 1;
} finally {
  client.close();
}
