// Which errors of the driver and of PostgreSQL mean that the store is unavailable, and which are somebody's fault.
import { expect, it } from 'vitest';
import { StoreTimeoutError, StoreUnavailableError } from '../../../src/store/port.ts';
import { asksForRetry, isSessionEnd, isUniqueViolation, storeErrorOf } from '../../../src/store/sql-errors.ts';

const errorWith = (fields: object) => Object.assign(new Error('secret host and statement'), fields);

it.each([
  ['CONNECTION_CLOSED'],
  ['CONNECT_TIMEOUT'],
  ['ECONNREFUSED'],
  ['08006'],
  ['25006'],
  ['28P01'],
  ['3D000'],
  ['53100'],
  ['53300'],
  ['55P03'],
  ['57014'],
  ['57P01'],
  ['58030'],
])('%s: unavailable, told without a detail', (code) => {
  const cause = errorWith({ code });
  const error = storeErrorOf(cause);
  expect(error).toBeInstanceOf(StoreUnavailableError);
  expect((error as Error).message).toBe(`the store is unavailable (${code})`);
  expect((error as Error).cause).toBe(cause);
});

it.each([['23505'], ['42P01'], ['22P02'], ['XX000'], ['BD001'], ['40001'], ['ERR_INVALID_ARG_TYPE']])(
  '%s stays what it is',
  (code) => {
    const error = errorWith({ code });
    expect(storeErrorOf(error)).toBe(error);
  },
);

it.each([[undefined], ['text'], [new Error('no code')], [errorWith({ code: 7 })]])('%s stays what it is', (error) => {
  expect(storeErrorOf(error)).toBe(error);
  expect(isSessionEnd(error)).toBe(false);
});

it('a question that was given up is a time-out of its own, which callers may take for an unavailable store', () => {
  const cause = errorWith({ code: '57014' });
  const error = storeErrorOf(cause, true);
  expect(error).toBeInstanceOf(StoreTimeoutError);
  expect(error).toBeInstanceOf(StoreUnavailableError);
  expect(error).toMatchObject({ name: 'StoreTimeoutError', message: 'the store could not answer in time', cause });
  expect(storeErrorOf(cause)).not.toBeInstanceOf(StoreTimeoutError);
  expect(storeErrorOf(errorWith({ code: '57P01' }), true)).not.toBeInstanceOf(StoreTimeoutError);
});

it('an unavailable store is not wrapped again', () => {
  const error = new StoreUnavailableError('down');
  expect(storeErrorOf(error)).toBe(error);
});

it('retries, sessions that ended and unique violations are told apart', () => {
  expect(['40001', '40P01', '23505'].map((code) => asksForRetry(errorWith({ code })))).toStrictEqual([
    true,
    true,
    false,
  ]);
  expect(isSessionEnd(errorWith({ code: 'CONNECTION_DESTROYED' }))).toBe(true);
  expect(isSessionEnd(errorWith({ code: '57P01', severity: 'FATAL' }))).toBe(true);
  expect(isSessionEnd(errorWith({ code: '57014', severity: 'ERROR' }))).toBe(false);
  const unique = errorWith({ code: '23505', constraint_name: 'a_key' });
  expect([
    isUniqueViolation(unique),
    isUniqueViolation(unique, 'a_key'),
    isUniqueViolation(unique, 'b_key'),
  ]).toStrictEqual([true, true, false]);
});
