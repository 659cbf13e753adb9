// The terms that a budget is made with, as a call states them or as the template of the budget above does. Its own file
// because templates hold templates, and the same field has to mean the same at every depth.
import type { Budget } from '../../gen/budgetd/v1/budget_pb.ts';
import type { BudgetTemplate } from '../../gen/budgetd/v1/terms_pb.ts';
import type { BudgetTerms } from '../../kernel/budget.ts';
import { frameText, frameValue } from '../command-key.ts';
import { checkAlertAt, frameAlertAt } from './alert-at.ts';
import { checkEnforcement, frameEnforcement } from './enforcement.ts';
import { checkOnExpiry, checkOverrun } from './enums.ts';
import { checkLimits, frameLimits } from './limits.ts';
import { checkModels, frameModels } from './models.ts';
import { checkMicros, type Problems } from './problems.ts';
import { checkRates, frameRates } from './rates.ts';
import { checkShape, frameShape } from './shape.ts';
import { checkSharePercent, checkWeight, frameShares } from './shares.ts';

const BUDGET_KIND = /^[A-Za-z0-9._-]{0,63}$/;
// Half of the levels that a path can have: enough for runs, their agents and their steps.
const NESTING_MAX = 8;

/** What the budget stands for; may be empty. */
export function checkBudgetKind(problems: Problems, field: string, kind: string): string {
  if (!BUDGET_KIND.test(kind)) {
    problems.push({ field, description: 'must have up to 63 characters of [A-Za-z0-9._-]' });
  }
  return kind;
}

/** Terms; `prefix` leads to their fields. */
export function checkTerms(problems: Problems, prefix: string, stated: Budget | BudgetTemplate): BudgetTerms {
  return termsAt(problems, prefix, stated, 0);
}

/** A template of a budget; undefined: none. */
export function checkTemplate(
  problems: Problems,
  field: string,
  template: BudgetTemplate | undefined,
): BudgetTerms | undefined {
  return templateAt(problems, field, template, 1);
}

function termsAt(problems: Problems, prefix: string, stated: Budget | BudgetTemplate, nesting: number): BudgetTerms {
  return {
    budgetKind: checkBudgetKind(problems, `${prefix}kind`, stated.kind),
    uncapped: stated.uncapped,
    limits: checkLimits(problems, `${prefix}limits`, stated.limits),
    rates: checkRates(problems, `${prefix}rates`, stated.rates),
    shape: checkShape(problems, `${prefix}shape`, stated.shape),
    onExpiry: checkOnExpiry(problems, `${prefix}on_expiry`, stated.onExpiry),
    overrun: checkOverrun(problems, `${prefix}overrun`, stated.overrun),
    enforcement: checkEnforcement(problems, `${prefix}enforcement`, stated.enforcement),
    alertAt: checkAlertAt(problems, `${prefix}alert_at`, stated.alertAt),
    weight: checkWeight(problems, `${prefix}weight`, stated.weight),
    floorMicros: checkMicros(problems, `${prefix}floor_micros`, stated.floorMicros),
    sharePercent: checkSharePercent(problems, `${prefix}share_percent`, stated.sharePercent),
    models: checkModels(problems, `${prefix}models`, stated.models),
    childTemplate: templateAt(problems, `${prefix}child_template`, stated.childTemplate, nesting + 1),
  };
}

function templateAt(
  problems: Problems,
  field: string,
  template: BudgetTemplate | undefined,
  nesting: number,
): BudgetTerms | undefined {
  if (template === undefined) return undefined;
  if (nesting <= NESTING_MAX) return termsAt(problems, `${field}.`, template, nesting);
  problems.push({ field, description: `must not be nested more than ${NESTING_MAX} deep` });
  return undefined;
}

/** Frames a template as the client set it: an empty one is not unset. Only for one that was checked. */
export function frameTemplate(template: BudgetTemplate | undefined): string {
  if (template === undefined) return '';
  const framed =
    frameText('kind', template.kind) +
    frameValue('uncapped', template.uncapped) +
    frameLimits(template.limits) +
    frameRates(template.rates) +
    frameShape(template.shape) +
    frameValue('on_expiry', template.onExpiry === 0 ? undefined : template.onExpiry) +
    frameValue('overrun', template.overrun === 0 ? undefined : template.overrun) +
    frameEnforcement(template.enforcement) +
    frameAlertAt(template.alertAt) +
    frameShares(template) +
    frameModels(template.models) +
    frameTemplate(template.childTemplate);
  return frameText('template', `${framed}.`);
}
