import type { Command } from '../command.ts';

export const serve: Command = {
  name: 'serve',
  summary: 'run a hub in the foreground; prints READY when it answers',
  examples: ['serve', 'serve --json'],
  run: ({ io }) => io.serve(),
};
