import type { Command } from './command.ts';
import { agentCommands } from './commands/agents.ts';
import { approvalCommands } from './commands/approvals.ts';
import { approverCommands } from './commands/approvers.ts';
import { auditCommands } from './commands/audit.ts';
import { call } from './commands/call.ts';
import { clockCommands } from './commands/clock.ts';
import { commission } from './commands/commission.ts';
import { completionCommand } from './commands/completion.ts';
import { credentialCommands } from './commands/credentials.ts';
import { deviceAdminCommands } from './commands/device-admin.ts';
import { devices } from './commands/devices.ts';
import { doctor } from './commands/doctor.ts';
import { events } from './commands/events.ts';
import { groupCommands } from './commands/groups.ts';
import { forget, halfCommissioned } from './commands/half-commissioned.ts';
import { jobCancel, jobs } from './commands/jobs.ts';
import { login, logout } from './commands/login.ts';
import { mcp } from './commands/mcp.ts';
import { meshCommands } from './commands/mesh.ts';
import { profileCommands } from './commands/profile.ts';
import { read } from './commands/read.ts';
import { ruleCommands } from './commands/rules.ts';
import { sensors } from './commands/sensors.ts';
import { serve } from './commands/serve.ts';
import { share } from './commands/share.ts';
import { status } from './commands/status.ts';
import { tokenCommands } from './commands/token.ts';
import { tools } from './commands/tools.ts';

/** Every command, in the order of the help. */
export const COMMANDS: readonly Command[] = [
  serve,
  status,
  doctor,
  commission,
  devices,
  ...deviceAdminCommands,
  share,
  ...groupCommands,
  tools,
  call,
  sensors,
  read,
  jobs,
  jobCancel,
  ...agentCommands,
  ...meshCommands,
  events,
  mcp,
  ...tokenCommands,
  ...approvalCommands,
  ...approverCommands,
  ...ruleCommands,
  ...auditCommands,
  login,
  logout,
  ...clockCommands,
  ...credentialCommands,
  halfCommissioned,
  forget,
  ...profileCommands,
  completionCommand(() => COMMANDS),
];
