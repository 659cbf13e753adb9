// The unit that a tree counts in. Its own file because a rule about units judges a tree that is to be made and no other: one that is
// there keeps its unit for good, whatever is said of new ones.

/** Unit of a tree whose root names none. */
export const UNIT_DEFAULT = 'USD';

/** Whether a unit is USD but for its case. Case tells units apart, so "usd" is a unit of its own, without a price. */
export function isMistypedDollars(unit: string): boolean {
  return unit !== UNIT_DEFAULT && unit.toUpperCase() === UNIT_DEFAULT;
}

/** What is wrong with the unit of a tree that is to be made; undefined: nothing. Its form was looked at. */
export function newUnitProblem(unit: string): string | undefined {
  return isMistypedDollars(unit) ? `must not be ${UNIT_DEFAULT} in another case: write ${UNIT_DEFAULT}` : undefined;
}
