// The store on PostgreSQL keeps the contract.
import { createPostgresStore } from '../../src/store/postgres-store.ts';
import { createDatabase } from '../support/postgres.ts';
import { describeStoreContract } from './store-contract.ts';

describeStoreContract('the store on PostgreSQL', async () => {
  const database = await createDatabase();
  const store = await createPostgresStore({ url: database.url });
  return {
    store,
    close: async () => {
      await store.close();
      await database.drop();
    },
  };
});
