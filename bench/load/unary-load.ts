// Load by unary calls over plain HTTP/2: a grpc-js client would be the bottleneck before the server is.
import { type ClientHttp2Session, connect } from 'node:http2';
import { type LoadPlan, type LoadReport, Meter } from './load.ts';
import { readReservationId, reserveRequest, settleRequest } from './wire.ts';

const SERVICE = '/budgetd.v1.ReservationService';
const FRAME_HEADER_BYTES = 5;

interface Reply {
  readonly ok: boolean;
  readonly body: Buffer;
}

function call(session: ClientHttp2Session, method: string, request: Uint8Array): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const stream = session.request({
      ':method': 'POST',
      ':path': `${SERVICE}/${method}`,
      'content-type': 'application/grpc',
      te: 'trailers',
    });
    const chunks: Buffer[] = [];
    let status = '';
    stream.on('response', (headers) => {
      status = String(headers['grpc-status'] ?? status);
    });
    stream.on('trailers', (trailers) => {
      status = String(trailers['grpc-status'] ?? status);
    });
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    stream.on('error', reject);
    stream.on('end', () => resolve({ ok: status === '0', body: Buffer.concat(chunks).subarray(FRAME_HEADER_BYTES) }));
    const header = Buffer.alloc(FRAME_HEADER_BYTES);
    header.writeUInt32BE(request.byteLength, 1);
    stream.end(Buffer.concat([header, request]));
  });
}

async function worker(session: ClientHttp2Session, plan: LoadPlan, meter: Meter, no: number): Promise<void> {
  for (let i = 0; !meter.over; i++) {
    const budget = plan.budgets[(no + i * plan.inFlight) % plan.budgets.length] as string;
    let sentMs = performance.now();
    meter.sent += 1;
    const reserved = await call(session, 'Reserve', reserveRequest(budget, `${plan.keyPrefix}-${no}-${i}`, 1));
    meter.answer(sentMs, reserved.ok, plan.mode === 'reserve');
    if (plan.mode === 'reserve' || !reserved.ok) continue;
    sentMs = performance.now();
    meter.sent += 1;
    const settled = await call(session, 'Settle', settleRequest(readReservationId(reserved.body), 's', 1));
    meter.answer(sentMs, settled.ok, true);
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
