// WatchEvents at its edges: who may watch what, readers that do not read, servers that stop, stores that do not answer, and the
// stream as JSON over HTTP.
import { connect as connectSession } from 'node:http2';
import { status } from '@grpc/grpc-js';
import { afterEach, describe, expect, it } from 'vitest';
import type { Token } from '../../src/api/auth/authenticator.ts';
import { TRANSPORT_LIMITS } from '../../src/api/transport-bounds.ts';
import type { WatchEventsResponse } from '../../src/gen/budgetd/v1/event_pb.ts';
import { ApiClient, startApiServers, type WatchClient } from '../support/api-servers.ts';
import { path } from '../support/fake-coordinator.ts';
import { fakeJournal, treeOf } from '../support/fake-journal.ts';

const PATH = '/budgetd.v1.EventService/WatchEvents';
const FROM_BEGINNING = { case: 'fromBeginning', value: true } as const;
const AT_MS = Date.parse('2026-03-02T08:00:00Z');

let servers: Awaited<ReturnType<typeof startApiServers>>;
const clients: ApiClient[] = [];

async function start(options: Parameters<typeof startApiServers>[0] = {}): Promise<ApiClient> {
  servers = await startApiServers(options);
  return client();
}

function client(token?: string, port = servers.grpc.port): ApiClient {
  const made = new ApiClient(port, token);
  clients.push(made);
  return made;
}

afterEach(async () => {
  for (const each of clients.splice(0)) each.close();
  await servers.stop();
});

const caughtUp = (response: WatchEventsResponse): boolean => response.caughtUp;
const revisions = (responses: readonly WatchEventsResponse[]): bigint[] =>
  responses.flatMap(({ events }) => events).map(({ sequence }) => sequence);
const numbers = (count: number): bigint[] => Array.from({ length: count }, (_, index) => BigInt(index + 1));

/** How long a watch may take to be let go once its caller is gone. */
const GONE_MS = 5_000;

