// Tokens and permissions: who a caller is, and what each role may do inside and outside its subtree.
import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { isRefusal } from '../../../src/api/api-refusal.ts';
import type { Actor, Role } from '../../../src/api/auth/actor.ts';
import { createAuthenticator } from '../../../src/api/auth/authenticator.ts';
import { judgeList, Permissions } from '../../../src/api/auth/permissions.ts';
import type { Answer } from '../../../src/kernel/answer.ts';
import type { Command, CommandKind } from '../../../src/kernel/command.ts';
import type { ReservationId, TreeId } from '../../../src/kernel/names.ts';
import { fakeReservation, path, reservationShown } from '../../support/fake-coordinator.ts';

describe('createAuthenticator', () => {
  const hashed = createHash('sha256').update('s3cret').digest('hex');
  const authenticate = createAuthenticator([
    { name: 'root', role: 'admin', secret: { plaintext: 'top' } },
    { name: 'ci', role: 'agent', subtree: path('acme/ci'), secret: { sha256: hashed.toUpperCase() } },
  ]);

  it.each([
    ['Bearer top', 'root'],
    ['bearer   top', 'root'],
    ['Bearer s3cret', 'ci'],
  ])('knows %j', (header, name) => {
    expect(authenticate(header)).toMatchObject({ name });
  });

  it.each([
    undefined,
    '',
    'top',
    'Basic top',
    'Bearer',
    'Bearer ',
    'Bearer to',
    'Bearer topp',
    'Bearer top x',
    `Bearer ${hashed}`,
  ])('refuses %j', (header) => {
    expect(authenticate(header)).toMatchObject({ reason: 'UNAUTHENTICATED' });
  });

  it('refuses a secret of any length without hashing it', () => {
    expect(authenticate(`Bearer ${'x'.repeat(1_025)}`)).toMatchObject({ reason: 'UNAUTHENTICATED' });
  });

  it('takes everybody for the anonymous admin where there are no tokens', () => {
    expect(createAuthenticator([])(undefined)).toEqual({ name: 'anonymous', role: 'admin', subtree: undefined });
  });

  it.each([{ plaintext: '' }, { sha256: 'abc' }, { sha256: `${'0'.repeat(63)}x` }])(
    'refuses the secret %j',
    (secret) => {
      expect(() => createAuthenticator([{ name: 't', role: 'admin', secret }])).toThrow(TypeError);
    },
  );
});

const id = '06fk2xw8q40000000001' as ReservationId;
const base = { actor: 'x', key: undefined, personal: undefined };

/** A command of this kind; those on reservations name one of the tree, the others the budget. */
function command(kind: CommandKind, budget: string): Command {
  const treeId = budget.split('/')[0] as TreeId;
  const renewals = [{ id, ttlMs: 60_000 }];
  const onBudget = kind === 'Reserve' || kind.endsWith('Budget') || kind === 'TopUp';
  const named = onBudget ? { budget: path(budget), also: [] } : {};
  return { ...base, kind, treeId, id, renewals, ...named } as unknown as Command;
}

const kinds: readonly CommandKind[] = [
  'Reserve',
  'Extend',
  'Settle',
  'Release',
  'Renew',
  'GetReservation',
  'GetBudget',
  'CreateBudget',
  'UpdateBudget',
  'CloseBudget',
  'SuspendBudget',
  'ResumeBudget',
  'TopUp',
  'Expire',
  'CloseIdle',
];
const allowed: Readonly<Record<Role, readonly CommandKind[]>> = {
  admin: kinds.slice(0, 13),
  agent: kinds.slice(0, 7),
  auditor: ['GetReservation', 'GetBudget'],
};

/** Permissions over reservations that all belong to `budget`, or to none. */
function permissionsOver(budget: string | undefined) {
  const asked: Command[] = [];
  const submit = async (read: Command): Promise<Answer> => {
    asked.push(read);
    if (budget === undefined) return { kind: 'refusal', reason: 'RESERVATION_NOT_FOUND', message: 'none' };
    return reservationShown('acme', fakeReservation(id, { budget: path(budget) }));
  };
  return { asked, permissions: new Permissions(submit) };
}

const roles: readonly Role[] = ['admin', 'agent', 'auditor'];
const matrix = roles.flatMap((role) => kinds.map((kind) => ({ role, kind, may: allowed[role].includes(kind) })));

