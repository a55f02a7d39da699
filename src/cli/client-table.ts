import type { CliIo } from './cli-io.ts';
import type { Command, CommandSpec } from './command.ts';
import type { CommandSection } from './command-line.ts';
import { agentCommands } from './commands/agents.ts';
import { applicationCommands } from './commands/applications.ts';
import { approvalCommands, approverCommands } from './commands/approvals.ts';
import { areaCommands } from './commands/areas.ts';
import { auditCommands } from './commands/audit.ts';
import { versionCommands } from './commands/automation-versions.ts';
import { backupCommands } from './commands/backup.ts';
import { bridgeCommands } from './commands/bridge.ts';
import { call, jobCancel, jobs } from './commands/call.ts';
import { commission, credentialCommands, forget, halfCommissioned } from './commands/commission.ts';
import { completionCommands } from './commands/completion.ts';
import { deviceAdminCommands } from './commands/device-admin.ts';
import { devices, deviceUpdateCommands } from './commands/devices.ts';
import { doctor } from './commands/doctor.ts';
import { events } from './commands/events.ts';
import { groupCommands } from './commands/groups.ts';
import { clockCommands, reloadConfig, status, tlsCommands } from './commands/hub.ts';
import { login, logout } from './commands/login.ts';
import { mcp } from './commands/mcp.ts';
import { meshCommands } from './commands/mesh.ts';
import { monitor } from './commands/monitor.ts';
import { noticeCommands } from './commands/notices.ts';
import { peopleCommands } from './commands/people.ts';
import { proposalCommands } from './commands/proposals.ts';
import { undo } from './commands/rehearsal.ts';
import { ruleCommands } from './commands/rules.ts';
import { sceneCommands } from './commands/scenes.ts';
import { read, sensors } from './commands/sensors.ts';
import { share } from './commands/share.ts';
import { tokenCommands } from './commands/tokens.ts';
import { tools } from './commands/tools.ts';
import type { CliProgram, Step } from './run-cli.ts';

/** The commands that every machine has, which ask a hub over HTTP. `all` returns the commands of the whole program, for its completion. */
export function sharedSections(all: () => readonly CommandSpec[]): readonly CommandSection<Command>[] {
  return [
    {
      title: 'Hub',
      commands: [
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
        reloadConfig,
        ...backupCommands,
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
        ...bridgeCommands,
        ...groupCommands,
        ...credentialCommands,
        halfCommissioned,
        forget,
      ],
    },
    { title: 'Tools', commands: [tools, call, undo, sensors, read, jobs, jobCancel] },
    {
      title: 'Agents',
      commands: [mcp, ...agentCommands, ...versionCommands, ...proposalCommands, ...applicationCommands, ...tokenCommands],
    },
    { title: 'Approvals, rules and the journal', commands: [...approvalCommands, ...approverCommands, ...ruleCommands, ...auditCommands] },
    { title: 'Mesh', commands: meshCommands },
    { title: 'Completion', commands: completionCommands(all) },
  ];
}

/** The commands that only the package of the hub has. A test compares them with the table of the hub. */
export const HUB_MACHINE_COMMANDS: readonly string[] = [
  'serve',
  'config check',
  'rules check',
  'backup',
  'restore',
  'outputs safe',
  'upgrade back',
  'upgrade watch',
  'profile check',
  'profile draft',
];

/** What a person without a login types on a machine without a hub. */
const SIGN_IN = 'sign in: atmo login https://HUB:8081 --fingerprint SHA256:…, as "sudo atmo people invite NAME --cli" prints it on the hub';

const LOG_IN: Step = [
  'atmo login https://HUB:8081 --fingerprint SHA256:…',
  'sign in with an invitation: "sudo atmo people invite NAME --cli" on the hub prints this line',
];
const LOOK: Step = ['atmo doctor', 'what is wrong'];

/** The program of the client package, which runs on machines without a hub. */
export const CLIENT_PROGRAM: CliProgram<CliIo> = {
  sections: sharedSections(() => CLIENT_PROGRAM.sections.flatMap(({ commands }) => commands)),
  onlyOnHub: HUB_MACHINE_COMMANDS,
  firstSteps: { withoutHub: [LOG_IN, LOOK], withoutToken: [LOG_IN, LOOK] },
  advice: { HUB_UNREACHABLE: SIGN_IN, UNAUTHENTICATED: SIGN_IN, TOKEN_EXPIRED: SIGN_IN, TOKEN_INVALID: SIGN_IN },
};
