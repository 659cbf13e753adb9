// Model calls that wait: their price stays, what budgets let through does not, and a cheaper call is offered as soon as it fits.
import { beforeEach, describe, expect, it } from 'vitest';
import { apply } from '../../../src/kernel/apply.ts';
import type { Entry } from '../../../src/kernel/entry.ts';
import { ANY_MODEL, type Unpriced } from '../../../src/kernel/price.ts';
import { TreeState } from '../../../src/kernel/tree-state.ts';
import { createPricing } from '../../../src/lane/pricing.ts';
import { buildPriceBook, type PriceBook } from '../../../src/pricing/price-book.ts';
import { decodeEntries, encodeEntries } from '../../../src/store/entry-codec.ts';
import { granted, refused } from '../../support/kernel-driver.ts';
import { QueueDriver } from '../../support/queue-driver.ts';
import { callOf, testBook, testPricing, testRow } from '../../support/test-prices.ts';
import { rolling } from '../../support/windows.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const GPT = callOf('openai/gpt-4o');
const GPT_MICROS = 3_500;
const MINI_MICROS = 210;

let driver: QueueDriver;

beforeEach(() => {
  driver = new QueueDriver();
});

function waits(options: object = {}): string {
  const command = driver.make.reserve('t', 0, { waitMs: 2 * HOUR_MS, key: 'k', call: GPT, ...options });
  const answer = driver.run(command);
  if (answer.kind !== 'queued') throw new Error(answer.kind);
  return answer.id;
}

describe('an alternative of one that waits', () => {
  // 500 go out of the window after half an hour, which the cheaper one can do with; the rest after an hour.
  beforeEach(() => {
    const limits = { hour: rolling(HOUR_MS, 4_000) };
    driver.run(driver.make.create('t', { limits, enforcement: { onExhaustion: 'degrade' } }));
    driver.settle(driver.hold('t', 500), 500);
    driver.advance(30 * MINUTE_MS);
    driver.settle(driver.hold('t', 3_500), 3_500);
  });

  function minutesUntilTold(): readonly [number, ReturnType<QueueDriver['told']>] {
    for (let minute = 0; minute <= 120; minute += 1) {
      if (driver.state.queue?.isDue(driver.nowMs) === true) driver.look();
      const told = driver.told();
      if (Object.keys(told).length > 0) return [minute, told];
      driver.advance(MINUTE_MS);
    }
    throw new Error('nobody was told');
  }

  it('that is a call is granted as soon as it fits, as one by amount is', () => {
    const call = { label: 'mini', maxMicros: 0n, call: callOf('openai/gpt-4o-mini') };
    const unpriced = { label: 'unknown', maxMicros: 0n, call: callOf('openai/gpt-99') };
    const id = waits({ alternatives: [unpriced, call] });
    expect(minutesUntilTold()).toStrictEqual([31, { [id]: MINI_MICROS }]);
    expect(driver.state.reservation(id as never)?.alternative).toBe('mini');
  });

  it('that is dearer does not wake anybody', () => {
    const id = waits({ alternatives: [{ label: 'dear', maxMicros: 0n, call: callOf('anthropic/claude-sonnet-4') }] });
    expect(minutesUntilTold()).toStrictEqual([61, { [id]: GPT_MICROS }]);
  });
});

describe('rules on models', () => {
  let hold: string;

  beforeEach(() => {
    driver.run(driver.make.create('t', { limits: GPT_MICROS }));
    hold = driver.hold('t', GPT_MICROS);
  });

  it.each([
    ['no model', { allowed: [] }],
    ['another model', { allowed: ['openai/gpt-4o-mini'] }],
    ['a cheaper tier', { maxTier: 'flex' }],
  ] as const)('that allow %s since send one that waits away', (_, models) => {
    const id = waits();
    driver.run(driver.make.update('t', { models }));
    driver.run(driver.make.release(hold));
    expect(driver.told()).toStrictEqual({ [id]: 'MODEL_NOT_ALLOWED' });
    expect(refused(driver.run(driver.make.reserve('t', 0, { call: GPT }))).reason).toBe('MODEL_NOT_ALLOWED');
    driver.run(driver.make.update('t', { models: { allowed: undefined, maxTier: undefined } }));
    const again = driver.make.reserve('t', 0, { waitMs: 2 * HOUR_MS, key: 'k', call: GPT });
    expect(driver.run(again)).toEqual(driver.refusalOf(id));
  });

  it('that let it through leave it its place and the price that it came with', () => {
    const id = waits();
    driver.pricing = dearer();
    driver.run(driver.make.update('t', { models: { allowed: ['openai/gpt-4o'] } }));
    expect(driver.told()).toStrictEqual({});
    driver.run(driver.make.release(hold));
    expect(driver.told()).toStrictEqual({ [id]: GPT_MICROS });
  });

  it('hold after the tree was read back from its journal', () => {
    waits();
    const text = encodeEntries(driver.journal);
    const read = new TreeState(driver.state.treeId, { seq: 0, atMs: 0, budgetCount: 0 });
    for (const entry of decodeEntries(text, () => undefined)) apply(read, entry as Entry);
    expect([...(read.queue?.waiting() ?? [])].map(({ queued }) => queued.call)).toStrictEqual([GPT]);
  });
});

