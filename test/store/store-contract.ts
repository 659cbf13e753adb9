// What every store promises, told once and run over each of them. A store that passes can stand in for any other.
import { afterAll, beforeAll, beforeEach, describe } from 'vitest';
import { describeAlerts } from './contract-alerts.ts';
import { describeAppend } from './contract-append.ts';
import { describeHistory } from './contract-history.ts';
import { describeLease } from './contract-lease.ts';
import { describeLoad } from './contract-load.ts';
import { describePriced } from './contract-priced.ts';
import { describePrices } from './contract-prices.ts';
import { describeProject } from './contract-project.ts';
import { describeQueue } from './contract-queue.ts';
import { describeReads } from './contract-reads.ts';
import { describeWindows } from './contract-windows.ts';
import { ContractWorld, type FullStore } from './contract-world.ts';

/** A store under test, and how to let it go. */
export interface StoreUnderTest {
  readonly store: FullStore;
  close(): Promise<void>;
}

/** Runs the contract over a store that is empty at first. */
export function describeStoreContract(name: string, open: () => Promise<StoreUnderTest>): void {
  describe(`${name} keeps the store's contract:`, () => {
    const world = new ContractWorld();
    let opened: StoreUnderTest | undefined;
    beforeAll(async () => {
      opened = await open();
      await world.enter(opened.store);
    });
    afterAll(() => opened?.close());
    beforeEach(() => world.nextTree());

    describeAppend(world);
    describeProject(world);
    describeLoad(world);
    describeQueue(world);
    describeReads(world);
    describeWindows(world);
    describeHistory(world);
    describeAlerts(world);
    describePriced(world);
    describePrices(world);
    describeLease(world);
  });
}
