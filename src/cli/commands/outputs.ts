import type { Command } from '../command.ts';
import { usage } from '../command.ts';

/** What systemd runs when the hub has ended, in whatever way. */
export const safeOutputs: Command = {
  name: 'outputs safe',
  summary: 'set the GPIO outputs of the configuration to their safe state; needs no hub, and leaves alone what another program has',
  examples: ['outputs safe'],
  async run({ io, output }) {
    if (!io.safeOutputs) throw usage('This atmo was built without the lines of the board; use the one of the hub');
    const found = await io.safeOutputs();
    const told = [
      ...(found.safe.length > 0 ? [`safe: ${found.safe.join(', ')}`] : []),
      ...(found.missed.length > 0 ? [`not set: ${found.missed.join(', ')}`] : []),
    ];
    output.answer(found, () => (told.length > 0 ? `outputs ${told.join('; ')}\n` : output.isTerminal ? 'no outputs are configured\n' : ''));
    return undefined;
  },
};
