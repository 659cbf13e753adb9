// Where checked commands become answers: permission first, then the coordinator. One place for all services and Sessions,
// so that no method can forget to ask for permission.
import type { Answer } from '../../kernel/answer.ts';
import type { Command } from '../../kernel/command.ts';
import type { Coordinator } from '../../lane/coordinator.ts';
import type { ApiRefusal } from '../api-refusal.ts';
import type { Actor } from '../auth/actor.ts';
import { type Permission, Permissions } from '../auth/permissions.ts';

/** Judges and submits commands. */
export class CommandDesk {
  readonly #coordinator: Coordinator;
  readonly #permissions: Permissions;

  constructor(coordinator: Coordinator) {
    this.#coordinator = coordinator;
    this.#permissions = new Permissions((command) => coordinator.submit(command));
  }

  /** Judges a command without submitting it. */
  judge(actor: Actor, command: Command): Permission {
    return this.#permissions.judge(actor, command);
  }

  /**
   * The answer to a command whose fields have been checked. Submits at once, in this turn, wherever it can. A Reserve that may wait
   * gives its place up when `gone` aborts.
   */
  submit(actor: Actor, command: Command, gone?: AbortSignal): Promise<Answer | ApiRefusal> {
    const permission = this.#permissions.judge(actor, command);
    if (permission instanceof Promise) return this.#submitLater(permission, command, gone);
    if (permission !== undefined) return Promise.resolve(permission);
    const answering = this.#coordinator.submit(command, gone);
    const narrow = actor.subtree?.includes('/') === true && command.kind === 'Reserve';
    return narrow ? answering.then((answer) => this.#learn(answer)) : answering;
  }

  async #submitLater(
    permission: Promise<ApiRefusal | undefined>,
    command: Command,
    gone: AbortSignal | undefined,
  ): Promise<Answer | ApiRefusal> {
    return (await permission) ?? this.#coordinator.submit(command, gone);
  }

  // What an actor below the root reserves it will soon settle: knowing the budget saves it a look-up.
  #learn(answer: Answer): Answer {
    if (answer.kind === 'reservation' && !answer.dryRun) {
      this.#permissions.learn(answer.treeId, answer.reservation.id, answer.reservation.budget);
    }
    return answer;
  }
}
