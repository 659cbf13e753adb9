// Etags of budgets: opaque to callers, the revision to us.

const ETAG = /^r([1-9][0-9]{0,15})$/;

/** The etag of a revision. */
export function etagOf(revision: number): string {
  return `r${revision}`;
}

/** The revision that an etag stands for; undefined for a text that never was one. */
export function parseEtag(etag: string): number | undefined {
  const digits = ETAG.exec(etag)?.[1];
  const revision = digits === undefined ? Number.NaN : Number(digits);
  return Number.isSafeInteger(revision) ? revision : undefined;
}
