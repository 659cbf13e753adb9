#!/usr/bin/env node
// Entry of budgetctl: gives the command line the real terminal, environment and clock, and the process its exit code.
import { runCommandLine } from './program.ts';
import { createTerminal } from './terminal.ts';

process.exitCode = await runCommandLine(process.argv.slice(2), {
  terminal: createTerminal(process.stdout, process.stderr, process.env),
  environment: process.env,
  nowMs: Date.now,
  // Loaded only when asked for: the verifier brings the database client along, which no other command needs.
  runVerify: async ({ log, ...options }) => {
    const { runVerify } = await import('../verify.ts');
    return runVerify({ ...options, log: (_level, message) => log(message) });
  },
});
