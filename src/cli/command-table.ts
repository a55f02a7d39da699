import type { Command } from './command.ts';
import { agentCommands } from './commands/agents.ts';
import { approvalCommands } from './commands/approvals.ts';
import { approverCommands } from './commands/approvers.ts';
import { areaCommands } from './commands/areas.ts';
import { auditCommands } from './commands/audit.ts';
import { backupCommands } from './commands/backup.ts';
import { call } from './commands/call.ts';
import { clockCommands } from './commands/clock.ts';
import { commission } from './commands/commission.ts';
import { completionCommands } from './commands/completion.ts';
import { configCommands } from './commands/config.ts';
import { credentialCommands } from './commands/credentials.ts';
import { deviceAdminCommands } from './commands/device-admin.ts';
import { deviceUpdateCommands } from './commands/device-updates.ts';
import { devices } from './commands/devices.ts';
import { doctor } from './commands/doctor.ts';
import { events } from './commands/events.ts';
import { groupCommands } from './commands/groups.ts';
import { forget, halfCommissioned } from './commands/half-commissioned.ts';
import { jobCancel, jobs } from './commands/jobs.ts';
import { login, logout } from './commands/login.ts';
import { mcp } from './commands/mcp.ts';
import { meshCommands } from './commands/mesh.ts';
import { monitor } from './commands/monitor.ts';
import { safeOutputs } from './commands/outputs.ts';
import { profileCommands } from './commands/profile.ts';
import { read } from './commands/read.ts';
import { ruleCommands } from './commands/rules.ts';
import { sensors } from './commands/sensors.ts';
import { serve } from './commands/serve.ts';
import { share } from './commands/share.ts';
import { status } from './commands/status.ts';
import { tlsCommands } from './commands/tls.ts';
import { tokenCommands } from './commands/token.ts';
import { tools } from './commands/tools.ts';
import type { CommandSection } from './help.ts';

/** Every command, in the sections and the order of the help. */
export const SECTIONS: readonly CommandSection[] = [
  {
    title: 'Hub',
    commands: [
      serve,
      status,
      doctor,
      monitor,
      ...tlsCommands,
      events,
      login,
      logout,
      ...clockCommands,
      ...configCommands,
      ...backupCommands,
      safeOutputs,
    ],
  },
  {
    title: 'Devices',
    commands: [
      commission,
      devices,
      ...deviceAdminCommands,
      ...deviceUpdateCommands,
      ...areaCommands,
      share,
      ...groupCommands,
      ...credentialCommands,
      halfCommissioned,
      forget,
    ],
  },
  { title: 'Tools', commands: [tools, call, sensors, read, jobs, jobCancel] },
  { title: 'Agents', commands: [mcp, ...agentCommands, ...tokenCommands] },
  { title: 'Approvals, rules and the journal', commands: [...approvalCommands, ...approverCommands, ...ruleCommands, ...auditCommands] },
  { title: 'Mesh', commands: meshCommands },
  { title: 'For those who write', commands: [...profileCommands, ...completionCommands(() => COMMANDS)] },
];

/** Every command, in the order of the help. */
export const COMMANDS: readonly Command[] = SECTIONS.flatMap(({ commands }) => commands);
