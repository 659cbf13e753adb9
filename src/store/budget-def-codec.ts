// A budget's definition as JSON with named fields: in the journal wherever a definition changes, and in the projected
// table, where people read it. Rare, so it is written for reading; what most budgets don't have is left out.
import type { BudgetDef, ChildShare, LimitDef, PeriodTopUp, WindowDef } from '../kernel/budget.ts';
import type { BudgetPath } from '../kernel/names.ts';
import {
  listOf,
  onExpiryOf,
  overrunOf,
  rateFields,
  rateOf,
  shapeMember,
  shapeOf,
  sharesMembers,
  sharesOf,
  templateMember,
  templateOf,
} from './budget-terms-codec.ts';
import { alertAtOf, enforcementMembers, enforcementOf } from './enforcement-codec.ts';
import { amountOf, amountText, arrayOf, integerOf, integerText, objectOf, quote, stringOf } from './json-text.ts';
import { modelsMember, modelsOf } from './models-codec.ts';
import { ruleFields, ruleOf } from './window-codec.ts';

/** A definition as JSON text. */
export function budgetDefText(def: BudgetDef): string {
  const rates = def.rates.map((rate) => `{"no":${integerText(rate.no)},${rateFields(rate)}}`);
  return (
    `{"no":${integerText(def.no)},"path":${quote(def.path)},"parentNo":${def.parentNo === undefined ? 'null' : integerText(def.parentNo)},"kind":${quote(def.kind)},` +
    `"owner":${quote(def.owner)},"unit":${quote(def.unit)},"uncapped":${def.uncapped},` +
    `"windows":[${def.windows.map(windowText).join(',')}],"limits":[${def.limits.map(limitText).join(',')}],` +
    `"limitNoMax":${integerText(def.limitNoMax)},"windowNoMax":${integerText(def.windowNoMax)},` +
    `${rates.length === 0 ? '' : `"rates":[${rates.join(',')}],`}"rateNoMax":${integerText(def.rateNoMax)}${shapeMember(def.shape)},` +
    `"onExpiry":"${def.onExpiry}","overrun":"${def.overrun}"${enforcementMembers(def.enforcement, def.alertAt)}` +
    `${sharesMembers(def)}${childSharesMember(def)}${modelsMember(def.models)}${templateMember(def.childTemplate)},` +
    `"suspended":${def.suspended},"closed":${def.closed},"revision":${integerText(def.revision)},` +
    `"createMs":${integerText(def.createMs)},"updateMs":${integerText(def.updateMs)}}`
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
    rates: listOf(def['rates']).map((rate) => {
      const fields = objectOf(rate);
      return { no: integerOf(fields['no']), ...rateOf(fields) };
    }),
    windowNoMax: integerOf(def['windowNoMax']),
    rateNoMax: integerOf(def['rateNoMax']),
    shape: shapeOf(def['shape']),
    onExpiry: onExpiryOf(def['onExpiry']),
    overrun: overrunOf(def['overrun']),
    enforcement: enforcementOf(def['enforcement']),
    alertAt: alertAtOf(def['alertAt']),
    ...sharesOf(def),
    childShares: listOf(def['childShares']).map(childShareOf),
    models: modelsOf(def['models']),
    childTemplate: templateOf(def['childTemplate']),
    suspended: def['suspended'] === true,
    closed: def['closed'] === true,
    revision: integerOf(def['revision']),
    createMs: integerOf(def['createMs']),
    updateMs: integerOf(def['updateMs']),
  };
}

function windowText({ no, rule, firstPeriodMs, childNo }: WindowDef): string {
  const first = firstPeriodMs === 0 ? '' : `,"firstPeriodMs":${integerText(firstPeriodMs)}`;
  return `{"no":${integerText(no)},${ruleFields(rule)}${first}${childNo === undefined ? '' : `,"childNo":${integerText(childNo)}`}}`;
}

function windowOf(value: unknown): WindowDef {
  const window = objectOf(value);
  const { firstPeriodMs: first, childNo } = window;
  return {
    no: integerOf(window['no']),
    rule: ruleOf(window),
    firstPeriodMs: first === undefined ? 0 : integerOf(first),
    ...(childNo === undefined ? {} : { childNo: integerOf(childNo) }),
  };
}

function childSharesMember({ childShares }: BudgetDef): string {
  if (childShares.length === 0) return '';
  const texts = childShares.map(
    ({ childNo, floorMicros, sharePercent }) =>
      `{"childNo":${integerText(childNo)},"floor":${amountText(floorMicros)}${sharePercent === undefined ? '' : `,"percent":${integerText(sharePercent)}`}}`,
  );
  return `,"childShares":[${texts.join(',')}]`;
}

function childShareOf(value: unknown): ChildShare {
  const { childNo, floor, percent } = objectOf(value);
  return {
    childNo: integerOf(childNo),
    floorMicros: amountOf(floor),
    sharePercent: percent === undefined ? undefined : integerOf(percent),
  };
}

function limitText({ no, name, windowNo, amountMicros, topUp }: LimitDef): string {
  const more =
    topUp === undefined
      ? ''
      : `,"topUp":{"periodMs":${integerText(topUp.periodMs)},"add":${amountText(topUp.addMicros)}}`;
  return `{"no":${integerText(no)},"name":${quote(name)},"windowNo":${integerText(windowNo)},"amount":${amountText(amountMicros)}${more}}`;
}

function limitOf(value: unknown): LimitDef {
  const limit = objectOf(value);
  return {
    no: integerOf(limit['no']),
    name: stringOf(limit['name']),
    windowNo: integerOf(limit['windowNo']),
    amountMicros: amountOf(limit['amount']),
    topUp: topUpOf(limit['topUp']),
  };
}

function topUpOf(value: unknown): PeriodTopUp | undefined {
  if (value === undefined) return undefined;
  const topUp = objectOf(value);
  return { periodMs: integerOf(topUp['periodMs']), addMicros: amountOf(topUp['add']) };
}
