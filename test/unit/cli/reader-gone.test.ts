// The real budgetctl with an output that nobody reads any more, as in `budgetctl watch | head`.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';

it('ends as by SIGPIPE when whoever reads its output has gone, and prints no fault', async () => {
  const budgetctl = spawn(process.execPath, ['src/app/cli/main.ts', '--help'], { stdio: ['ignore', 'pipe', 'pipe'] });
  budgetctl.stdout.destroy();
  const [errors, [code]] = await Promise.all([text(budgetctl.stderr), once(budgetctl, 'close')]);
  expect({ code, errors }).toEqual({ code: 141, errors: '' });
}, 20_000);
