import { isoTime, type SettableTime } from '../../core/clock.ts';
import type { ConfigReload } from '../../core/config/config-section.ts';
import { AtmoError } from '../../core/errors.ts';
import type { JsonObject } from '../../core/json.ts';
import { defineTool, INSTANT, p, resultSchema, TEXT, TEXTS } from '../definition/define-tool.ts';
import type { RegisteredTool } from '../definition/tool-definition.ts';
import { ACTS_ON_HUB, DONE, READS_WHOLE_HUB, SUCCESS } from './hub-tool.ts';

const CLOCK_STATUS = resultSchema(
  {
    now: { ...INSTANT, description: 'Time of the hub' },
    trusted: { type: 'boolean', description: 'Dangerous calls are refused while false' },
    source: { enum: ['owner', 'configuration', 'network', 'hardware', 'host', 'nothing'], description: 'What speaks for the time' },
    system: { ...INSTANT, description: "What the machine's own clock shows" },
    floor: { ...INSTANT, description: 'Known to have passed; a clock before it is wrong' },
    advice: { ...TEXT, description: 'What to do, while the time is not trusted' },
  },
  ['advice'],
);

/** Returns `hub:clock_status` and `hub:set_clock`, for boards that may not know the time. */
export function clockTools(time: SettableTime): readonly RegisteredTool[] {
  return [clockStatusTool(time), setClockTool(time)];
}

function clockStatusTool(time: SettableTime): RegisteredTool {
  return defineTool(
    {
      ...READS_WHOLE_HUB,
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
      ...ACTS_ON_HUB,
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
      // Only the owner may set the clock, because expired tokens become valid if it is set back. The call needs no approval, because no
      // approval is possible while the hub does not know the time.
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

/** Returns the tool that reloads the configuration, like SIGHUP. If it throws CONFIG_INVALID, the old configuration stays in force. */
export function reloadConfigTool(reload: () => ConfigReload): RegisteredTool {
  return defineTool(
    {
      ...ACTS_ON_HUB,
      name: 'reload_config',
      title: 'Read the configuration again',
      description:
        'Reads the configuration file again after it was changed. Tells which keys hold from now on, and which take a restart of the hub. A file with mistakes changes nothing.',
      isIdempotent: true,
      parameters: {},
      returns: resultSchema({ applied: TEXTS, needs_restart: TEXTS }),
    },
    async () => {
      const { applied, needsRestart } = reload();
      return { applied: [...applied], needs_restart: [...needsRestart] };
    },
  );
}

/** Port: copies the hub's databases, which other processes cannot open while the hub runs. */
export interface SnapshotTaker {
  /** Copies each database to a file, and returns the file's path in the state directory. Rejects with STORAGE_FAILED if a copy fails. */
  take(): Promise<readonly { readonly database: string; readonly copy: string }[]>;
}

/** Returns `hub:take_snapshots`, which `atmo backup` calls on a running hub. The result has only paths; the caller reads the files. */
export function snapshotTool(snapshots: SnapshotTaker): RegisteredTool {
  return defineTool(
    {
      ...ACTS_ON_HUB,
      name: 'take_snapshots',
      title: 'Copy the databases',
      description:
        "Copies every database of the hub into its state directory, each whole in itself, and tells where. For backups: `atmo backup FILE` calls it. Example: {} answers {snapshots: [{database: 'state.db', copy: 'snapshots/state.db.1767225600000.snapshot'}]}.",
      isIdempotent: true,
      timeoutMs: 300_000,
      parameters: {},
      returns: resultSchema({ snapshots: { type: 'array', items: resultSchema({ database: TEXT, copy: TEXT }) } }),
    },
    async () => ({ snapshots: (await snapshots.take()).map(({ database, copy }) => ({ database, copy })) }),
  );
}

/**
 * Returns `hub:rotate_owner`, which replaces the owner's token. The new token is written only to the token file, never to a result or an
 * audit row. If the tool throws STORAGE_FAILED, the old token stays valid.
 */
export function rotateOwnerTool(credential: { rotate(): void }): RegisteredTool {
  return defineTool(
    {
      ...ACTS_ON_HUB,
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
}