/** Resolves when nothing has been read from the journal for a while: what does not happen gives no signal. */
async function untilQuiet(): Promise<void> {
  for (let before = -1; before !== servers.reads.readCount; ) {
    before = servers.reads.readCount;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

describe('who may watch', () => {
  const token = (name: string, role: Token['role'], subtree?: string): Token => ({
    name,
    role,
    subtree: subtree === undefined ? undefined : path(subtree),
    secret: { plaintext: `${name}-secret-secret-secret` },
  });
  const tokens = [
    token('boss', 'admin'),
    token('books', 'auditor'),
    token('books-of-acme', 'auditor', 'acme'),
    token('worker', 'agent'),
    token('worker-of-triage', 'agent', 'acme/triage'),
  ];
  const first = async ({ stream, ended }: WatchClient): Promise<string | undefined> => {
    const came = new Promise<string>((resolve) => stream.once('data', () => resolve('told')));
    const answer = await Promise.race([came, ended.then(({ reason }) => reason)]);
    stream.cancel();
    return answer;
  };

  it.each([
    ['boss', '', 'told'],
    ['boss', 'acme', 'told'],
    ['books', '', 'told'],
    ['books-of-acme', '', 'FORBIDDEN'],
    ['books-of-acme', 'acme', 'told'],
    ['books-of-acme', 'lab', 'FORBIDDEN'],
    ['worker', '', 'FORBIDDEN'],
    ['worker', 'acme', 'told'],
    ['worker-of-triage', 'acme', 'FORBIDDEN'],
    ['worker-of-triage', 'acme/triage/run-1', 'told'],
    ['nobody', 'acme', 'UNAUTHENTICATED'],
  ])('%s of "%s": %s', async (name, budget, answer) => {
    await start({ tokens });
    expect(await first(client(`${name}-secret-secret-secret`).watch({ budget }))).toBe(answer);
  });

  it('not more than 64 at once with one token', async () => {
    await start({ tokens });
    const caller = client('worker-secret-secret-secret');
    const open = Array.from({ length: 64 }, () => caller.watch({ budget: 'acme' }));
    await Promise.all(open.map((each) => each.until(() => true)));
    const one = caller.watch({ budget: 'acme' });
    expect(await one.ended).toMatchObject({ code: status.RESOURCE_EXHAUSTED, reason: 'OVERLOADED' });
    expect(await first(client('boss-secret-secret-secret').watch({ budget: 'acme' }))).toBe('told');
    for (const each of open) each.stream.cancel();
  });
});

describe.each(['grpc', 'connect'] as const)('a reader of the %s server that does not read', (server) => {
  it('stops the reading behind it, and misses nothing', async () => {
    await start();
    servers.reads.journals.set(treeOf('acme'), fakeJournal('acme', 40_000, AT_MS));
    const watch = client(undefined, servers[server].port).watch({ budget: 'acme', start: FROM_BEGINNING });
    await watch.until(() => true);
    await untilQuiet();
    // 40,000 entries are 157 pages; windows and buffers of both ends of a connection hold some of them.
    expect(servers.reads.readCount).toBeLessThan(80);
    expect(revisions(await watch.until(caughtUp))).toEqual(numbers(40_000));
    watch.stream.cancel();
  });

  it('does not hold up the stop of the server', async () => {
    await start();
    servers.reads.journals.set(treeOf('acme'), fakeJournal('acme', 20_000, AT_MS));
    const watch = client(undefined, servers[server].port).watch({ budget: 'acme', start: FROM_BEGINNING });
    await watch.until(() => true);
    await untilQuiet();
    const startMs = performance.now();
    await servers[server].stop({ graceMs: 20_000 });
    expect(performance.now() - startMs).toBeLessThan(10_000);
    watch.stream.resume();
    expect((await watch.ended).code).not.toBe(status.OK);
  });
});

describe('a watch ends', () => {
  it.each(['grpc', 'connect'] as const)('as UNAVAILABLE when the %s server stops', async (server) => {
    await start();
    const watch = client(undefined, servers[server].port).watch({ budget: 'acme' });
    await watch.until(caughtUp);
    watch.stream.resume();
    await servers[server].stop({ graceMs: 20_000 });
    expect(await watch.ended).toMatchObject({ code: status.UNAVAILABLE });
  });

  it('as UNAVAILABLE when it has reached its age', async () => {
    const caller = await start({ watchLimits: { ageMs: 100 } });
    const watch = caller.watch({ budget: 'acme' });
    watch.stream.resume();
    expect(await watch.ended).toMatchObject({ code: status.UNAVAILABLE });
  });

  it.each([{ budget: 'acme' }, {}])('as STORE_UNAVAILABLE when the store does not answer: %o', async (request) => {
    const caller = await start({ watchLimits: { leaderPollMs: 20 } });
    const watch = caller.watch(request);
    await watch.until(caughtUp);
    watch.stream.resume();
    servers.reads.failure = Object.assign(new Error('away'), { name: 'StoreUnavailableError' });
    expect(await watch.ended).toMatchObject({ code: status.UNAVAILABLE, reason: 'STORE_UNAVAILABLE' });
  });

  it('as a bare internal error when the program is at fault', async () => {
    const caller = await start({ watchLimits: { leaderPollMs: 20 } });
    const watch = caller.watch({ budget: 'acme' });
    await watch.until(caughtUp);
    watch.stream.resume();
    servers.reads.failure = new Error('a secret');
    expect(await watch.ended).toMatchObject({ code: status.INTERNAL, reason: undefined });
    expect(servers.errors).toHaveLength(1);
  });

  it('and nobody is told of commits for it any more', async () => {
    const caller = await start();
    const watch = caller.watch({ budget: 'acme' });
    await watch.until(caughtUp);
    expect(servers.coordinator.listeners.size).toBe(1);
    watch.stream.cancel();
    await expect.poll(() => servers.coordinator.listeners.size, { timeout: GONE_MS }).toBe(0);
  });
});

describe('a watch outlives what an answer to a unary call may take', () => {
  it.each(['grpc', 'connect'] as const)('on the %s server', async (server) => {
    const answers = { ...TRANSPORT_LIMITS.answers, timeMs: 100, checkMs: 20 };
    await start({ limits: { ...TRANSPORT_LIMITS, answers }, watchLimits: { keepAliveMs: 50 } });
    const watch = client(undefined, servers[server].port).watch({ budget: 'acme' });
    let count = 0;
    await watch.until(() => {
      count += 1;
      return count === 10;
    });
    watch.stream.cancel();
  });
});

describe('while nothing happens', () => {
  it.each([{ budget: 'acme' }, {}])('responses without events come with a cursor: %o', async (request) => {
    const caller = await start({ watchLimits: { keepAliveMs: 50 } });
    const watch = caller.watch(request);
    let count = 0;
    const responses = await watch.until(() => {
      count += 1;
      return count === 4;
    });
    expect(responses.every(({ events, caughtUp: all, cursor }) => events.length === 0 && all && cursor !== '')).toBe(
      true,
    );
    watch.stream.cancel();
  });
});

describe('one tree that cannot be read', () => {
  it('keeps no other from being told', async () => {
    const caller = await start();
    const { reads } = servers;
    for (const tree of ['a', 'b', 'c']) reads.journals.set(treeOf(tree), fakeJournal(tree, 2, AT_MS));
    const readEvents = reads.readEvents.bind(reads);
    const corrupt = Object.assign(new Error('b is not what was hashed'), { name: 'CorruptJournalError' });
    reads.readEvents = (tree, afterSeq, countMax) =>
      tree === treeOf('b') ? Promise.reject(corrupt) : readEvents(tree, afterSeq, countMax);
    const responses = await caller.watch({ start: FROM_BEGINNING }).until(caughtUp);
    expect(responses.flatMap(({ events }) => events).map(({ tree }) => tree)).toEqual(['a', 'a', 'c', 'c']);
    const alone = caller.watch({ budget: 'b', start: FROM_BEGINNING });
    alone.stream.resume();
    expect(await alone.ended).toMatchObject({ code: status.UNAVAILABLE, reason: 'TREE_QUARANTINED' });
    expect(servers.errors).toHaveLength(2);
    // Once it is mended, the cursor goes on where it was.
    reads.readEvents = readEvents;
    const after = { case: 'cursor', value: responses.at(-1)?.cursor ?? '' } as const;
    const rest = await caller.watch({ start: after }).until(caughtUp);
    expect(rest.flatMap(({ events }) => events).map(({ tree }) => tree)).toEqual(['b', 'b']);
  });
});

describe('over HTTP', () => {
  /** A streaming request of Connect, and the messages of its response. */
  async function post(body: string): Promise<{ flags: number; json: Record<string, unknown> }[]> {
    const head = Buffer.alloc(5);
    head.writeUInt32BE(Buffer.byteLength(body), 1);
    const response = await fetch(`http://127.0.0.1:${servers.connect.port}${PATH}`, {
      method: 'POST',
      headers: { 'content-type': 'application/connect+json' },
      body: Buffer.concat([head, Buffer.from(body)]),
    });
    const messages: { flags: number; json: Record<string, unknown> }[] = [];
    let rest = Buffer.alloc(0);
    for await (const chunk of response.body ?? []) {
      rest = Buffer.concat([rest, chunk as Uint8Array]);
      while (rest.length >= 5 && rest.length >= 5 + rest.readUInt32BE(1)) {
        const end = 5 + rest.readUInt32BE(1);
        const json = JSON.parse(rest.subarray(5, end).toString()) as Record<string, unknown>;
        messages.push({ flags: rest[0] ?? 0, json });
        rest = rest.subarray(end);
        if (json['caughtUp'] === true) return messages;
      }
    }
    return messages;
  }

  it('a watch is JSON, message by message', async () => {
    await start();
    servers.reads.journals.set(treeOf('acme'), fakeJournal('acme', 2, AT_MS));
    const messages = await post('{"budget": "acme", "fromBeginning": true}');
    const events = messages.flatMap(({ json }) => json['events'] as Record<string, unknown>[]);
    expect(events.map(({ kind, sequence, budget }) => [kind, sequence, budget])).toEqual([
      ['EVENT_KIND_BUDGET_CREATED', '1', 'acme'],
      ['EVENT_KIND_BUDGET_UPDATED', '2', 'acme'],
    ]);
  });

  it.each([
    ['{"budget": "acme", "colour": "red"}', 'colour'],
    ['{"budget": "no path"}', 'budget'],
    ['{"budget": "acme", "kinds": [77]}', 'kinds[0]'],
    ['{"cursor": "bm9uZQ"}', 'cursor'],
  ])('%s is refused, and the field named', async (body, field) => {
    await start();
    const [last] = await post(body);
    const error = last?.json['error'] as { code: string; details: { type: string; debug?: unknown }[] };
    expect(last?.flags).toBe(2);
    expect(error.code).toBe('invalid_argument');
    expect(JSON.stringify(error)).toContain('INVALID_FIELD');
    expect(JSON.stringify(error)).toContain(field);
  });

  it('a peer that goes away ends its watch', async () => {
    await start();
    const session = connectSession(`http://127.0.0.1:${servers.connect.port}`);
    const stream = session.request({ ':method': 'POST', ':path': PATH, 'content-type': 'application/connect+json' });
    const body = '{"budget": "acme"}';
    const head = Buffer.alloc(5);
    head.writeUInt32BE(body.length, 1);
    stream.end(Buffer.concat([head, Buffer.from(body)]));
    await new Promise((resolve) => stream.once('data', resolve));
    expect(servers.coordinator.listeners.size).toBe(1);
    session.destroy();
    await expect.poll(() => servers.coordinator.listeners.size, { timeout: GONE_MS }).toBe(0);
  });
});
