// Finds settings that nobody reads. Its own file because a misspelt variable would otherwise pass in silence, and a service
// would run on a default that its operator believes to have changed.

type Env = Readonly<Record<string, string | undefined>>;

const PREFIX = 'BUDGETD_';

/** Read by others than the service: budgetctl, the demo and the example. */
const OF_CLIENTS: readonly string[] = ['BUDGETD_SERVER', 'BUDGETD_TOKEN'];

/** What the tests tell each other by. */
const TEST_PREFIX = 'BUDGETD_TEST_';

/** How the name of a variable ends that every Service of Kubernetes has. */
const SERVICE_HOST = '_SERVICE_HOST';

/** Above this many edits two names without a word in common have nothing to do with each other. */
const EDITS_MAX = 4;

/**
 * One sentence for each variable that begins with BUDGETD_, has a value, and is neither in `known` nor read by a client; with
 * the nearest name that is. Kubernetes' variables of a Service that is called budgetd are left alone.
 */
export function unknownSettings(env: Env, known: readonly string[]): readonly string[] {
  const names = [...known, ...OF_CLIENTS];
  return Object.keys(env)
    .filter((name) => name.startsWith(PREFIX) && !name.startsWith(TEST_PREFIX))
    .filter((name) => (env[name] ?? '') !== '' && !names.includes(name) && !isServiceLink(name, env))
    .sort()
    .map((name) => {
      const near = nearest(name, names);
      return near === undefined ? `${name} is no setting` : `${name} is no setting (${near} is)`;
    });
}

// Kubernetes gives a pod BUDGETD_SERVICE_HOST, BUDGETD_SERVICE_PORT, BUDGETD_PORT_50051_TCP and the like for a Service named
// budgetd, and BUDGETD_X_SERVICE_HOST and so on for one named budgetd-x.
function isServiceLink(name: string, env: Env): boolean {
  return Object.keys(env)
    .filter((host) => host.endsWith(SERVICE_HOST))
    .map((host) => host.slice(0, -SERVICE_HOST.length))
    .some((service) => [`${service}_SERVICE_`, `${service}_PORT_`].some((start) => `${name}_`.startsWith(start)));
}

// Words in common say more than letters: BUDGETD_PORT is nearer to BUDGETD_GRPC_PORT than to BUDGETD_HOST.
function nearest(name: string, known: readonly string[]): string | undefined {
  const words = new Set(wordsOf(name));
  const [best] = known
    .map((candidate) => ({
      candidate,
      shared: wordsOf(candidate).filter((word) => words.has(word)).length,
      edits: editsBetween(name, candidate),
    }))
    .sort((a, b) => b.shared - a.shared || a.edits - b.edits);
  return best !== undefined && (best.shared > 0 || best.edits <= EDITS_MAX) ? best.candidate : undefined;
}

function wordsOf(name: string): readonly string[] {
  return name.split('_').filter((word) => word !== 'BUDGETD');
}

/** Letters to insert, delete or replace to get from one to the other (Levenshtein's distance). */
function editsBetween(from: string, to: string): number {
  let previous = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (const [row, letter] of [...from].entries()) {
    const current = [row + 1];
    for (const [column, other] of [...to].entries()) {
      const replaced = (previous[column] ?? 0) + (letter === other ? 0 : 1);
      current.push(Math.min(replaced, (previous[column + 1] ?? 0) + 1, (current[column] ?? 0) + 1));
    }
    previous = current;
  }
  return previous[to.length] ?? 0;
}
