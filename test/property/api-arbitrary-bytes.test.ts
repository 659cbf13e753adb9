// Hostile bytes: whatever arrives as a message or as a frame, on whichever method, the server answers with a status or a
// reply and goes on serving.
import * as fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { SERVICE_DESCS } from '../../src/api/services/served-methods.ts';
import { BudgetService } from '../../src/gen/budgetd/v1/budget_pb.ts';
import { ApiClient, startApiServers } from '../support/api-servers.ts';

let servers: Awaited<ReturnType<typeof startApiServers>>;
let clients: ApiClient[];

beforeAll(async () => {
  servers = await startApiServers();
  clients = [new ApiClient(servers.grpc.port), new ApiClient(servers.connect.port)];
});

afterAll(async () => {
  for (const client of clients) client.close();
  await servers.stop();
});

const paths = SERVICE_DESCS.flatMap(({ typeName, methods }) =>
  methods.filter(({ methodKind }) => methodKind === 'unary').map(({ name }) => `/${typeName}/${name}`),
);

// Pure noise is refused at its first bytes; fields with a plausible tag and any content get further.
const field = fc
  .tuple(fc.integer({ min: 1, max: 20 }), fc.uint8Array({ maxLength: 40 }))
  .map(([number, content]) => [(number << 3) | 2, content.length, ...content]);
const varint = fc
  .tuple(fc.integer({ min: 1, max: 15 }), fc.uint8Array({ minLength: 1, maxLength: 10 }))
  .map(([number, content]) => [number << 3, ...content]);
const message = fc.oneof(
  fc.uint8Array({ maxLength: 200 }),
  fc.array(fc.oneof(field, varint), { maxLength: 12 }).map((parts) => Uint8Array.from(parts.flat())),
);

it('answers any bytes on any unary method', async () => {
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...paths), message, async (path, bytes) => {
      for (const client of clients) {
        const reply = await client.raw(path, bytes);
        if ('types' in reply) expect(reply.message).not.toBe('');
      }
    }),
    { numRuns: 300 },
  );
  expect(servers.errors).toEqual([]);
});

it('ends or answers a Session of any frames', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(message, { minLength: 1, maxLength: 4 }), async (frames) => {
      for (const client of clients) {
        const session = client.session();
        for (const frame of frames) session.stream.write(Buffer.from(frame));
        session.stream.end();
        expect([0, 3]).toContain((await session.ended).code);
      }
    }),
    { numRuns: 100 },
  );
  expect(servers.errors).toEqual([]);
  for (const client of clients) {
    expect('code' in (await client.call(BudgetService.method.getBudget, { budget: 'acme' }))).toBe(false);
  }
});
