// One page of a list that is in memory, in the order of a key of its entries. Its own file because every list of prices is cut so.
import type { DescMessage, MessageShape } from '@bufbuild/protobuf';
import { type ApiRefusal, invalidFields } from '../api-refusal.ts';
import { encodePageToken, queryDigest } from '../page-token.ts';
import { checkPageSize, checkPageToken } from '../validate/list-queries.ts';
import type { Problems } from '../validate/problems.ts';
import { cutPage } from './list-page.ts';

/** An entry with its key, which no other entry has. */
export interface Keyed<M> {
  readonly key: string;
  readonly message: M;
}

/** A page, and the token for the next one; empty on the last. */
export interface KeyPage<M> {
  readonly messages: M[];
  readonly nextPageToken: string;
}

/** Cuts the page that a request asks for. `fields` are those of the request that its token is bound to. */
export function pageOf<D extends DescMessage>(
  desc: D,
  entries: readonly Keyed<MessageShape<D>>[],
  method: string,
  fields: readonly string[],
  { pageSize, pageToken }: { readonly pageSize: number; readonly pageToken: string },
): KeyPage<MessageShape<D>> | ApiRefusal {
  const problems: Problems = [];
  const countMax = checkPageSize(problems, pageSize);
  const digest = queryDigest(method, fields);
  const after = checkPageToken(problems, digest, pageToken, (last) => last);
  if (problems.length > 0) return invalidFields(problems);
  const rest = entries.filter(({ key }) => after === undefined || key > after).sort((a, b) => (a.key < b.key ? -1 : 1));
  const messages = cutPage(
    desc,
    rest.map(({ message }) => message),
    countMax,
  );
  const last = rest[messages.length - 1];
  const isLast = messages.length === rest.length || last === undefined;
  return { messages: [...messages], nextPageToken: isLast ? '' : encodePageToken(digest, last.key) };
}
