// One fast-check seed for a whole test run: printed before the run, so that a failure can be had again. It is its own file
// because the runner loads it twice: as global setup, to print, and in each test file's process, to set the seed.
import fc from 'fast-check';

/**
 * The seed of a plain `npm test`: the same cases each time, so that a failure comes from a change and not from the draw.
 * FC_SEED=random draws a new one, which is how new cases are looked for.
 */
const FIXED_SEED = '20261130';

// The main process draws the seed; test processes inherit it through the environment. fast-check takes 32-bit seeds.
const asked = process.env['FC_SEED'] ?? FIXED_SEED;
process.env['FC_SEED'] = asked === 'random' ? String(Math.floor(Math.random() * 2 ** 31)) : asked;
const seed = Number(process.env['FC_SEED']);

fc.configureGlobal({ ...fc.readConfigureGlobal(), seed });

/** Prints the seed, before the first property of a project runs. */
export function setup(): void {
  process.stdout.write(`fast-check seed ${seed}; FC_SEED=random looks for other cases\n`);
}
