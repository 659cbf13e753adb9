// Names of limits as people type them. Its own file because every command that names a limit takes a window's name in either
// spelling: as the window is typed (`day@Asia/Tokyo`) and as the service calls it (`day:Asia/Tokyo`).
import { create } from '@bufbuild/protobuf';
import { windowName } from '../../api/validate/window-name.ts';
import { WindowSchema } from '../../gen/budgetd/v1/limit_pb.ts';
import { UsageError } from './usage-error.ts';
import { parseWindow, type WindowInit } from './window.ts';
import { windowRule } from './window-rule.ts';

/** The window that a name is the name of; undefined where it is a name that somebody chose. */
export function windowOfName(name: string): WindowInit | undefined {
  try {
    return parseWindow(name.replace(/^(hour|day|week|month):/, '$1@'));
  } catch (error) {
    if (error instanceof UsageError) return undefined;
    throw error;
  }
}

/** A name as the service knows it. Throws UsageError for that of a window which the service would refuse. */
export function limitName(typed: string): string {
  const window = windowOfName(typed);
  return window === undefined ? typed : windowName(windowRule(create(WindowSchema, window)));
}
