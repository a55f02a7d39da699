import type { Risk } from '../../core/auth/principal.ts';
import { isoTime } from '../../core/clock.ts';
import type { Json } from '../../core/json.ts';
import type { BackupStatus, OwnBackups } from '../../core/storage/backup.ts';
import { defineTool, INSTANT, INTEGER, p, resultSchema, TEXT } from '../definition/define-tool.ts';
import type { RegisteredTool } from '../definition/tool-definition.ts';
import { snakeJson } from '../schema/plain-json.ts';
import { ACTS_ON_HUB, READS_WHOLE_HUB } from './hub-tool.ts';

const BACKUP = resultSchema({ file: { ...TEXT, description: 'Path on the hub' }, made_at: INSTANT, bytes: INTEGER });
const STATUS = resultSchema(
  {
    folder: { ...TEXT, description: 'Folder on the hub' },
    on_same_disk: { type: 'boolean', description: 'True if a failure of the disk takes the hub and its backups' },
    schedule: resultSchema({ at: { ...TEXT, description: 'Local time of day; absent if only people ask for backups' }, keep: INTEGER }, [
      'at',
    ]),
    next_at: INSTANT,
    last_success_at: INSTANT,
    last_failure: resultSchema({ at: INSTANT, message: TEXT }),
    problem: { ...TEXT, description: 'Why no backup protects the hub as the schedule says' },
    backups: { type: 'array', items: BACKUP },
  },
  ['schedule', 'next_at', 'last_success_at', 'last_failure', 'problem'],
);
const ADMIN = 'admin:hub';
const AT = '^([01][0-9]|2[0-3]):[0-5][0-9]$';
const SHORTEST = 10;
const LONGEST = 256;

/** Returns the tools for the backups that the hub itself writes. */
export function backupTools(backups: OwnBackups): readonly RegisteredTool[] {
  return [showBackupsTool(backups), makeBackupTool(backups), setBackupScheduleTool(backups)];
}

function showBackupsTool(backups: OwnBackups): RegisteredTool {
  return defineTool(
    {
      ...READS_WHOLE_HUB,
      name: 'show_backups',
      title: 'Backups of the hub',
      description: 'Tells when the hub writes backups by itself, how the last one went, and which there are.',
      parameters: {},
      returns: STATUS,
    },
    async () => statusView(backups.status()),
  );
}

function makeBackupTool(backups: OwnBackups): RegisteredTool {
  return defineTool(
    {
      ...ACTS_ON_HUB,
      name: 'make_backup',
      title: 'Make a backup now',
      description: 'Writes all that the hub keeps into one encrypted file in its folder for backups, under the passphrase of the schedule.',
      isIdempotent: true,
      timeoutMs: 300_000,
      parameters: {},
      returns: BACKUP,
    },
    async () => {
      const { file, madeAtMs, bytes } = await backups.makeNow();
      return { file, made_at: isoTime(madeAtMs), bytes };
    },
  );
}

function setBackupScheduleTool(backups: OwnBackups): RegisteredTool {
  return defineTool(
    {
      ...ACTS_ON_HUB,
      name: 'set_backup_schedule',
      title: 'Set when backups are made',
      description:
        'Lets the hub write a backup every day at a local time and keep the newest ones, or only when a person asks. The first time it needs a passphrase, without which nobody can open the backups: keep it away from the hub.',
      isIdempotent: true,
      parameters: {
        at: p
          .string({ description: 'Local time of day, HH:MM; without it only people ask for backups', pattern: AT, examples: ['03:30'] })
          .optional(),
        keep: p.integer({ description: 'How many backups stay', minimum: 1, maximum: 366, default: 7 }),
        passphrase: p
          .string({ description: 'Passphrase of the backups from now on', secret: true, minLength: SHORTEST, maxLength: LONGEST })
          .optional(),
      },
      returns: STATUS,
      effects: (wanted) => [{ permission: ADMIN, risk: riskOfSchedule(backups, wanted), target: 'hub:set_backup_schedule' }],
    },
    async ({ at, keep, passphrase }) => {
      backups.setSchedule({ keep, ...(at !== undefined && { at }) }, passphrase);
      return statusView(backups.status());
    },
  );
}

/**
 * Returns `dangerous` if earlier backups would be lost: fewer stay than now, or the next ones cannot be opened with the passphrase that
 * people keep. Any passphrase counts as another one, since the risk would tell whether a guess is right.
 */
function riskOfSchedule(backups: OwnBackups, { keep, passphrase }: { readonly keep: number; readonly passphrase?: string }): Risk {
  const { schedule } = backups.status();
  return schedule && (passphrase !== undefined || keep < schedule.keep) ? 'dangerous' : 'low';
}

function statusView(status: BackupStatus): Json {
  const { nextAtMs, lastSuccessAtMs, lastFailure } = status;
  return snakeJson({
    folder: status.folder,
    onSameDisk: status.isOnSameDisk,
    schedule: status.schedule,
    nextAt: timeOf(nextAtMs),
    lastSuccessAt: timeOf(lastSuccessAtMs),
    lastFailure: lastFailure && { at: isoTime(lastFailure.atMs), message: lastFailure.message },
    problem: status.problem,
    backups: status.backups.map(({ file, madeAtMs, bytes }) => ({ file, madeAt: isoTime(madeAtMs), bytes })),
  });
}

function timeOf(atMs: number | undefined): string | undefined {
  return atMs === undefined ? undefined : isoTime(atMs);
}
