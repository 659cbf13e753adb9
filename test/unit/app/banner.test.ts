// Every line of the banner must work when pasted: it names the port and the token where budgetctl would not find them.
import { describe, expect, it } from 'vitest';
import { type BannerFacts, bannerText } from '../../../src/app/banner.ts';

const USUAL: BannerFacts = {
  version: '1.2.3',
  host: '127.0.0.1',
  grpcPort: 50_051,
  connectPort: 8_080,
  databaseKind: 'embedded',
  needsToken: false,
};

/** The lines to paste. */
const commandsOf = (change: Partial<BannerFacts>): readonly string[] =>
  [...bannerText({ ...USUAL, ...change }).matchAll(/^ {2}(.+)$/gm)].map(([, line = '']) => line);

describe('the banner', () => {
  it('is short where everything is as usual', () => {
    expect(commandsOf({})).toEqual([
      'npm run demo',
      'npm run budgetctl -- create demo --limit "10 USD"',
      'npm run budgetctl -- reserve demo "0.25 USD"',
      `curl -s http://127.0.0.1:8080/budgetd.v1.BudgetService/GetBudget -H 'content-type: application/json' -d '{"budget":"demo"}'; echo`,
      'grpcurl -plaintext 127.0.0.1:50051 list',
    ]);
  });

  it.each([
    [{ grpcPort: 41_000 }, '127.0.0.1:41000'],
    [{ host: '0.0.0.0', grpcPort: 41_000 }, '127.0.0.1:41000'],
    [{ host: 'localhost' }, 'localhost:50051'],
    [{ host: '::' }, '[::1]:50051'],
  ])('names the server with %o', (change, server) => {
    const [demo, create, reserve, , list] = commandsOf(change);
    for (const line of [demo, create, reserve]) expect(line).toMatch(`BUDGETD_SERVER=${server} npm run `);
    expect(list).toBe(`grpcurl -plaintext ${server} list`);
  });

  it('has a place for the token in every command', () => {
    const [demo, create, reserve, curl, list] = commandsOf({ needsToken: true });
    for (const line of [demo, create, reserve]) expect(line).toMatch(/^BUDGETD_TOKEN=… npm run /);
    for (const line of [curl, list]) expect(line).toContain(`-H 'authorization: Bearer …'`);
  });
});
