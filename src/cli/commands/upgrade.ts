import { AtmoError } from '../../core/errors.ts';
import type { HubMachineIo, UpgradeOutcome } from '../cli-io.ts';
import type { Command } from '../command.ts';

/** The commands about upgrades of the hub's package. */
export const upgradeCommands: readonly Command<HubMachineIo>[] = [
  {
    name: 'upgrade back',
    summary: 'install the version before the last upgrade of the package again; state, devices and tokens stay as they are',
    examples: ['upgrade back'],
    async run({ io, output }) {
      const outcome = await io.upgrade.goBack();
      if (!outcome)
        throw new AtmoError('NOT_FOUND', 'No upgrade of the package is known on this machine; apt list --all-versions atmosphere-edge');
      if (outcome.step === 'rolled-back') return output.answer(outcome, () => `${outcome.from} is installed again\n`);
      throw new AtmoError('CONFLICT', `The version before cannot be installed again: ${whyNot(outcome)}`);
    },
  },
  {
    name: 'upgrade watch',
    summary: 'what systemd runs after an upgrade of the package: waits until the new version answers, else installs the one before again',
    examples: ['upgrade watch'],
    async run({ io, output }) {
      const outcome = await io.upgrade.watch();
      output.answer(outcome ?? {}, () => (output.isTerminal && !outcome ? 'no upgrade of the package is known\n' : ''));
    },
  },
];

function whyNot({ step, from, to }: UpgradeOutcome): string {
  if (step === 'rolling-back') return `${from} runs, but dpkg did not install it; journalctl -u atmosphere-edge-upgrade says why`;
  return step === 'stayed' ? 'its files were removed' : `an upgrade to ${to} has begun in the meantime`;
}
