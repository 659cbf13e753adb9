// Templates of budgets as a command line takes them: proto JSON, which people write by hand. Its own file because what is wrong in it
// has to be said in few words, and because an example says more than a description.
import { fromJsonString, type MessageInitShape } from '@bufbuild/protobuf';
import { BudgetTemplateSchema } from '../../gen/budgetd/v1/terms_pb.ts';
import { readText } from '../read-text.ts';
import { UsageError } from './usage-error.ts';

/** A template with one of everything that people ask for: windows, a rate, bounds, and a template in it. */
export const TEMPLATE_EXAMPLE = `{
  "kind": "agent",
  "limits": [
    {"amountMicros": "20000000", "window": {"calendar": {"unit": "CALENDAR_UNIT_DAY", "timeZone": "Europe/Amsterdam"}}},
    {"amountMicros": "5000000", "window": {"rolling": {"duration": "3600s"}}}
  ],
  "rates": [{"kind": "RATE_KIND_TOKENS", "count": "200000", "per": "60s", "burst": "400000"}],
  "shape": {"maxActive": 10, "maxLease": "600s"},
  "childTemplate": {"kind": "run", "limits": [{"amountMicros": "2000000"}], "shape": {"closeAfter": "86400s"}}
}`;

// How the decoder begins: the kind of what it could not read, its package, its name.
const UNREADABLE = /^cannot decode [a-z]+ (?:[a-z0-9]+\.)*([A-Za-z_.]+) from JSON: /;

/** A template in proto JSON: the text itself, or the name of a file with it. Throws UsageError. */
export function parseTemplate(text: string): MessageInitShape<typeof BudgetTemplateSchema> {
  const json = text.trimStart().startsWith('{') ? text : readTemplate(text);
  try {
    return fromJsonString(BudgetTemplateSchema, json);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new UsageError(`${why.replace(UNREADABLE, '$1: ')} (--help has an example)`);
  }
}

function readTemplate(file: string): string {
  try {
    return readText(file);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new UsageError(`takes JSON or a file with it: ${why}`);
  }
}
