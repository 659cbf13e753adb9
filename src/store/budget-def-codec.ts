// A budget's definition as JSON with named fields: in the journal wherever a definition changes, and in the projected
// table, where people read it. Rare, so it is written for reading.
import type { BudgetDef, LimitDef, OnExpiry, WindowDef } from '../kernel/budget.ts';
import type { BudgetPath } from '../kernel/names.ts';
import { amountOf, amountText, arrayOf, integerOf, objectOf, quote, stringOf } from './json-text.ts';
import { CorruptJournalError } from './port.ts';

/** A definition as JSON text. */
export function budgetDefText(def: BudgetDef): string {
  const windows = def.windows.map((window) => `{"no":${window.no},"kind":${quote(window.rule.kind)}}`);
  const limits = def.limits.map(
    (limit) =>
      `{"no":${limit.no},"name":${quote(limit.name)},"windowNo":${limit.windowNo},"amount":${amountText(limit.amountMicros)}}`,
  );
  return (
    `{"no":${def.no},"path":${quote(def.path)},"parentNo":${def.parentNo ?? 'null'},"kind":${quote(def.kind)},` +
    `"owner":${quote(def.owner)},"unit":${quote(def.unit)},"uncapped":${def.uncapped},"windows":[${windows.join(',')}],` +
    `"limits":[${limits.join(',')}],"limitNoMax":${def.limitNoMax},"onExpiry":${quote(def.onExpiry)},` +
    `"suspended":${def.suspended},"closed":${def.closed},"revision":${def.revision},` +
    `"createMs":${def.createMs},"updateMs":${def.updateMs}}`
  );
}

/** Reads what budgetDefText wrote. Throws CorruptJournalError for anything else. */
export function budgetDefOf(value: unknown): BudgetDef {
  const def = objectOf(value);
  return {
    no: integerOf(def['no']),
    path: stringOf(def['path']) as BudgetPath,
    parentNo: def['parentNo'] === null ? undefined : integerOf(def['parentNo']),
    kind: stringOf(def['kind']),
    owner: stringOf(def['owner']),
    unit: stringOf(def['unit']),
    uncapped: def['uncapped'] === true,
    windows: arrayOf(def['windows']).map(windowOf),
    limits: arrayOf(def['limits']).map(limitOf),
    limitNoMax: integerOf(def['limitNoMax']),
    onExpiry: onExpiryOf(def['onExpiry']),
    suspended: def['suspended'] === true,
    closed: def['closed'] === true,
    revision: integerOf(def['revision']),
    createMs: integerOf(def['createMs']),
    updateMs: integerOf(def['updateMs']),
  };
}

function windowOf(value: unknown): WindowDef {
  const window = objectOf(value);
  if (window['kind'] !== 'lifetime') throw new CorruptJournalError(`unknown window: ${JSON.stringify(window)}`);
  return { no: integerOf(window['no']), rule: { kind: 'lifetime' } };
}

function limitOf(value: unknown): LimitDef {
  const limit = objectOf(value);
  return {
    no: integerOf(limit['no']),
    name: stringOf(limit['name']),
    windowNo: integerOf(limit['windowNo']),
    amountMicros: amountOf(limit['amount']),
  };
}

function onExpiryOf(value: unknown): OnExpiry {
  if (value === 'release' || value === 'charge' || value === 'charge_started') return value;
  throw new CorruptJournalError(`unknown on_expiry: ${JSON.stringify(value)}`);
}
