// The lane over PostgreSQL against the model: a short run, on a database of its own, with a tree for each case.
import { afterAll, beforeAll, it } from 'vitest';
import { createPostgresStore, type PostgresStore } from '../../src/store/postgres-store.ts';
import { createDatabase, type TestDatabase } from '../support/postgres.ts';
import { checkAgainstModel } from './all-commands.ts';
import { openLane } from './lane-target.ts';

let database: TestDatabase;
let store: PostgresStore;

beforeAll(async () => {
  database = await createDatabase();
  store = await createPostgresStore({ url: database.url });
});

afterAll(async () => {
  await store.close();
  await database.drop();
});

it('the lane over PostgreSQL answers as the model does', async () => {
  await checkAgainstModel((treeId, graceMs) => openLane(store, treeId, graceMs), { numRuns: 12, maxCommands: 40 });
});
