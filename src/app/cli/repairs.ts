// What the repair commands need of the program around them, so that tests can give them another database.

/** The repairs, as app/repair has them, on a database that is found by its URL or the environment. */
export interface Repairs {
  rebuildProjection(databaseUrl: string | undefined, tree: string): Promise<number>;
  listQuarantine(
    databaseUrl: string | undefined,
  ): Promise<readonly { readonly tree: string; readonly reason: string; readonly since: Date }[]>;
  clearQuarantine(databaseUrl: string | undefined, tree: string): Promise<boolean>;
}
