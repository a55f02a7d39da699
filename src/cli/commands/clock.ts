import type { JsonObject } from '../../core/json.ts';
import type { Command } from '../command.ts';
import { commandOf } from '../device-verbs.ts';
import { cellText } from '../terminal/text-table.ts';

const status = commandOf({
  name: 'clock',
  summary: "the hub's time, and whether it is trusted",
  examples: ['clock'],
  tool: 'hub:clock_status',
  params: () => ({}),
  sentence: clockText,
});

const set = commandOf({
  name: 'clock set',
  summary: "set the hub's time where no network tells it",
  examples: ['clock set 2026-05-01T18:30:00+02:00'],
  tool: 'hub:set_clock',
  operands: [{ name: 'TIME', help: 'the time now, with its offset from UTC: 2026-05-01T18:30:00+02:00' }],
  params: (call) => ({ time: call.operand(0) }),
  sentence: clockText,
});

/** Who speaks for the time, in words. */
const SOURCES: Readonly<Record<string, string>> = {
  owner: 'you set it',
  configuration: 'the configuration says so',
  network: 'the network tells it',
  hardware: 'the clock of the board tells it',
  host: 'the machine that this container or virtual machine runs on tells it',
  nothing: 'nothing tells it',
};

function clockText({ now, trusted, source }: JsonObject): string {
  const told = SOURCES[cellText(source)] ?? cellText(source);
  const verdict =
    trusted === true
      ? `the hub trusts this time: ${told}`
      : `the hub does not trust this time: ${told}. Dangerous calls and times of the day wait; "atmo clock set TIME" helps`;
  return `${cellText(now)}\n${verdict}`;
}

/** Time on boards that may not know it. */
export const clockCommands: readonly Command[] = [status, set];
