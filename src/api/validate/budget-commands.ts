// Requests on budgets as commands: every field checked, all invalid ones named at once.
import type {
  Budget,
  CloseBudgetRequest,
  CreateBudgetRequest,
  GetBudgetRequest,
  TopUpRequest,
  UpdateBudgetRequest,
} from '../../gen/budgetd/v1/budget_pb.ts';
import type { CreateBudget, GetBudget, SwitchBudget, TopUp, UpdateBudget } from '../../kernel/command.ts';
import { MICROS_MAX } from '../../kernel/money.ts';
import { treeOf } from '../../kernel/names.ts';
import { type ApiRefusal, invalidFields } from '../api-refusal.ts';
import { commandKey, frameText, frameValue } from '../command-key.ts';
import { parseEtag } from '../encode/etag.ts';
import { personalFields } from '../personal-fields.ts';
import { checkAlertAt } from './alert-at.ts';
import { checkUnit, frameBudget, refuseOutputOnly } from './budget-fields.ts';
import { checkEnforcementFields, ENFORCEMENT_FIELDS } from './enforcement.ts';
import { checkOnExpiry, checkOverrun } from './enums.ts';
import { checkLabels } from './labels.ts';
import { checkLimitName, checkLimits } from './limits.ts';
import { checkKey, checkMicros, checkPath, checkText, type Problems } from './problems.ts';
import { checkRates } from './rates.ts';
import { checkShapeFields, SHAPE_FIELDS } from './shape.ts';
import { checkSharePercent, checkWeight } from './shares.ts';
import { checkBudgetKind, checkTemplate, checkTerms } from './template.ts';

const REQUIRED = [{ field: 'budget', description: 'is required' }];

/** A CreateBudget as a command. */
export function createBudgetCommand(request: CreateBudgetRequest, actor: string): CreateBudget | ApiRefusal {
  const problems: Problems = [];
  const stated = request.budget;
  checkKey(problems, 'idempotency_key', request.idempotencyKey, true);
  if (stated === undefined) return invalidFields([...REQUIRED, ...problems]);
  const budget = checkPath(problems, 'budget.budget', stated.budget);
  const fields = {
    ...checkTerms(problems, 'budget.', stated),
    owner: checkText(problems, 'budget.owner', stated.owner),
    unit: checkUnit(problems, 'budget.unit', stated.unit, stated.budget),
  };
  const labels = checkLabels(problems, 'budget.labels', stated.labels);
  refuseOutputOnly(problems, 'budget.', stated);
  if (problems.length > 0) return invalidFields(problems);
  const key = commandKey('CreateBudget', budget, request.idempotencyKey, frameBudget(stated));
  return {
    kind: 'CreateBudget',
    treeId: treeOf(budget),
    actor,
    key,
    personal: personalFields('', labels),
    budget,
    ...fields,
  };
}

// A field that the mask does not name is not looked at, so that what GetBudget returned can be sent back as it is.
function maskedFields(problems: Problems, stated: Budget, mask: ReadonlySet<string>) {
  const has = (name: string): boolean => mask.has(name);
  return {
    budgetKind: has('kind') ? checkBudgetKind(problems, 'budget.kind', stated.kind) : undefined,
    owner: has('owner') ? checkText(problems, 'budget.owner', stated.owner) : undefined,
    uncapped: has('uncapped') ? stated.uncapped : undefined,
    limits: has('limits') ? checkLimits(problems, 'budget.limits', stated.limits) : undefined,
    rates: has('rates') ? checkRates(problems, 'budget.rates', stated.rates) : undefined,
    shape: checkShapeFields(problems, 'budget.shape', stated.shape, masked(mask, 'shape', SHAPE_FIELDS)),
    onExpiry: has('on_expiry') ? checkOnExpiry(problems, 'budget.on_expiry', stated.onExpiry) : undefined,
    overrun: has('overrun') ? checkOverrun(problems, 'budget.overrun', stated.overrun) : undefined,
    enforcement: checkEnforcementFields(
      problems,
      'budget.enforcement',
      stated.enforcement,
      masked(mask, 'enforcement', ENFORCEMENT_FIELDS),
    ),
    alertAt: has('alert_at') ? checkAlertAt(problems, 'budget.alert_at', stated.alertAt) : undefined,
    weight: has('weight') ? checkWeight(problems, 'budget.weight', stated.weight) : undefined,
    floorMicros: has('floor_micros') ? checkMicros(problems, 'budget.floor_micros', stated.floorMicros) : undefined,
    sharePercent: has('share_percent')
      ? { to: checkSharePercent(problems, 'budget.share_percent', stated.sharePercent) }
      : undefined,
    childTemplate: has('child_template')
      ? { to: checkTemplate(problems, 'budget.child_template', stated.childTemplate) }
      : undefined,
  };
}

