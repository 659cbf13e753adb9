// Load by unary calls, a number of them in flight at any moment.
import { type ClientHttp2Session, connect } from 'node:http2';
import { type LoadPlan, type LoadReport, Meter } from './load.ts';
import { callUnary } from './unary-call.ts';
import { readReservationId, reserveRequest, settleRequest } from './wire.ts';

async function worker(session: ClientHttp2Session, plan: LoadPlan, meter: Meter, no: number): Promise<void> {
  for (let i = 0; !meter.over; i++) {
    const budget = plan.budgets[(no + i * plan.inFlight) % plan.budgets.length] as string;
    let sentMs = performance.now();
    meter.sent += 1;
    const reserved = await callUnary(session, 'Reserve', reserveRequest(budget, `${plan.keyPrefix}-${no}-${i}`, 1));
    meter.answer(sentMs, reserved.refusal, plan.mode === 'reserve');
    if (plan.mode === 'reserve' || reserved.refusal !== undefined) continue;
    sentMs = performance.now();
    meter.sent += 1;
    const settled = await callUnary(session, 'Settle', settleRequest(readReservationId(reserved.body), 's', 1));
    meter.answer(sentMs, settled.refusal, true);
  }
}

async function run(plan: LoadPlan): Promise<LoadReport> {
  const session = connect(`http://${plan.address}`);
  const meter = new Meter(plan);
  await Promise.all(Array.from({ length: plan.inFlight }, (_, no) => worker(session, plan, meter, no)));
  session.close();
  return meter.report();
}

process.once('message', (plan: LoadPlan) => {
  run(plan).then(
    (report) => process.send?.(report, () => process.disconnect()),
    (error: unknown) => {
      process.stderr.write(`${String(error)}\n`);
      process.exit(1);
    },
  );
});
