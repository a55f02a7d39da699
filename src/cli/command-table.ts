import type { HubMachineIo } from './cli-io.ts';
import { sharedSections } from './client-table.ts';
import type { Command } from './command.ts';
import type { CommandSection } from './command-line.ts';
import { stateCommands } from './commands/backup.ts';
import { checkConfig, safeOutputs, serve } from './commands/hub.ts';
import { profileCommands } from './commands/profile.ts';
import { checkRules } from './commands/rules.ts';
import { upgradeCommands } from './commands/upgrade.ts';
import type { CliProgram } from './run-cli.ts';

/** The commands that run on the machine of the hub alone. */
export const HUB_MACHINE_SECTION: CommandSection<Command<HubMachineIo>> = {
  title: 'The machine of the hub',
  commands: [serve, checkConfig, checkRules, ...stateCommands, safeOutputs, ...upgradeCommands, ...profileCommands],
};

/** Every command, in the sections and the order of the help. */
export const SECTIONS: readonly CommandSection<Command<HubMachineIo>>[] = [HUB_MACHINE_SECTION, ...sharedSections(() => COMMANDS)];

/** Every command, in the order of the help. */
export const COMMANDS: readonly Command<HubMachineIo>[] = SECTIONS.flatMap(({ commands }) => commands);

const NEW_TOKEN = 'sudo atmo login gives you a new token; for an agent, atmo token mint';

/** The program of the hub's own package. */
export const HUB_PROGRAM: CliProgram<HubMachineIo> = {
  sections: SECTIONS,
  onlyOnHub: [],
  firstSteps: {
    withoutHub: [
      ['atmo serve', 'run a hub in this terminal'],
      ['sudo systemctl start atmosphere-edge', 'start the one that is installed'],
      ['atmo doctor', 'what this machine lacks'],
    ],
    withoutToken: [
      ['sudo atmo login', 'give yourself a token, once'],
      ['atmo doctor', 'what is wrong'],
    ],
  },
  advice: {
    HUB_UNREACHABLE:
      'start one: atmo serve, or systemctl start atmosphere-edge; to use that of another machine: atmo login https://HUB:8081',
    UNAUTHENTICATED:
      'sudo atmo login on the hub gives you a token, once; on another machine: atmo login https://HUB:8081 with an invitation',
    TOKEN_EXPIRED: NEW_TOKEN,
    TOKEN_INVALID: NEW_TOKEN,
  },
};