// Fields of a message in the budget: all of them where the mask names it whole.
function masked(mask: ReadonlySet<string>, whole: string, fields: readonly string[]): readonly string[] {
  return mask.has(whole) ? fields : fields.filter((name) => mask.has(`${whole}.${name}`));
}

const MASKABLE: ReadonlySet<string> = new Set([
  'kind',
  'owner',
  'labels',
  'uncapped',
  'limits',
  'rates',
  'shape',
  ...SHAPE_FIELDS.map((name) => `shape.${name}`),
  'on_expiry',
  'overrun',
  'child_template',
  'enforcement',
  ...ENFORCEMENT_FIELDS.map((name) => `enforcement.${name}`),
  'alert_at',
  'weight',
  'floor_micros',
  'share_percent',
]);

function checkMask(problems: Problems, paths: readonly string[]): ReadonlySet<string> {
  const field = 'update_mask';
  if (paths.length === 0) problems.push({ field, description: 'is required' });
  const unknown = paths.some((path) => !MASKABLE.has(path));
  if (unknown) problems.push({ field, description: `may name ${[...MASKABLE].join(', ')} only` });
  return new Set(paths);
}

function checkEtag(problems: Problems, etag: string): number | undefined {
  if (etag === '') return undefined;
  const revision = parseEtag(etag);
  if (revision === undefined) problems.push({ field: 'etag', description: 'must be an etag that GetBudget returned' });
  return revision;
}

/** An UpdateBudget as a command. */
export function updateBudgetCommand(request: UpdateBudgetRequest, actor: string): UpdateBudget | ApiRefusal {
  const problems: Problems = [];
  const stated = request.budget;
  checkKey(problems, 'idempotency_key', request.idempotencyKey, true);
  const mask = checkMask(problems, request.updateMask?.paths ?? []);
  const expectedRevision = checkEtag(problems, request.etag);
  if (stated === undefined) return invalidFields([...REQUIRED, ...problems]);
  const budget = checkPath(problems, 'budget.budget', stated.budget);
  const fields = maskedFields(problems, stated, mask);
  const replaceLabels = mask.has('labels');
  const labels = replaceLabels ? checkLabels(problems, 'budget.labels', stated.labels) : [];
  if (problems.length > 0) return invalidFields(problems);
  const framed = frameBudget(stated) + frameText('mask', [...mask].sort().join()) + frameText('etag', request.etag);
  const key = commandKey('UpdateBudget', budget, request.idempotencyKey, framed);
  const personal = personalFields('', labels);
  return {
    kind: 'UpdateBudget',
    treeId: treeOf(budget),
    actor,
    key,
    personal,
    budget,
    expectedRevision,
    ...fields,
    history: undefined,
    replaceLabels,
  };
}

/** The fields that Close, Suspend and Resume share. */
type SwitchRequest = Pick<CloseBudgetRequest, 'budget' | 'idempotencyKey' | 'reason'>;

/** A CloseBudget, SuspendBudget or ResumeBudget as a command. */
export function switchBudgetCommand(
  kind: SwitchBudget['kind'],
  request: SwitchRequest,
  actor: string,
): SwitchBudget | ApiRefusal {
  const problems: Problems = [];
  const budget = checkPath(problems, 'budget', request.budget);
  checkKey(problems, 'idempotency_key', request.idempotencyKey, true);
  const reason = checkText(problems, 'reason', request.reason);
  if (problems.length > 0) return invalidFields(problems);
  const key = commandKey(kind, budget, request.idempotencyKey, frameText('reason', reason));
  return { kind, treeId: treeOf(budget), actor, key, personal: undefined, budget, reason };
}

/** A TopUp as a command. */
export function topUpCommand(request: TopUpRequest, actor: string): TopUp | ApiRefusal {
  const problems: Problems = [];
  const budget = checkPath(problems, 'budget', request.budget);
  checkKey(problems, 'idempotency_key', request.idempotencyKey, true);
  const limit = checkLimitName(problems, 'limit', request.limit);
  const { addMicros } = request;
  if (addMicros < 1n) problems.push({ field: 'add_micros', description: `must be 1 to ${MICROS_MAX}` });
  if (problems.length > 0) return invalidFields(problems);
  const framed = frameText('limit', request.limit) + frameValue('add', addMicros);
  const key = commandKey('TopUp', budget, request.idempotencyKey, framed);
  return { kind: 'TopUp', treeId: treeOf(budget), actor, key, personal: undefined, budget, limit, addMicros };
}

/** A GetBudget as a command. */
export function getBudgetCommand(request: GetBudgetRequest, actor: string): GetBudget | ApiRefusal {
  const problems: Problems = [];
  const budget = checkPath(problems, 'budget', request.budget);
  if (problems.length > 0) return invalidFields(problems);
  return { kind: 'GetBudget', treeId: treeOf(budget), actor, key: undefined, personal: undefined, budget };
}
