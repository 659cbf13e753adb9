// The commands that keep budgets in a file: plan, apply, export and lint. What a file says of a budget is all of its terms: a key
// that is left out is the default. Budgets that it does not name are left alone.
import type { Command } from 'commander';
import { type Budget, BudgetService } from '../../../gen/budgetd/v1/budget_pb.ts';
import type { BudgetTerms } from '../../../kernel/budget.ts';
import { type TreeId, treeOf } from '../../../kernel/names.ts';
import { readText } from '../../read-text.ts';
import { CallError, exitCodeOf } from '../call-error.ts';
import { counted } from '../counted.ts';
import { unitOf } from '../draw-tree.ts';
import { PLAN_EXIT } from '../exit-code.ts';
import { keyOption, withExample } from '../options.ts';
import { newUnitWarning } from '../prices/unit-rows.ts';
import { printable } from '../printable-text.ts';
import { type CommandContext, freshKey, type Session, withSession } from '../session.ts';
import type { Terminal } from '../terminal.ts';
import { UsageError } from '../usage-error.ts';
import { normalBudget } from './budget-fields.ts';
import { drawPlan, planToJson, summarize } from './draw-plan.ts';
import { type FileProblem, FileProblems, formatProblem } from './file-problems.ts';
import { lintBudgets } from './lint.ts';
import { type LiveBudgets, readLiveBudgets, readRoots, readWholeTree } from './live-budgets.ts';
import { isEmptyPlan, planTree, requestOf, type TreePlan } from './plan.ts';
import { type FileBudget, positionOf, readBudgetsFile, unitsOfTrees } from './read-budgets-file.ts';
import { refusalsOfApply, refusalsOfPlan, sizeProblem } from './refusals-of-plan.ts';
import { writeBudgetsFile } from './write-budgets-file.ts';

interface FileOptions {
  readonly file: string;
}

interface PlanOptions extends FileOptions {
  readonly tree?: string;
  readonly prune?: boolean;
}

interface ApplyOptions extends PlanOptions {
  readonly yes?: boolean;
  readonly key?: string;
}

const FILE_OPTION = ['-f, --file <file>', 'YAML (docs/budgets-file.md); "-" reads the standard input'] as const;

/** Adds `plan`, `apply`, `export` and `lint` to the program. */
export function addFileCommands(program: Command, context: CommandContext): void {
  addPlan(program, context);
  addApply(program, context);
  addExport(program, context);
  addLint(program, context);
}

// Its exit codes are its own: also a wrong option must not look like a difference.
function endsAsPlan(command: Command, context: CommandContext): Command {
  return command.exitOverride((error) => {
    context.endFailed(PLAN_EXIT.failed);
    throw error;
  });
}

function addPlan(program: Command, context: CommandContext): void {
  const command = program
    .command('plan')
    .description(
      'show what apply would do, and be refused for: + create, ~ change, - close; exit code 2 where there is a difference',
    )
    .requiredOption(...FILE_OPTION)
    .option('--tree <tree>', 'this tree of the file only')
    .option('--prune', 'also close budgets that the file does not name, with all below them')
    .action(async (options: PlanOptions) => {
      context.endFailed(PLAN_EXIT.failed);
      await withSession(context, command, async (session) => {
        const { plans, warnings } = await preparePlans(session, options);
        const verdict = await refusalsOfPlan(session, options.file, plans);
        const { refusals } = verdict;
        const all = [...warnings, ...verdict.warnings];
        if (session.isJson) session.terminal.out(planToJson(plans, all, refusals));
        else {
          showPlans(plans, all, session.terminal);
          for (const refusal of refusals) session.terminal.err(session.terminal.paint('bad', printable(refusal)));
        }
        if (refusals.length > 0) context.end(PLAN_EXIT.failed);
        else context.end(plans.every(isEmptyPlan) ? PLAN_EXIT.same : PLAN_EXIT.different);
      });
    });
  withExample(endsAsPlan(command, context), 'plan -f budgets.yaml', 'plan -f budgets.yaml --tree acme --prune');
}

function addApply(program: Command, context: CommandContext): void {
  const command = program
    .command('apply')
    .description(
      'make the service have what the file says: one transaction a tree, refused where a budget changed meanwhile',
    )
    .requiredOption(...FILE_OPTION)
    .option('--tree <tree>', 'this tree of the file only')
    .option(
      '--prune',
      'close, for good, budgets beside and below those of the file that it does not name, with all below them',
    )
    .option('-y, --yes', 'do not ask')
    .addOption(keyOption())
    .action((options: ApplyOptions) => withSession(context, command, (session) => apply(session, options, context)));
  withExample(command, 'apply -f budgets.yaml', 'apply -f budgets.yaml --yes');
}

async function apply(session: Session, options: ApplyOptions, context: CommandContext): Promise<void> {
  const { terminal } = session;
  const { plans, warnings } = await preparePlans(session, options);
  showPlans(plans, warnings, terminal);
  const key = options.key ?? freshKey();
  const requests = plans.filter((plan) => !isEmptyPlan(plan)).map((plan) => ({ plan, request: requestOf(plan, key) }));
  for (const { plan, request } of requests) {
    const tooLarge = sizeProblem(plan.tree, request);
    if (tooLarge !== undefined) throw new UsageError(`${tooLarge}; nothing was changed`);
  }
  if (requests.length === 0) return;
  const isAgreed = options.yes === true ? true : await context.confirm('Apply this? Only "yes" does: ');
  if (isAgreed === undefined) throw new UsageError('there is nobody to ask: add --yes; nothing was changed');
  if (!isAgreed) {
    terminal.out('Nothing was changed.');
    return;
  }
  for (const { plan, request } of requests) {
    const { tree, creates, edits, closes } = plan;
    try {
      await session.change(BudgetService.method.applyBudgets, request, ['--key', key]);
    } catch (error) {
      const refusals = session.isJson ? undefined : refusalsOfApply(error, options.file, plan, request);
      if (refusals === undefined || !(error instanceof CallError)) throw error;
      for (const refusal of refusals) terminal.err(terminal.paint('bad', printable(refusal)));
      context.endFailed(exitCodeOf(error));
      throw new UsageError(`tree ${tree} is refused, and nothing of it was changed`);
    }
    terminal.out(`${tree}: ${creates.length} created, ${edits.length} changed, ${closes.length} closed.`);
  }
}

