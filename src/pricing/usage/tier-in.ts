// The tier that a response says beside its usage. It is no part of the report, and those who copy an interface put there what they
// like, so that nothing in its place is a fault of the report.
import { isText } from '../whole.ts';
import { field, isFields, type Report, WORD_LENGTH_MAX } from './report.ts';
import { UNREADABLE_TIER, type Usage } from './usage.ts';

/** The word in a field, or the `type` of an object there; UNREADABLE_TIER where it is neither. */
export function tierIn(around: Report | undefined, name: string): Pick<Usage, 'serviceTier'> {
  const value = field(around, name);
  if (value === undefined) return {};
  const type = isFields(value) && Object.hasOwn(value, 'type') ? value['type'] : value;
  return { serviceTier: typeof type === 'string' && isText(type, WORD_LENGTH_MAX) ? type : UNREADABLE_TIER };
}
