import type { Command } from './command.ts';
import type { CommandSection } from './command-line.ts';
import { agentCommands } from './commands/agents.ts';
import { approvalCommands, approverCommands } from './commands/approvals.ts';
import { areaCommands } from './commands/areas.ts';
import { auditCommands } from './commands/audit.ts';
import { backupCommands } from './commands/backup.ts';
import { call, jobCancel, jobs } from './commands/call.ts';
import { commission, credentialCommands, forget, halfCommissioned } from './commands/commission.ts';
import { completionCommands } from './commands/completion.ts';
import { deviceAdminCommands } from './commands/device-admin.ts';
import { devices, deviceUpdateCommands, share } from './commands/devices.ts';
import { doctor } from './commands/doctor.ts';
import { events } from './commands/events.ts';
import { groupCommands } from './commands/groups.ts';
import { clockCommands, configCommands, safeOutputs, serve, status, tlsCommands } from './commands/hub.ts';
import { login, logout } from './commands/login.ts';
import { mcp } from './commands/mcp.ts';
import { meshCommands } from './commands/mesh.ts';
import { monitor } from './commands/monitor.ts';
import { noticeCommands } from './commands/notices.ts';
import { peopleCommands } from './commands/people.ts';
import { profileCommands } from './commands/profile.ts';
import { ruleCommands } from './commands/rules.ts';
import { sceneCommands } from './commands/scenes.ts';
import { read, sensors } from './commands/sensors.ts';
import { tokenCommands } from './commands/tokens.ts';
import { tools } from './commands/tools.ts';

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
      ...peopleCommands,
      ...noticeCommands,
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
      ...sceneCommands,
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
