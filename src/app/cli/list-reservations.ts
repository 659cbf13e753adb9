// Reads reservations of a budget as far as somebody wants them. Its own file because all commands that add up what a budget was charged
// must find the same ones: the service lists by the budget that a reservation names, and one that charges a budget by "also" names another
// one, anywhere in the tree.

import type { MessageInitShape } from '@bufbuild/protobuf';
import {
  type ListReservationsRequestSchema,
  type Reservation,
  ReservationService,
} from '../../gen/budgetd/v1/reservation_pb.ts';
import { type Listing, readPages } from './pages.ts';
import type { Session } from './session.ts';

/** Which ones. */
export interface ReservationFilter
  extends Pick<
    Exclude<MessageInitShape<typeof ListReservationsRequestSchema>, { readonly $typeName: string }>,
    'state' | 'holder'
  > {
  /** It and all below it. */
  readonly budget: string;
  /** Those too that charge it by "also": the whole tree is read to find them. */
  readonly charged: boolean;
}

/** At most `rowsMax` of them. */
export function listReservations(
  session: Session,
  { budget: path, charged, ...rest }: ReservationFilter,
  rowsMax: number,
  firstPageToken = '',
): Promise<Listing<Reservation>> {
  const budget = charged ? (path.split('/', 1)[0] ?? path) : path;
  return readPages(rowsMax, firstPageToken, async (pageSize, pageToken) => {
    const request = { ...rest, budget, pageSize, pageToken };
    const page = await session.connection.call(ReservationService.method.listReservations, request);
    const rows = page.reservations.filter((row) => !charged || chargedPaths(row).some((each) => isWithin(path, each)));
    return { rows, nextPageToken: page.nextPageToken };
  });
}

/** The budgets that a reservation names: it charges them and all above them. */
export function chargedPaths({ budget, also }: Reservation): readonly string[] {
  return [budget, ...also];
}

/** Whether a path is that of a budget, or of one below it. */
export function isWithin(budget: string, path: string): boolean {
  return path === budget || path.startsWith(`${budget}/`);
}
