import { isoTime, type SettableTime } from '../../core/clock.ts';
import type { ConfigReload } from '../../core/config/config-section.ts';
import { AtmoError } from '../../core/errors.ts';
import type { JsonObject } from '../../core/json.ts';
import { defineTool, p } from '../definition/define-tool.ts';
import type { RegisteredTool } from '../definition/tool-definition.ts';
import { DONE, FOR_HUB, HUB_ACTS, HUB_READS, SUCCESS } from './hub-tool.ts';

const CLOCK_STATUS = {
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
      returns: CLOCK_STATUS,
    },
    async () => clockStatus(time),
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
      returns: CLOCK_STATUS,
    },
    async ({ time: text }, { principal }) => {
      // Whoever sets the clock back brings expired tokens to life, and cannot be asked for an approval: that needs the time.
      if (principal.kind !== 'owner') throw new AtmoError('PERMISSION_DENIED', `Only the owner sets the clock, not ${principal.id}`);
      time.set(Date.parse(text));
      return clockStatus(time);
    },
  );
}

function clockStatus(time: SettableTime): JsonObject {
  const { nowMs, isTrusted, source, systemMs, floorMs } = time.status();
  return {
    now: isoTime(nowMs),
    trusted: isTrusted,
    source,
    system: isoTime(systemMs),
    floor: isoTime(floorMs),
    ...(!isTrusted && { advice: source === 'nothing' ? CLOCK_ADVICE.unknown : CLOCK_ADVICE.behind }),
  };
}

const CLOCK_ADVICE = {
  unknown: 'Connect the hub to the network, which tells the time, or set it with `atmo clock set TIME`',
  behind: 'The clock lies before a time that has passed. Put it right; if it is right, confirm it with `atmo clock set TIME`',
} as const;

const KEY_LIST = { type: 'array', items: { type: 'string' } } as const;

/** Reads the configuration again, as SIGHUP does. CONFIG_INVALID leaves everything as it was. */
export function reloadConfigTool(reload: () => ConfigReload): RegisteredTool {
  return defineTool(
    {
      ...HUB_ACTS,
      ...FOR_HUB,
      name: 'reload_config',
      title: 'Read the configuration again',
      description:
        'Reads the configuration file again after it was changed. Tells which keys hold from now on, and which take a restart of the hub. A file with mistakes changes nothing.',
      isIdempotent: true,
      parameters: {},
      returns: { type: 'object', required: ['applied', 'needs_restart'], properties: { applied: KEY_LIST, needs_restart: KEY_LIST } },
    },
    async () => {
      const { applied, needsRestart } = reload();
      return { applied: [...applied], needs_restart: [...needsRestart] };
    },
  );
}

/** Port: copies of the hub's databases, which it keeps for itself while it runs. */
export interface SnapshotTaker {
  /** Paths below the state directory. STORAGE_FAILED. */
  take(): Promise<readonly { readonly database: string; readonly copy: string }[]>;
}

const PATH = { type: 'string' } as const;

/** What `atmo backup` asks of a running hub. Whoever wants the copies has to be able to read the state directory. */
export function snapshotTool(snapshots: SnapshotTaker): RegisteredTool {
  return defineTool(
    {
      ...HUB_ACTS,
      ...FOR_HUB,
      name: 'take_snapshots',
      title: 'Copy the databases',
      description:
        "Copies every database of the hub into its state directory, each whole in itself, and tells where. For backups: `atmo backup FILE` calls it. Example: {} answers {snapshots: [{database: 'state.db', copy: 'snapshots/state.db.1767225600000.snapshot'}]}.",
      isIdempotent: true,
      timeoutMs: 300_000,
      parameters: {},
      returns: {
        type: 'object',
        required: ['snapshots'],
        properties: {
          snapshots: {
            type: 'array',
            items: { type: 'object', required: ['database', 'copy'], properties: { database: PATH, copy: PATH } },
          },
        },
      },
    },
    async () => ({ snapshots: (await snapshots.take()).map(({ database, copy }) => ({ database, copy })) }),
  );
}

/** What the owner's tools work with. */
interface OwnerPorts {
  /** Replaces the owner's token; the old one ends at once. STORAGE_FAILED, and then the old one stays. */
  readonly credential: { rotate(): void };
}

/** `hub:rotate_owner`: the new token stands in its file alone, no answer and no journal repeats it. */
export function ownerTools({ credential }: OwnerPorts): readonly RegisteredTool[] {
  const rotate = defineTool(
    {
      ...HUB_ACTS,
      ...FOR_HUB,
      name: 'rotate_owner',
      title: "Replace the owner's token",
      description: "Replaces the owner's token; the old one ends at once and the new one is written to owner.token in the state directory.",
      isDangerous: true,
      parameters: {},
      returns: DONE,
    },
    async (_params, { principal }) => {
      if (principal.kind !== 'owner')
        throw new AtmoError('PERMISSION_DENIED', `Only the owner replaces the owner's token, not ${principal.id}`);
      credential.rotate();
      return SUCCESS;
    },
  );
  return [rotate];
}
