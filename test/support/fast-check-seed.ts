// One fast-check seed for a whole test run: printed before the run, and given back through FC_SEED to repeat it. It is its
// own file because the runner loads it twice: as global setup, to print, and in each test file's process, to set the seed.
import fc from 'fast-check';

// The main process draws the seed; test processes inherit it through the environment. fast-check takes 32-bit seeds.
process.env['FC_SEED'] ??= String(Math.floor(Math.random() * 2 ** 31));
const seed = Number(process.env['FC_SEED']);

fc.configureGlobal({ ...fc.readConfigureGlobal(), seed });

/** Prints the seed, before the first property of a project runs. */
export function setup(): void {
  process.stdout.write(`fast-check seed ${seed}; FC_SEED=${seed} runs the same cases again\n`);
}
