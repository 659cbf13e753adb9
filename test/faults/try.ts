import { Random } from './random.ts';
import { ALL_SCENARIOS } from './all-scenarios.ts';
import { startPostgres, stopPostgres } from '../support/postgres.ts';
await startPostgres();
const want = new RegExp(process.argv[2] ?? '');
for (const s of ALL_SCENARIOS.filter((x) => want.test(x.name))) {
  const t = performance.now();
  try { const r = await s.run(new Random(Number(process.argv[3] ?? 1))); console.log('OK', s.name, Math.round(performance.now() - t), JSON.stringify(r)); }
  catch (e) { console.log('FAIL', s.name, Math.round(performance.now() - t), e); }
}
await stopPostgres();
