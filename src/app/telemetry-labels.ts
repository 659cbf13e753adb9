// The values that labels of metrics can take, from the contract: the only place that knows both the contract and telemetry.
// A command that is missing here does not compile; reasons and methods come from the tables that the api itself uses.
import { REASON_CODES } from '../api/errors/reason-codes.ts';
import { methodPath, SERVICE_DESCS } from '../api/services/served-methods.ts';
import type { CommandKind } from '../kernel/command.ts';
import type { TelemetryLabels } from '../telemetry/telemetry-settings.ts';

const COMMANDS: Readonly<Record<CommandKind, true>> = {
  Reserve: true,
  Extend: true,
  Settle: true,
  Release: true,
  Renew: true,
  CreateBudget: true,
  UpdateBudget: true,
  SuspendBudget: true,
  ResumeBudget: true,
  CloseBudget: true,
  CloseIdle: true,
  ApplyBudgets: true,
  TopUp: true,
  Expire: true,
  GetReservation: true,
  GetBudget: true,
  GetQueue: true,
  LeaveQueue: true,
};

/** Every command, reason and method of the contract. */
export const TELEMETRY_LABELS: TelemetryLabels = {
  commands: Object.keys(COMMANDS),
  reasons: Object.keys(REASON_CODES),
  methods: SERVICE_DESCS.flatMap(({ methods }) => methods.map(methodPath)),
};
