import { expect, test } from 'vitest';
import type { JsonObject } from '../../../src/core/json.ts';
import type { BackupSchedule, OwnBackups } from '../../../src/core/storage/backup.ts';
import { backupTools } from '../../../src/tools/builtin/backup-tools.ts';
import { agent, codeOf, makePipeline } from '../../calls/pipeline-fixture.ts';

const PASSPHRASE = 'five words that nobody guesses';

/** The tools in a pipeline where nobody approves, and the schedule as it was stored. */
function home() {
  const stored: { schedule?: BackupSchedule; passphrase?: string } = {};
  const backups: OwnBackups = {
    status: () => ({ folder: '/backups', isOnSameDisk: true, backups: [], ...(stored.schedule && { schedule: stored.schedule }) }),
    makeNow: async () => ({ file: '/backups/one.atmo', madeAtMs: 0, bytes: 1 }),
    setSchedule: (schedule, passphrase) => void Object.assign(stored, { schedule, ...(passphrase !== undefined && { passphrase }) }),
  };
  const setup = makePipeline();
  for (const tool of backupTools(backups)) setup.registry.register(tool);
  const set = async (params: JsonObject) =>
    codeOf(await setup.pipeline.call({ principal: agent('admin:hub'), tool: 'hub:set_backup_schedule', params }));
  return { set, stored };
}

test('the first passphrase, another time of day and more backups need no approval', async () => {
  const { set, stored } = home();
  for (const params of [{ keep: 3, passphrase: PASSPHRASE }, { keep: 3, at: '03:30' }, { keep: 14 }])
    expect(await set(params), JSON.stringify(params)).toBe('success');
  expect(stored).toEqual({ schedule: { keep: 14 }, passphrase: PASSPHRASE });
});

test.each<[string, JsonObject]>([
  ['another passphrase', { keep: 7, passphrase: 'a passphrase of somebody else' }],
  ['a guess of the passphrase', { keep: 7, passphrase: PASSPHRASE }],
  ['fewer backups', { keep: 1 }],
])('%s is not set where nobody approves it', async (_what, params) => {
  const { set, stored } = home();
  await set({ keep: 7, passphrase: PASSPHRASE });
  expect(await set(params)).toBe('PERMISSION_DENIED');
  expect(stored).toEqual({ schedule: { keep: 7 }, passphrase: PASSPHRASE });
});
