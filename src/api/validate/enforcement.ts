// How limits are applied, as requests state it: whole or, in an edit, single fields. Its own file because budgets and
// templates say it in the same words.
import type { Enforcement as EnforcementMessage, Kept as KeptMessage } from '../../gen/budgetd/v1/terms_pb.ts';
import type { Enforcement, Kept } from '../../kernel/enforcement.ts';
import { frameText, frameValue } from '../command-key.ts';
import { checkMode, checkOnExhaustion, checkSaidPriority } from './enums.ts';
import { checkMicros, type Problems } from './problems.ts';

const NOTHING_SAID: EnforcementMessage = {
  $typeName: 'budgetd.v1.Enforcement',
  mode: 0,
  toleranceMicros: 0n,
  onExhaustion: 0,
  kept: [],
};

// One for all: most budgets say nothing.
const ENFORCED: Enforcement = { mode: 'enforce', toleranceMicros: 0n, onExhaustion: 'block', kept: [] };

type Check = (problems: Problems, field: string, stated: EnforcementMessage) => Partial<Enforcement>;

const CHECKS: Readonly<Record<string, Check>> = {
  mode: (problems, field, { mode }) => ({ mode: checkMode(problems, field, mode) }),
  tolerance_micros: (problems, field, { toleranceMicros }) => ({
    toleranceMicros: checkMicros(problems, field, toleranceMicros),
  }),
  on_exhaustion: (problems, field, { onExhaustion }) => ({
    onExhaustion: checkOnExhaustion(problems, field, onExhaustion),
  }),
  kept: (problems, field, { kept }) => ({ kept: checkKept(problems, field, kept) }),
};

/** Names of its fields, as a mask names them behind "enforcement.". */
export const ENFORCEMENT_FIELDS: readonly string[] = Object.keys(CHECKS);

// One a class, so the number of classes bounds them.
function checkKept(problems: Problems, field: string, stated: readonly KeptMessage[]): Kept[] {
  const kept: Kept[] = [];
  for (const [index, { priority: value, micros: amount }] of stated.entries()) {
    const at = `${field}[${index}]`;
    const priority = checkSaidPriority(problems, `${at}.priority`, value);
    const micros = checkMicros(problems, `${at}.micros`, amount);
    if (priority === undefined) continue;
    if (priority === 'background') {
      problems.push({ field: `${at}.priority`, description: 'would be kept from nobody: name a higher class' });
    } else if (kept.some((each) => each.priority === priority)) {
      problems.push({ field: `${at}.priority`, description: 'must be named once' });
      // A long list of the same fault says nothing more.
      return kept;
    }
    kept.push({ priority, micros });
  }
  return kept;
}

/** The named fields; one that is unset has its default. */
export function checkEnforcementFields(
  problems: Problems,
  field: string,
  stated: EnforcementMessage | undefined,
  names: readonly string[],
): Partial<Enforcement> {
  const message = stated ?? NOTHING_SAID;
  const checked: Partial<Enforcement> = {};
  for (const name of names) {
    const check = CHECKS[name];
    if (check === undefined) throw new TypeError(`an enforcement has no field ${name}`);
    Object.assign(checked, check(problems, `${field}.${name}`, message));
  }
  return checked;
}

/** All of it; enforced without exception where nothing is said. */
export function checkEnforcement(
  problems: Problems,
  field: string,
  stated: EnforcementMessage | undefined,
): Enforcement {
  if (stated === undefined) return ENFORCED;
  return { ...ENFORCED, ...checkEnforcementFields(problems, field, stated, ENFORCEMENT_FIELDS) };
}

/** Frames it as the client set it: an empty one is not unset. */
export function frameEnforcement(stated: EnforcementMessage | undefined): string {
  if (stated === undefined) return '';
  const { mode, toleranceMicros, onExhaustion, kept } = stated;
  const framed =
    frameValue('mode', mode === 0 ? undefined : mode) +
    frameValue('tolerance', toleranceMicros === 0n ? undefined : toleranceMicros) +
    frameValue('exhausted', onExhaustion === 0 ? undefined : onExhaustion) +
    kept
      .map(({ priority, micros }) => frameText('kept', frameValue('class', priority) + frameValue('micros', micros)))
      .join('');
  return frameText('enforcement', `${framed}.`);
}
