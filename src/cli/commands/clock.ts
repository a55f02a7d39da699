import type { Command } from '../command.ts';
import { commandOf } from '../device-verbs.ts';

const status = commandOf({
  name: 'clock',
  summary: "the hub's time, and whether it is trusted",
  examples: ['clock'],
  tool: 'hub:clock_status',
  params: () => ({}),
});

const set = commandOf({
  name: 'clock set',
  summary: "set the hub's time where no network tells it",
  examples: ['clock set 2026-05-01T18:30:00+02:00'],
  tool: 'hub:set_clock',
  operands: [{ name: 'TIME', help: 'the time now, with its offset from UTC: 2026-05-01T18:30:00+02:00' }],
  params: (call) => ({ time: call.operand(0) }),
});

/** Time on boards that may not know it. */
export const clockCommands: readonly Command[] = [status, set];
