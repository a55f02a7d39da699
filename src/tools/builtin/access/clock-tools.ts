import { AtmoError } from '../../../core/errors.ts';
import type { JsonObject } from '../../../core/json.ts';
import { isoTime } from '../../../core/time/iso-time.ts';
import type { SettableTime } from '../../../core/time/trusted-time.ts';
import { defineTool } from '../../definition/define-tool.ts';
import type { RegisteredTool } from '../../definition/tool-definition.ts';
import { p } from '../../schema/parameter-builder.ts';
import { FOR_HUB, HUB_ACTS, HUB_READS } from '../devices/admin-declaration.ts';

const STATUS = {
  type: 'object',
  required: ['now', 'trusted', 'source', 'system', 'floor'],
  properties: {
    now: { type: 'string', format: 'date-time', description: 'Time of the hub' },
    trusted: { type: 'boolean', description: 'Dangerous calls are refused while false' },
    source: {
      enum: ['owner', 'configuration', 'network', 'hardware', 'host', 'nothing'],
      description: 'What speaks for the time',
    },
    system: { type: 'string', format: 'date-time', description: "What the machine's own clock shows" },
    floor: { type: 'string', format: 'date-time', description: 'Known to have passed; a clock before it is wrong' },
    advice: { type: 'string', description: 'What to do, while the time is not trusted' },
  },
} as const;

/** `hub:clock_status` and `hub:set_clock`: the time on boards that may not know it. */
export function clockTools(time: SettableTime): readonly RegisteredTool[] {
  return [clockStatusTool(time), setClockTool(time)];
}

function clockStatusTool(time: SettableTime): RegisteredTool {
  return defineTool(
    {
      ...HUB_READS,
      ...FOR_HUB,
      name: 'clock_status',
      title: 'State of the clock',
      description: "Tells the hub's time, whether it is trusted, and why. While it is not, dangerous calls are refused.",
      parameters: {},
      returns: STATUS,
    },
    async () => statusOf(time),
  );
}

function setClockTool(time: SettableTime): RegisteredTool {
  return defineTool(
    {
      ...HUB_ACTS,
      ...FOR_HUB,
      name: 'set_clock',
      title: 'Set the clock',
      description:
        "Sets the hub's time where it has no network to take it from; it holds until the network tells the time or the machine restarts. The machine's own clock stays as it is. For the owner alone.",
      parameters: {
        time: p.string({
          description: 'The time now, with its offset from UTC',
          format: 'date-time',
          maxLength: 40,
          examples: ['2026-05-01T18:30:00+02:00'],
        }),
      },
      returns: STATUS,
    },
    async ({ time: text }, { principal }) => {
      // Whoever sets the clock back brings expired tokens to life, and cannot be asked for an approval: that needs the time.
      if (principal.kind !== 'owner') throw new AtmoError('PERMISSION_DENIED', `Only the owner sets the clock, not ${principal.id}`);
      time.set(Date.parse(text));
      return statusOf(time);
    },
  );
}

function statusOf(time: SettableTime): JsonObject {
  const { nowMs, isTrusted, source, systemMs, floorMs } = time.status();
  return {
    now: isoTime(nowMs),
    trusted: isTrusted,
    source,
    system: isoTime(systemMs),
    floor: isoTime(floorMs),
    ...(!isTrusted && { advice: source === 'nothing' ? ADVICE.unknown : ADVICE.behind }),
  };
}

const ADVICE = {
  unknown: 'Connect the hub to the network, which tells the time, or set it with `atmo clock set TIME`',
  behind: 'The clock lies before a time that has passed. Put it right; if it is right, confirm it with `atmo clock set TIME`',
} as const;