describe('Permissions', () => {
  it.each(matrix)('$role without a subtree, $kind: $may', async ({ role, kind, may }) => {
    const { permissions, asked } = permissionsOver('acme/x');
    const verdict = await permissions.judge({ name: 'a', role, subtree: undefined }, command(kind, 'acme/x'));
    expect(verdict?.reason).toBe(may ? undefined : 'FORBIDDEN');
    expect(asked).toEqual([]);
  });

  it.each(matrix)('$role of acme/a, $kind inside it: $may', async ({ role, kind, may }) => {
    const { permissions } = permissionsOver('acme/a/run');
    const verdict = await permissions.judge({ name: 'a', role, subtree: path('acme/a') }, command(kind, 'acme/a/run'));
    expect(verdict?.reason).toBe(may ? undefined : 'FORBIDDEN');
  });

  it.each(matrix)('$role of acme/a, $kind outside it: never', async ({ role, kind }) => {
    for (const elsewhere of ['acme', 'acme/b', 'acme/ab', 'other', 'other/a']) {
      const { permissions } = permissionsOver('acme/ab');
      const verdict = await permissions.judge({ name: 'a', role, subtree: path('acme/a') }, command(kind, elsewhere));
      expect(verdict?.reason).toBe('FORBIDDEN');
    }
  });

  const agent: Actor = { name: 'a', role: 'agent', subtree: path('acme/a') };

  it('lets a Reserve charge no budget outside the subtree', () => {
    const { permissions, asked } = permissionsOver(undefined);
    const reserve = (...also: string[]) => ({ ...command('Reserve', 'acme/a/run'), also: also.map(path) }) as Command;
    expect(permissions.judge(agent, reserve('acme/a', 'acme/a/kim'))).toBeUndefined();
    for (const elsewhere of ['acme', 'acme/b', 'acme/ab']) {
      expect(permissions.judge(agent, reserve('acme/a/kim', elsewhere))).toMatchObject({
        reason: 'FORBIDDEN',
        budget: elsewhere,
        message: `this token may not do this here: ${elsewhere} is outside its subtree`,
      });
    }
    expect(permissions.judge({ ...agent, subtree: undefined }, reserve('acme/b'))).toBeUndefined();
    expect(asked).toEqual([]);
  });

  it('lets nobody take from siblings of the budget that its subtree begins with', () => {
    const { permissions } = permissionsOver(undefined);
    const admin: Actor = { ...agent, role: 'admin' };
    const nothing = { floorMicros: 0n, sharePercent: undefined, weight: 1 };
    const create = (at: string, shares: object) =>
      permissions.judge(admin, { ...command('CreateBudget', at), ...nothing, ...shares } as Command);
    const update = (at: string, shares: object) =>
      permissions.judge(admin, { ...command('UpdateBudget', at), ...shares } as Command);
    expect([create('acme/a', {}), update('acme/a', {})]).toEqual([undefined, undefined]);
    for (const shares of [{ floorMicros: 1n }, { sharePercent: 90 }, { weight: 2 }]) {
      expect(create('acme/a', shares)).toMatchObject({ reason: 'FORBIDDEN', budget: 'acme' });
      expect(update('acme/a', shares)).toMatchObject({ reason: 'FORBIDDEN', budget: 'acme' });
      expect([create('acme/a/x', shares), update('acme/a/x', shares)]).toEqual([undefined, undefined]);
    }
    const whole: Actor = { ...admin, subtree: path('acme') };
    expect(permissions.judge(whole, { ...command('UpdateBudget', 'acme'), weight: 2 } as Command)).toBeUndefined();
  });

  it('answers the same for a reservation that is elsewhere and for one that does not exist', async () => {
    const elsewhere = await permissionsOver('acme/b').permissions.judge(agent, command('Settle', 'acme'));
    const nowhere = await permissionsOver(undefined).permissions.judge(agent, command('Settle', 'acme'));
    expect(elsewhere).toBeDefined();
    expect(nowhere).toEqual(elsewhere);
  });

  it('looks a reservation up once', async () => {
    const { permissions, asked } = permissionsOver('acme/a');
    await permissions.judge(agent, command('Renew', 'acme'));
    expect(permissions.judge(agent, command('Settle', 'acme'))).toBeUndefined();
    expect(asked.map(({ kind }) => kind)).toEqual(['GetReservation']);
  });

  it('looks nothing up where the whole tree is the actor’s, or what it reserved itself', () => {
    const { permissions, asked } = permissionsOver('acme/a');
    expect(permissions.judge({ ...agent, subtree: path('acme') }, command('Settle', 'acme'))).toBeUndefined();
    permissions.learn('acme' as TreeId, id, path('acme/a/run'));
    expect(permissions.judge(agent, command('Settle', 'acme'))).toBeUndefined();
    expect(asked).toEqual([]);
  });

  it('passes on why a look-up failed, and does not remember it', async () => {
    let down = true;
    const permissions = new Permissions(async () =>
      down
        ? { kind: 'refusal', reason: 'STORE_UNAVAILABLE', message: 'away', retryAfterMs: 1 }
        : reservationShown('acme', fakeReservation(id, { budget: path('acme/a') })),
    );
    expect(await permissions.judge(agent, command('Settle', 'acme'))).toMatchObject({ reason: 'STORE_UNAVAILABLE' });
    down = false;
    expect(await permissions.judge(agent, command('Settle', 'acme'))).toBeUndefined();
  });

  it('lets lists see no more than the subtree', () => {
    expect(judgeList(agent, path('acme/a/b'))).toBeUndefined();
    for (const outside of [undefined, path('acme'), path('acme/ab')]) {
      const verdict = judgeList(agent, outside);
      expect(verdict !== undefined && isRefusal(verdict) && verdict.reason).toBe('FORBIDDEN');
    }
    expect(judgeList({ ...agent, subtree: undefined }, undefined)).toBeUndefined();
  });
});
