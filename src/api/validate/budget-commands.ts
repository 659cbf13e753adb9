// Requests on budgets as commands: every field checked, all invalid ones named at once.
import type {
  Budget,
  CloseBudgetRequest,
  CreateBudgetRequest,
  GetBudgetRequest,
  TopUpRequest,
  UpdateBudgetRequest,
} from '../../gen/budgetd/v1/budget_pb.ts';
import type { BudgetEdit, CreateBudget, GetBudget, SwitchBudget, TopUp, UpdateBudget } from '../../kernel/command.ts';
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
import { checkModelsFields, MODELS_FIELDS } from './models.ts';
import { checkKey, checkMicros, checkPath, checkText, type Problems } from './problems.ts';
import { checkRates } from './rates.ts';
import { checkShapeFields, SHAPE_FIELDS } from './shape.ts';
import { checkSharePercent, checkWeight } from './shares.ts';
import { checkBudgetKind, checkTemplate, checkTerms } from './template.ts';

const REQUIRED = { field: 'budget', description: 'is required' };

/** A change of a budget whose fields were looked at, and the framing of all that its key stands for. */
interface Checked<C extends BudgetEdit> {
  readonly command: Omit<C, 'key'>;
  /** Only where there were no problems. */
  readonly framed: () => string;
}

function keyed<C extends BudgetEdit>(
  problems: Problems,
  checked: Checked<C> | undefined,
  idempotencyKey: string,
): C | ApiRefusal {
  if (checked === undefined || problems.length > 0) return invalidFields(problems);
  const { kind, budget } = checked.command;
  // A command is what was checked and its key; that the compiler can't see it is due to the type being open.
  return { ...checked.command, key: commandKey(kind, budget, idempotencyKey, checked.framed()) } as C;
}

/** A CreateBudget as a command. */
export function createBudgetCommand(request: CreateBudgetRequest, actor: string): CreateBudget | ApiRefusal {
  const problems: Problems = [];
  const checked = checkCreate(problems, request, actor);
  checkKey(problems, 'idempotency_key', request.idempotencyKey, true);
  return keyed(problems, checked, request.idempotencyKey);
}

/** All of a CreateBudget but its key; undefined where it names no budget. */
export function checkCreate(
  problems: Problems,
  request: CreateBudgetRequest,
  actor: string,
): Checked<CreateBudget> | undefined {
  const stated = request.budget;
  if (stated === undefined) {
    problems.push(REQUIRED);
    return undefined;
  }
  const budget = checkPath(problems, 'budget.budget', stated.budget);
  const fields = {
    ...checkTerms(problems, 'budget.', stated),
    owner: checkText(problems, 'budget.owner', stated.owner),
    unit: checkUnit(problems, 'budget.unit', stated.unit, stated.budget),
  };
  const labels = checkLabels(problems, 'budget.labels', stated.labels);
  refuseOutputOnly(problems, 'budget.', stated);
  return {
    command: {
      kind: 'CreateBudget',
      treeId: treeOf(budget),
      actor,
      personal: personalFields('', labels),
      budget,
      ...fields,
    },
    framed: () => frameBudget(stated),
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
    models: checkModelsFields(problems, 'budget.models', stated.models, masked(mask, 'models', MODELS_FIELDS)),
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
  'models',
  ...MODELS_FIELDS.map((name) => `models.${name}`),
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
  const checked = checkUpdate(problems, request, actor);
  checkKey(problems, 'idempotency_key', request.idempotencyKey, true);
  return keyed(problems, checked, request.idempotencyKey);
}

/** All of an UpdateBudget but its key; undefined where it names no budget. */
export function checkUpdate(
  problems: Problems,
  request: UpdateBudgetRequest,
  actor: string,
): Checked<UpdateBudget> | undefined {
  const stated = request.budget;
  const mask = checkMask(problems, request.updateMask?.paths ?? []);
  const expectedRevision = checkEtag(problems, request.etag);
  if (stated === undefined) {
    problems.push(REQUIRED);
    return undefined;
  }
  const budget = checkPath(problems, 'budget.budget', stated.budget);
  const fields = maskedFields(problems, stated, mask);
  const replaceLabels = mask.has('labels');
  const labels = replaceLabels ? checkLabels(problems, 'budget.labels', stated.labels) : [];
  return {
    command: {
      kind: 'UpdateBudget',
      treeId: treeOf(budget),
      actor,
      personal: personalFields('', labels),
      budget,
      expectedRevision,
      ...fields,
      history: undefined,
      replaceLabels,
    },
    framed: () => frameBudget(stated) + frameText('mask', [...mask].sort().join()) + frameText('etag', request.etag),
  };
}

/** The fields that Close, Suspend and Resume share. */
type SwitchRequest = Pick<CloseBudgetRequest, 'budget' | 'idempotencyKey' | 'reason'> & { readonly etag?: string };

/** A CloseBudget, SuspendBudget or ResumeBudget as a command. */
export function switchBudgetCommand(
  kind: SwitchBudget['kind'],
  request: SwitchRequest,
  actor: string,
): SwitchBudget | ApiRefusal {
  const problems: Problems = [];
  const checked = checkSwitch(problems, kind, request, actor);
  checkKey(problems, 'idempotency_key', request.idempotencyKey, true);
  return keyed(problems, checked, request.idempotencyKey);
}

/** All of a CloseBudget, SuspendBudget or ResumeBudget but its key. */
export function checkSwitch(
  problems: Problems,
  kind: SwitchBudget['kind'],
  { budget: path, reason: why, etag = '' }: Omit<SwitchRequest, 'idempotencyKey'>,
  actor: string,
): Checked<SwitchBudget> {
  const budget = checkPath(problems, 'budget', path);
  const reason = checkText(problems, 'reason', why);
  const expectedRevision = checkEtag(problems, etag);
  return {
    command: { kind, treeId: treeOf(budget), actor, personal: undefined, budget, expectedRevision, reason },
    framed: () => frameText('reason', reason) + frameText('etag', etag),
  };
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
