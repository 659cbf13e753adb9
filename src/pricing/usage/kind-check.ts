// Whether a report is of the kind that it is given as. Kinds share their names for input and output, so that a report read as another
// kind would lose its other counts in silence, and be charged less for good. Here, once for all kinds, such a report is found to
// contradict its kind: by what the body around it says that it is, and by any count that another kind has and this one has not.
import type { BodyForm, UsageAdapter } from './adapter.ts';
import { fault, isFields, type Report } from './report.ts';

type Fields = Report['fields'];

/** What a body of each form is called, for those who gave it as another. */
const NOUNS: Readonly<Record<BodyForm, string>> = {
  chat: 'a chat completion',
  response: 'a response of the Responses interface',
  message: 'an Anthropic message',
  generated: "a response of Google's",
  sdk: 'a result of the AI SDK',
};

/** Kinds that a refusal names at most. */
const NAMED_MAX = 3;

/** How deep a value is looked into for anything that is not 0; what is deeper counts as something. */
const DEPTH_MAX = 6;

/** A field of reports that is a count of some kind, or that has counts of some kind below it. */
interface CountNode {
  readonly path: string;
  isCount: boolean;
  readonly below: Map<string, CountNode>;
}

/** The checks of a table of kinds. Each notes in the faults what is wrong, naming the kinds that the report may be of. */
export interface KindCheck {
  /** A body, an event of a stream, or a report by itself: what it says that it is. */
  readonly body: (kind: string, body: Fields, faults: Report['faults']) => void;
  /** A report: counts that are not of its kind and neither null nor 0. */
  readonly counts: (kind: string, report: Report) => void;
}

/** Makes the checks. */
export function kindCheck(adapters: Readonly<Record<string, UsageAdapter>>): KindCheck {
  const root: CountNode = { path: '', isCount: false, below: new Map() };
  const kinds = Object.entries(adapters).map(([name, { body, counts }]) => ({ name, body, counts: new Set(counts) }));
  // Those with the fewest names first: they say most about whose a report is.
  kinds.sort((a, b) => a.counts.size - b.counts.size);
  for (const { counts } of kinds) for (const path of counts) addCount(root, path);
  const kindOf = new Map(kinds.map((kind) => [kind.name, kind]));

  const body: KindCheck['body'] = (kind, fields, faults) => {
    const own = kindOf.get(kind)?.body;
    for (const holder of ['', 'response', 'message']) {
      const part = holder === '' ? fields : ownField(fields, holder);
      const mark = isFields(part) ? markOf(part) : undefined;
      if (mark === undefined || mark.form === own) continue;
      const named = kinds.filter((other) => other.body === mark.form).map(({ name }) => name);
      const path = holder === '' ? mark.name : `${holder}.${mark.name}`;
      fault(
        faults,
        'inconsistent_usage',
        path,
        `is not of ${kind}: this looks like ${NOUNS[mark.form]}, ${oneOf(named)}`,
      );
    }
  };

  const counts: KindCheck['counts'] = (kind, { fields, path: at, faults }) => {
    const own = kindOf.get(kind)?.counts ?? new Set();
    const foreign = new Set<string>();
    noteCounts(fields, root, (path) => own.has(path) || foreign.add(path));
    const [first] = foreign;
    if (first === undefined) return;
    const all = new Set<string>();
    noteCounts(fields, root, (path) => all.add(path));
    const fitting = kinds.filter((other) => [...all].every((path) => other.counts.has(path)));
    const text = `is no count of ${kind}: ${lookOf(fitting)}`;
    fault(faults, 'inconsistent_usage', at === '' ? first : `${at}.${first}`, text);
  };
  return { body, counts };
}

/** What a report looks like that all counts are of these kinds. */
function lookOf(fitting: readonly { readonly name: string; readonly body: BodyForm | undefined }[]): string {
  const [first] = fitting;
  if (first === undefined) return 'no kind has all that are here, so take the counts apart and give them as counts';
  const noun = first.body === undefined ? '' : `${NOUNS[first.body]}, `;
  const alike = first.body === undefined ? fitting : fitting.filter(({ body }) => body === first.body);
  return `this looks like ${noun}${oneOf(alike.map(({ name }) => name))}`;
}

function oneOf(names: readonly string[]): string {
  const named = names.slice(0, NAMED_MAX);
  const last = named.at(-1) ?? '';
  return `kind ${named.length < 2 ? last : `${named.slice(0, -1).join(', ')} or ${last}`}`;
}

/** Adds a count by its path; a list on the way stands for each of its objects. */
function addCount(root: CountNode, path: string): void {
  let node = root;
  for (const name of path.split('.')) {
    const below = node.below.get(name) ?? {
      path: node.path === '' ? name : `${node.path}.${name}`,
      isCount: false,
      below: new Map(),
    };
    node.below.set(name, below);
    node = below;
  }
  node.isCount = true;
}

/** Tells of each count of any kind that is here and is not 0, in the report's order. As deep as the tree of counts is, whatever the report. */
function noteCounts(fields: Fields, node: CountNode, note: (path: string) => void): void {
  for (const [name, value] of Object.entries(fields)) {
    const below = node.below.get(name);
    if (below === undefined) continue;
    if (below.isCount && isSomething(value, DEPTH_MAX)) note(below.path);
    if (below.below.size === 0) continue;
    for (const item of Array.isArray(value) ? value : [value]) if (isFields(item)) noteCounts(item, below, note);
  }
}

/** Whether a value stands for anything: null, 0 and false do not, nor lists and objects that hold nothing else. */
function isSomething(value: unknown, depth: number): boolean {
  if (typeof value !== 'object') return value !== undefined && value !== 0 && value !== false;
  return value !== null && (depth === 0 || Object.values(value).some((item) => isSomething(item, depth - 1)));
}

/** The field by which an object says what it is. */
function markOf(fields: Fields): { readonly name: string; readonly form: BodyForm } | undefined {
  const object = ownField(fields, 'object');
  if (object === 'chat.completion' || object === 'chat.completion.chunk') return { name: 'object', form: 'chat' };
  if (object === 'response') return { name: 'object', form: 'response' };
  const type = ownField(fields, 'type');
  if (type === 'message' || type === 'message_start' || type === 'message_delta')
    return { name: 'type', form: 'message' };
  if (typeof type === 'string' && type.startsWith('response.')) return { name: 'type', form: 'response' };
  if (isFields(ownField(fields, 'usageMetadata'))) return { name: 'usageMetadata', form: 'generated' };
  if (isFields(ownField(fields, 'providerMetadata'))) return { name: 'providerMetadata', form: 'sdk' };
  return undefined;
}

function ownField(fields: Fields, name: string): unknown {
  return Object.hasOwn(fields, name) ? (fields[name] ?? undefined) : undefined;
}