describe('rules on models while there is no price book', () => {
  const RULES = {
    none: { allowed: [] },
    another: { allowed: ['openai/gpt-4o-mini'] },
    alias: { allowed: ['openai/our-model'] },
    itself: { allowed: ['openai/gpt-4o'] },
    tier: { maxTier: 'flex' },
  } as const;
  const UNREAD: Unpriced = { kind: 'unpriced', reason: 'STORE_UNAVAILABLE', message: 'not read', retryAfterMs: 1_000 };
  const UNREADABLE: Unpriced = { kind: 'unpriced', reason: 'PRICE_UNKNOWN', message: 'not to be read' };
  let hold: string;
  let id: string;

  beforeEach(() => {
    driver.run(driver.make.create('t', { limits: GPT_MICROS }));
    hold = driver.hold('t', GPT_MICROS, { ttlMs: 10 * HOUR_MS });
    id = waits();
  });

  function withoutBook(why: Unpriced, rules: keyof typeof RULES): void {
    driver.pricing = createPricing({ book: () => why, outputTokensDefault: 4_096 });
    driver.run(driver.make.update('t', { models: RULES[rules] }));
    driver.run(driver.make.release(hold));
  }

  it.each([
    ['none', UNREAD, 'MODEL_NOT_ALLOWED'],
    ['none', UNREADABLE, 'MODEL_NOT_ALLOWED'],
    ['tier', UNREADABLE, 'MODEL_NOT_ALLOWED'],
    ['another', UNREADABLE, 'PRICE_UNKNOWN'],
    ['itself', UNREADABLE, GPT_MICROS],
  ] as const)('%s: what they say without it is done, and nothing granted that they may forbid', (rules, why, told) => {
    withoutBook(why, rules);
    expect(driver.told()).toStrictEqual({ [id]: told });
  });

  it('that is about to be read keep one in its place, which is looked at again then', () => {
    withoutBook(UNREAD, 'another');
    expect(driver.told()).toStrictEqual({});
    expect(driver.state.queueDueMs).toBe(driver.nowMs + 1_000);
    // Nobody slips past.
    expect(refused(driver.run(driver.make.reserve('t', 1))).reason).toBe('CAPACITY_HELD');
    driver.advance(1_000);
    driver.look();
    expect(driver.told()).toStrictEqual({});
    driver.pricing = testPricing();
    driver.advance(1_000);
    driver.look();
    expect(driver.told()).toStrictEqual({ [id]: 'MODEL_NOT_ALLOWED' });
  });

  it('that is about to be read end no wait that they allow by an alias', () => {
    withoutBook(UNREAD, 'alias');
    driver.pricing = testPricing(() => bookWithAlias('our-model', 'gpt-4o'));
    driver.advance(1_000);
    driver.look();
    expect(driver.told()).toStrictEqual({ [id]: GPT_MICROS });
  });

  it('let no request through at once either, of which the price is asked for in vain', () => {
    withoutBook(UNREAD, 'none');
    const call = (rules: keyof typeof RULES) => {
      driver.run(driver.make.update('t', { models: { ...ANY_MODEL, ...RULES[rules] } }));
      return refused(driver.run(driver.make.reserve('t', 0, { call: GPT }))).reason;
    };
    expect((['none', 'tier', 'another', 'itself'] as const).map(call)).toStrictEqual([
      'MODEL_NOT_ALLOWED',
      'MODEL_NOT_ALLOWED',
      'STORE_UNAVAILABLE',
      'STORE_UNAVAILABLE',
    ]);
  });
});

