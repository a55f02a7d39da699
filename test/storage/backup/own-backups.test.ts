import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { AtmoError } from '../../../src/core/errors.ts';
import { HubProblems } from '../../../src/core/health.ts';
import { silentLogger } from '../../../src/core/logger.ts';
import { ScheduledBackups } from '../../../src/storage/backup/own-backups.ts';
import { settled } from '../../calls/pipeline-fixture.ts';
import { ManualClock } from '../../manual-clock.ts';
import { MemoryKeyValueStore } from '../../memory-key-value-store.ts';

const base = mkdtempSync(join(tmpdir(), 'atmo-own-backups-'));
afterAll(() => rmSync(base, { recursive: true, force: true }));
const HOUR = 3_600_000;
const PASSPHRASE = 'five words that nobody guesses';
let count = 0;

/** A hub that writes backups into a folder; one that is started again has the same clock, store and folder. */
async function start(kept: Partial<Pick<Awaited<ReturnType<typeof begin>>, 'clock' | 'store' | 'folder'>> = {}) {
  const started = await begin(kept);
  await started.backups.start();
  return started;
}

async function begin({
  clock = new ManualClock(Date.parse('2026-01-01T00:00:00Z')),
  store = new MemoryKeyValueStore(clock),
  folder = join(base, `${count++}`),
}: {
  readonly clock?: ManualClock;
  readonly store?: MemoryKeyValueStore;
  readonly folder?: string;
}) {
  const problems = new HubProblems();
  const written: string[] = [];
  const disk = { isFull: false, isTrusted: true };
  const write = async (file: string, passphrase: string): Promise<void> => {
    if (disk.isFull) throw new AtmoError('STORAGE_FAILED', 'The disk is full');
    writeFileSync(file, passphrase);
    written.push(file.slice(folder.length + 1));
  };
  const time = { isTrusted: () => disk.isTrusted };
  const backups = new ScheduledBackups(
    { clock, time, store, logger: silentLogger, problems, write },
    { stateDir: base, folder, isFolderOwn: true, hubId: 'hub-1', timeZone: 'Europe/Berlin' },
  );
  const pass = async (ms: number): Promise<void> => {
    for (let left = ms; left > 0; left -= HOUR) {
      clock.advance(Math.min(left, HOUR));
      await settled();
    }
  };
  return { backups, clock, store, folder, problems, written, disk, pass };
}

describe('the schedule', () => {
  test('writes a backup each day at its local time and keeps the newest', async () => {
    const { backups, pass, written, folder } = await start();
    backups.setSchedule({ at: '03:30', keep: 2 }, PASSPHRASE);
    await pass(72 * HOUR);
    expect(written).toHaveLength(3);
    expect(readdirSync(folder).sort()).toEqual(written.slice(1));
    expect(written[0]).toMatch(/^atmosphere-hub-1-20260101T0[23]/);
    expect(backups.status()).toMatchObject({ schedule: { at: '03:30', keep: 2 }, isOnSameDisk: true });
    expect(JSON.stringify(backups.status())).not.toContain(PASSPHRASE);
  });

  test('makes up for a backup that fell due while the hub was off, and deletes what a crash left behind', async () => {
    const first = await start();
    first.backups.setSchedule({ at: '03:30', keep: 7 }, PASSPHRASE);
    await first.pass(24 * HOUR);
    await first.backups[Symbol.asyncDispose]();
    const partial = join(first.folder, 'atmosphere-hub-1-20260102T000000Z.atmo.partial');
    writeFileSync(partial, '');
    first.clock.advance(40 * HOUR);
    const after = await start(first);
    expect(existsSync(partial)).toBe(false);
    await after.pass(HOUR);
    expect(after.written).toHaveLength(1);
  });

  test('waits for a trusted time', async () => {
    const { backups, pass, written, disk } = await start();
    disk.isTrusted = false;
    backups.setSchedule({ at: '03:30', keep: 7 }, PASSPHRASE);
    await pass(24 * HOUR);
    expect(written).toEqual([]);
    disk.isTrusted = true;
    await pass(2 * HOUR);
    expect(written).toHaveLength(1);
  });

  test('needs a passphrase once, and without a time of day only people ask', async () => {
    const { backups, pass, written } = await start();
    expect(() => backups.setSchedule({ at: '03:30', keep: 7 })).toThrow('passphrase');
    await expect(backups.makeNow()).rejects.toMatchObject({ code: 'NOT_CONFIGURED' });
    backups.setSchedule({ keep: 7 }, PASSPHRASE);
    await pass(100 * HOUR);
    expect(written).toEqual([]);
    const { file } = await backups.makeNow();
    expect(existsSync(file)).toBe(true);
    backups.setSchedule({ at: '04:00', keep: 7 });
    await pass(24 * HOUR);
    expect(written).toHaveLength(2);
  });
});

describe('a backup that fails', () => {
  test('is a problem of the hub until one succeeds, and is tried again after an hour', async () => {
    const { backups, pass, written, disk, problems } = await start();
    disk.isFull = true;
    backups.setSchedule({ at: '03:30', keep: 7 }, PASSPHRASE);
    await pass(6 * HOUR);
    expect(problems.list()).toEqual(['The last backup failed: The disk is full']);
    expect(backups.status()).toMatchObject({ lastFailure: { message: 'The disk is full' }, problem: expect.stringContaining('failed') });
    disk.isFull = false;
    await pass(2 * HOUR);
    expect(written).toHaveLength(1);
    expect(problems.list()).toEqual([]);
  });

  test('is overdue after two days, also after a restart', async () => {
    const first = await start();
    first.disk.isTrusted = false;
    first.backups.setSchedule({ at: '03:30', keep: 7 }, PASSPHRASE);
    await first.pass(50 * HOUR);
    expect(first.problems.list()).toEqual([expect.stringContaining('No backup was written since 2026-01-01')]);
    const after = await start(first);
    expect(after.problems.list()).toHaveLength(1);
    await after.backups.makeNow();
    expect(after.problems.list()).toEqual([]);
  });
});