function addExport(program: Command, context: CommandContext): void {
  const command = program
    .command('export [budget]')
    .description(
      'print open budgets as a file: one with all below it, or all trees; runs as their template makes them are left out',
    )
    .action((path: string | undefined) =>
      withSession(context, command, async (session) => {
        const tops = path === undefined ? await readRoots(session) : [path];
        const budgets: Budget[] = [];
        for (const top of tops) budgets.push(...(await readWholeTree(session, top)));
        session.terminal.out(writeBudgetsFile(budgets).trimEnd());
      }),
    );
  withExample(command, 'export > budgets.yaml', 'export acme/triage');
}

function addLint(program: Command, context: CommandContext): void {
  const { terminal } = context;
  const command = program
    .command('lint')
    .description('check a file without a service: what is wrong in it, and what is most likely not meant')
    .requiredOption(...FILE_OPTION)
    .action(({ file }: FileOptions) => {
      context.endFailed(PLAN_EXIT.failed);
      const problems = new FileProblems();
      const budgets = readBudgetsFile(readContent(file), problems);
      const units = unitsOfTrees(budgets, undefined, problems);
      refuseProblems(problems, file, terminal);
      const warnings = warningsOf(budgets, file, units, undefined);
      if (command.optsWithGlobals<{ readonly json?: boolean }>().json === true) {
        terminal.out(JSON.stringify({ budgets: budgets.length, warnings }, null, 2));
      } else {
        showWarnings(warnings, terminal);
        terminal.out(`${counted(budgets.length, 'budget')}, ${counted(warnings.length, 'warning')}.`);
      }
      context.end(warnings.length === 0 ? PLAN_EXIT.same : PLAN_EXIT.different);
    });
  withExample(endsAsPlan(command, context), 'lint -f budgets.yaml');
}

function readContent(file: string): string {
  try {
    return readText(file === '-' ? 0 : file);
  } catch (error) {
    throw new UsageError(`can not read ${file}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function refuseProblems(problems: FileProblems, file: string, terminal: Terminal): void {
  if (problems.count === 0) return;
  for (const problem of problems.sorted()) terminal.err(printable(formatProblem(file, problem)));
  throw new UsageError(`${file} has ${counted(problems.count, 'problem')}`);
}

async function preparePlans(session: Session, { file, tree: only, prune = false }: PlanOptions) {
  const problems = new FileProblems();
  const all = readBudgetsFile(readContent(file), problems);
  // What is wrong with its units is told with all else: by the file alone, since nothing will be asked.
  if (problems.count > 0) unitsOfTrees(all, undefined, problems);
  refuseProblems(problems, file, session.terminal);
  const budgets = only === undefined ? all : all.filter(({ path }) => treeOf(path) === only);
  if (budgets.length === 0)
    throw new UsageError(`${file} names no budget${only === undefined ? '' : ` of tree ${only}`}`);
  const live = await readLiveBudgets(
    session,
    budgets.map(({ path }) => path),
  );
  const liveUnit = (tree: TreeId): string | undefined => {
    const root = live.get(tree);
    return root && unitOf(root);
  };
  const units = unitsOfTrees(budgets, liveUnit, problems);
  const plans = [...units].map(([tree, unit]) => planTree(tree, budgets, live, { unit, prune, problems }));
  refuseProblems(problems, file, session.terminal);
  return { plans, warnings: warningsOf(budgets, file, units, live, await unitWarnings(session, plans)) };
}

async function unitWarnings(session: Session, plans: readonly TreePlan[]): Promise<FileProblem[]> {
  const found = plans.map(async ({ tree, unit, creates }): Promise<FileProblem[]> => {
    const root = creates.find(({ path }) => path === (tree as string));
    const message = root && (await newUnitWarning(session.connection, unit));
    return root === undefined || message === undefined
      ? []
      : [{ at: positionOf(root, 'unit'), message: `${tree}: ${message}` }];
  });
  return (await Promise.all(found)).flat();
}

function warningsOf(
  budgets: readonly FileBudget[],
  file: string,
  units: ReadonlyMap<TreeId, string>,
  live: LiveBudgets | undefined,
  more: readonly FileProblem[] = [],
): string[] {
  const known =
    live && new Map([...live].map(([path, budget]): [string, BudgetTerms] => [path, normalBudget([], budget).terms]));
  const findings = new FileProblems();
  const odd = lintBudgets(budgets, (tree) => units.get(tree as TreeId) ?? '', known);
  for (const { at, message } of [...odd, ...more]) {
    findings.add(at, `warning: ${message}`);
  }
  return findings.sorted().map((finding) => formatProblem(file, finding));
}

function showWarnings(warnings: readonly string[], terminal: Terminal): void {
  for (const warning of warnings) terminal.err(terminal.paint('warning', printable(warning)));
}

function showPlans(plans: readonly TreePlan[], warnings: readonly string[], terminal: Terminal): void {
  showWarnings(warnings, terminal);
  for (const plan of plans) terminal.out(drawPlan(plan, terminal));
  terminal.out(summarize(plans));
}