describe('what enforcement would have said to one that waits, while there is no price book', () => {
  const UNREAD: Unpriced = { kind: 'unpriced', reason: 'STORE_UNAVAILABLE', message: 'not read', retryAfterMs: 1_000 };
  const UNREADABLE: Unpriced = { kind: 'unpriced', reason: 'PRICE_UNKNOWN', message: 'not to be read' };
  const MODES = ['observe', 'warn', 'soft'] as const;
  const ALIAS = { allowed: ['openai/our-model'] };
  let hold: string;

  /** One waits below a budget that only watches, or lets pass more than it says, and lists models by an alias. */
  function watched(mode: (typeof MODES)[number], amount = 10 * GPT_MICROS): string {
    driver.run(driver.make.create('t', { limits: GPT_MICROS }));
    const enforcement = { mode, toleranceMicros: mode === 'soft' ? 10_000n : 0n };
    driver.run(driver.make.create('t/w', { limits: amount, enforcement }));
    hold = driver.hold('t', GPT_MICROS, { ttlMs: 10 * HOUR_MS });
    const command = driver.make.reserve('t/w', 0, { waitMs: HOUR_MS, key: 'k', call: GPT });
    const answer = driver.run(command);
    if (answer.kind !== 'queued') throw new Error(answer.kind);
    return answer.id;
  }

  function free(why: Unpriced, models: object): void {
    driver.pricing = createPricing({ book: () => why, outputTokensDefault: 4_096 });
    driver.run(driver.make.update('t/w', { models }));
    driver.run(driver.make.release(hold));
  }

  const shadowOf = (id: string) => driver.state.reservation(id as never)?.shadow;

  // Soft refuses a call by itself, as enforce does.
  const WATCHING = MODES.filter((mode) => mode !== 'soft');

  it.each(
    WATCHING.flatMap(
      (mode) =>
        [
          [mode, 'gpt-4o', undefined],
          [mode, 'gpt-4o-mini', { mode, reason: 'MODEL_NOT_ALLOWED', budget: 't/w' }],
        ] as const,
    ),
  )('%s: is said once the book is read, where the alias is %s', (mode, model, shadow) => {
    const id = watched(mode);
    free(UNREAD, ALIAS);
    expect(driver.told()).toStrictEqual({});
    expect(driver.state.queueDueMs).toBe(driver.nowMs + 1_000);
    // Nobody slips past.
    expect(refused(driver.run(driver.make.reserve('t', 1))).reason).toBe('CAPACITY_HELD');
    driver.pricing = testPricing(() => bookWithAlias('our-model', model));
    driver.advance(1_000);
    driver.look();
    expect(driver.told()).toStrictEqual({ [id]: GPT_MICROS });
    expect(shadowOf(id)).toEqual(shadow);
  });

  it.each([UNREAD, UNREADABLE])('is said at once where it is known without it ($reason)', (why) => {
    const id = watched('observe');
    free(why, { allowed: [] });
    expect(driver.told()).toStrictEqual({ [id]: GPT_MICROS });
    expect(shadowOf(id)).toEqual({ mode: 'observe', reason: 'MODEL_NOT_ALLOWED', budget: 't/w' });
  });

  it.each([
    ['nothing', 10 * GPT_MICROS, undefined],
    ['what its limits say', 1, { mode: 'warn', reason: 'EXCEEDS_LIMIT', budget: 't/w' }],
  ] as const)(
    'is %s where the book can not be read: nobody waits for a budget that only watches',
    (_, amount, shadow) => {
      const id = watched('warn', amount);
      free(UNREADABLE, ALIAS);
      expect(driver.told()).toStrictEqual({ [id]: GPT_MICROS });
      expect(shadowOf(id)).toEqual(shadow);
    },
  );

  it('is never a fault of the moment', () => {
    for (const mode of MODES) {
      for (const why of [UNREAD, UNREADABLE]) {
        driver = new QueueDriver();
        watched(mode);
        free(why, ALIAS);
        driver.advance(2 * HOUR_MS);
        driver.look();
        const shadows = driver.journal.flatMap((entry) =>
          entry.type === 'Granted' ? (entry.reservation.shadow ?? []) : [],
        );
        expect(shadows).toEqual([]);
      }
    }
  });

  it('ends no wait: whose time is over meanwhile is told so, and may wait anew', () => {
    const id = watched('observe');
    free(UNREAD, ALIAS);
    driver.advance(HOUR_MS);
    driver.look();
    expect(driver.told()).toStrictEqual({ [id]: 'QUEUE_TIMEOUT' });
    expect(driver.refusalOf(id)).toMatchObject({ budget: 't', limit: 'lifetime', retryAfterMs: expect.any(Number) });
    const again = driver.run(driver.make.reserve('t/w', 0, { waitMs: HOUR_MS, key: 'k', call: GPT }));
    expect(refused(again).reason).toBe('STORE_UNAVAILABLE');
  });
});

