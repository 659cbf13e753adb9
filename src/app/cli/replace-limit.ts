// The limits of a budget after `set-limit`: one of them set, added or taken away, all others as they were. Pure; its own file because
// which limit is meant, and what window a new one has, must never be a guess.
import { create } from '@bufbuild/protobuf';
import { type Limit, WindowSchema } from '../../gen/budgetd/v1/limit_pb.ts';
import { limitName, windowOfName } from './limit-name.ts';
import { UsageError } from './usage-error.ts';
import { formatWindow, type WindowInit } from './window.ts';

/** How the limit is told. */
export interface ChosenLimit {
  /** As typed. */
  readonly limit?: string;
  readonly window?: WindowInit;
  /** Make it where it is not there. */
  readonly add?: boolean;
}

type LimitInit = Limit | { name: string; amountMicros: bigint; window: WindowInit };

/**
 * The limits after the edit; `amountMicros` undefined takes the limit away. A new limit has the window that was said, or the one
 * that its name is the name of. Throws UsageError where it is not clear which one is meant, or it is not there.
 */
export function replaceLimit(
  limits: readonly Limit[],
  chosen: ChosenLimit,
  amountMicros: bigint | undefined,
): LimitInit[] {
  const names = limits.map((limit) => limit.name).join(', ') || 'none';
  const name = chosen.limit === undefined ? undefined : limitName(chosen.limit);
  const { window } = chosen;
  const text = window === undefined ? undefined : formatWindow(create(WindowSchema, window));
  const fits = (limit: Limit): boolean =>
    (name === undefined || limit.name === name) && (text === undefined || formatWindow(limit.window) === text);
  if (name === undefined && text === undefined && limits.length !== 1) {
    throw new UsageError(`say which limit with --limit or --window; there are: ${names}`);
  }
  const [found, other] = limits.filter(fits);
  if (other !== undefined)
    throw new UsageError(`several limits count ${text}, say which with --limit; there are: ${names}`);
  if (found !== undefined && amountMicros === undefined) return limits.filter((limit) => limit !== found);
  if (found !== undefined)
    return limits.map((limit) => (limit === found ? { ...limit, amountMicros: amountMicros ?? 0n } : limit));
  const namesake = limits.find((limit) => limit.name === name);
  if (namesake !== undefined) {
    throw new UsageError(`limit ${name} counts ${formatWindow(namesake.window)}, not ${text}`);
  }
  const meant = [name === undefined ? '' : `named ${name}`, text === undefined ? '' : `of ${text}`].join(' ').trim();
  const way = amountMicros === undefined ? '' : '; --add makes it';
  if (amountMicros === undefined || chosen.add !== true) {
    throw new UsageError(`no limit is ${meant} (there are: ${names})${way}`);
  }
  return [...limits, newLimit(name, window, amountMicros)];
}

function newLimit(name: string | undefined, window: WindowInit | undefined, amountMicros: bigint): LimitInit {
  const named = name === undefined ? undefined : windowOfName(name);
  if (window !== undefined) return { name: name ?? '', amountMicros, window };
  if (named === undefined) {
    throw new UsageError(
      `say in which window the new limit ${name} counts: --window lifetime, day@Europe/Amsterdam ...`,
    );
  }
  return { name: name ?? '', amountMicros, window: named };
}
