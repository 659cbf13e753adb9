// Who calls, as authenticated. Stands alone so that identities of another kind (certificates, OIDC) only have to make an
// Actor.
import type { BudgetPath } from '../../kernel/names.ts';

/** What a caller may do: everything; use budgets; look. */
export type Role = 'admin' | 'agent' | 'auditor';

/** A caller. */
export interface Actor {
  /** Name for the journal. */
  readonly name: string;
  readonly role: Role;
  /** The only budgets that it sees: this one and those below. Undefined: all. */
  readonly subtree: BudgetPath | undefined;
}

/** The caller where no tokens are configured, which the app allows on loopback only. */
export const ANONYMOUS: Actor = { name: 'anonymous', role: 'admin', subtree: undefined };