describe('an alternative that is a call, while the book is not read yet', () => {
  const MINI = { label: 'mini', maxMicros: 0n, call: callOf('openai/gpt-4o-mini') };
  const SMALL = { label: 'small', maxMicros: 1n };
  const unread = () => {
    const why: Unpriced = { kind: 'unpriced', reason: 'STORE_UNAVAILABLE', message: 'x', retryAfterMs: 1_000 };
    driver.pricing = createPricing({ book: () => why, outputTokensDefault: 4_096 });
  };
  const reserve = (more: object = {}) =>
    driver.make.reserve('t', 1_000, { key: 'a', alternatives: [MINI, SMALL], ...more });

  beforeEach(() => {
    driver.run(driver.make.create('t', { limits: 1_000, enforcement: { onExhaustion: 'degrade' } }));
    driver.settle(driver.hold('t', 500), 500);
  });

  it.each([1_000, 5_000])(
    'leaves a request for %s open, and neither a refusal nor another alternative is its answer',
    (max) => {
      unread();
      const seq = driver.journal.length;
      const ask = () => driver.run(driver.make.reserve('t', max, { key: 'a', alternatives: [MINI, SMALL] }));
      expect(refused(ask())).toMatchObject({ reason: 'STORE_UNAVAILABLE', retryAfterMs: 1_000 });
      expect(driver.journal).toHaveLength(seq);
      driver.pricing = testPricing();
      expect(ask()).toMatchObject({ kind: 'reservation', reservation: { alternative: 'mini' } });
    },
  );

  it('comes after those before it, and after what was asked for first', () => {
    unread();
    const other = driver.run(reserve({ alternatives: [SMALL, MINI] }));
    expect(other).toMatchObject({ kind: 'reservation', reservation: { alternative: 'small' } });
    const first = driver.run(driver.make.reserve('t', 10, { key: 'b', alternatives: [MINI] }));
    expect(first).toMatchObject({ kind: 'reservation', reservation: { alternative: '' } });
  });

  it('is granted to one that waits once the book is read, though nothing else happens', () => {
    unread();
    const answer = driver.run(reserve({ waitMs: HOUR_MS }));
    if (answer.kind !== 'queued') throw new Error(answer.kind);
    expect(driver.told()).toStrictEqual({});
    expect(driver.state.queueDueMs).toBe(driver.nowMs + 1_000);
    driver.pricing = testPricing();
    driver.advance(1_000);
    driver.look();
    expect(driver.told()).toStrictEqual({ [answer.id]: MINI_MICROS });
  });

  it('is what one that waits is shown to wait for, whether room would help it or not, as it would be refused for it', () => {
    unread();
    const answer = driver.run(reserve({ waitMs: HOUR_MS }));
    if (answer.kind !== 'queued') throw new Error(answer.kind);
    const standing = () => granted(driver.run(driver.make.getReservation(answer.id))).standing?.refusal.reason;
    expect(standing()).toBe('STORE_UNAVAILABLE');
    expect(refused(driver.run(reserve({ key: 'b' }))).reason).toBe('STORE_UNAVAILABLE');
    driver.run(driver.make.update('t', { limits: 900 }));
    expect(standing()).toBe('STORE_UNAVAILABLE');
    expect(driver.told()).toStrictEqual({});
  });

  it('keeps one in the queue that could not be granted what it asked for first any more', () => {
    unread();
    const answer = driver.run(reserve({ waitMs: 2_000 }));
    if (answer.kind !== 'queued') throw new Error(answer.kind);
    driver.run(driver.make.update('t', { limits: 900 }));
    expect(driver.told()).toStrictEqual({});
    driver.advance(2_000);
    driver.look();
    expect(driver.refusalOf(answer.id)).toMatchObject({ reason: 'QUEUE_TIMEOUT', retryAfterMs: expect.any(Number) });
  });
});

function bookWithAlias(alias: string, model: string): PriceBook {
  const row = testRow(`openai/${model}`, { input: 2_500_000n, output: 10_000_000n });
  const named = {
    provider: 'openai',
    alias,
    form: 'exact',
    model,
    origin: 'operator',
    addedBy: 'x',
    addedMs: 1,
  } as const;
  return buildPriceBook({ rows: [row], aliases: [named], unitRows: [], retirements: [] });
}

function dearer() {
  const row = testRow('openai/gpt-4o', { input: 25_000_000n, output: 100_000_000n }, { addedMs: 1 });
  return testPricing(() => testBook([row]));
}
