import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseSensorId } from '../../src/core/devices/device-names.ts';
import type { SensorId } from '../../src/core/ids.ts';
import { silentLogger } from '../../src/core/logger.ts';
import { DEFAULT_HISTORY_SNAPSHOT_MS, DEFAULT_RETENTION_MS, HistoryStore } from '../../src/storage/history/history-store.ts';
import { ManualClock } from '../../test/manual-clock.ts';
import { journalParts } from '../../test/storage/storage-services.ts';
import type { BenchFigure } from './figure.ts';

const SENSORS = 50;
const EVERY_MS = 30_000;
const DAY_MS = 86_400_000;
const MEGABYTE = 1_000_000;
const BLOCK_BYTES = 4096;

interface Day {
  readonly readings: number;
  /** What SQLite handed to the kernel in write calls (`wchar` of /proc/self/io). */
  readonly writtenBytes: number;
  /** The same with each minute's writes rounded up to blocks of 4 KiB and one more for a torn border. */
  readonly blockBytes: number;
  readonly commitMs: readonly number[];
  readonly fileBytes: number;
}

/**
 * One simulated day of 50 sensors twice a minute through HistoryStore, every value new, which is the worst case. The
 * hour before is not counted; readings are dropped during the day as they are after the first week, because the store
 * keeps them half a day here.
 *
 * `wchar` counts each write call, so a page rewritten in the page cache counts every time. `write_bytes` would flatter:
 * a day that passes in seconds dirties each cached page once.
 */
export async function run(): Promise<BenchFigure[]> {
  const directory = mkdtempSync(join(tmpdir(), 'atmo-bench-storage-'));
  try {
    const day = await simulateDay(directory);
    // A snapshot copies the whole file once a week; by then it holds what the retention says.
    const snapshotBytes = (steadyRows() * (day.fileBytes / rowsAfterDay()) * DAY_MS) / DEFAULT_HISTORY_SNAPSHOT_MS;
    const commitMs = day.commitMs.toSorted((a, b) => a - b);
    return [
      figure('storage.written', (day.writtenBytes + snapshotBytes) / MEGABYTE, {
        unit: 'MB/day',
        bar: 35,
        samples: day.readings,
        vs: 'write calls and the share of the weekly snapshot',
      }),
      figure('storage.written_blocks', (day.blockBytes + snapshotBytes) / MEGABYTE, {
        unit: 'MB/day',
        samples: day.readings,
        vs: 'the same in whole 4 KiB blocks each minute',
      }),
      figure('storage.inserts', day.readings / (commitMs.reduce((sum, ms) => sum + ms, 0) / 1000), {
        unit: '1/s',
        samples: day.readings,
        vs: 'in commits, sums included',
      }),
      figure('storage.commit_p99', commitMs[Math.floor(commitMs.length * 0.99)] ?? 0, {
        unit: 'ms',
        samples: commitMs.length,
        vs: 'the event loop is held that long once a minute',
      }),
      figure('storage.file', day.fileBytes / MEGABYTE, { unit: 'MB', samples: 1, vs: 'history.db after the day' }),
    ];
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

async function simulateDay(directory: string): Promise<Day> {
  const clock = new ManualClock();
  const collaborators = { clock, logger: silentLogger, events: { emit() {} }, ...journalParts(directory) };
  // Commits are called here, once a minute, to time and measure each; the store's own timer is set beyond the day.
  const store = new HistoryStore(collaborators, {
    directory,
    snapshotDirectory: directory,
    commitEveryMs: 7 * DAY_MS,
    retentionMs: { ...DEFAULT_RETENTION_MS, raw: DAY_MS / 2 },
    snapshotEveryMs: 30 * DAY_MS,
  });
  await store.start();
  const sensors = Array.from({ length: SENSORS }, (_, n) => parseSensorId(`device-${n}/temperature`));
  for (let minute = 0; minute < 60; minute++) sayForOneMinute(store, clock, sensors);
  store.flush();

  const commitMs: number[] = [];
  const before = writtenBytes();
  let blockBytes = 0;
  for (let minute = 0; minute < 24 * 60; minute++) {
    sayForOneMinute(store, clock, sensors);
    const [startBytes, startMs] = [writtenBytes(), performance.now()];
    store.flush();
    commitMs.push(performance.now() - startMs);
    blockBytes += (Math.ceil((writtenBytes() - startBytes) / BLOCK_BYTES) + 1) * BLOCK_BYTES;
  }
  await store[Symbol.asyncDispose]();
  return {
    readings: SENSORS * (DAY_MS / EVERY_MS),
    writtenBytes: writtenBytes() - before,
    blockBytes,
    commitMs,
    fileBytes: statSync(join(directory, 'history.db')).size,
  };
}

function sayForOneMinute(store: HistoryStore, clock: ManualClock, sensors: readonly SensorId[]): void {
  for (let elapsedMs = 0; elapsedMs < 60_000; elapsedMs += EVERY_MS) {
    clock.advance(EVERY_MS);
    for (const [index, sensor] of sensors.entries()) store.record(sensor, Math.random() * 30, clock.now() + index);
  }
}

function writtenBytes(): number {
  return Number(/^wchar: (\d+)$/m.exec(readFileSync('/proc/self/io', 'utf8'))?.[1]);
}

const ROWS_PER_DAY = { raw: DAY_MS / EVERY_MS, '5min': 288, '1h': 24 } as const;

/** Rows of all kinds once every retention is full. */
function steadyRows(): number {
  const days = (ms: number) => ms / DAY_MS;
  return (
    SENSORS *
    (ROWS_PER_DAY.raw * days(DEFAULT_RETENTION_MS.raw) +
      ROWS_PER_DAY['5min'] * days(DEFAULT_RETENTION_MS['5min']) +
      ROWS_PER_DAY['1h'] * days(DEFAULT_RETENTION_MS['1h']))
  );
}

/** Rows in the file when the simulated day ends. */
function rowsAfterDay(): number {
  return SENSORS * (ROWS_PER_DAY.raw / 2 + ROWS_PER_DAY['5min'] + ROWS_PER_DAY['1h']);
}

function figure(
  name: string,
  value: number,
  { unit, bar, samples, vs }: { unit: string; bar?: number; samples: number; vs: string },
): BenchFigure {
  const rounded = Math.round(value * 100) / 100;
  return { name, value: rounded, unit, bar: bar ?? null, ok: bar === undefined || rounded <= bar, samples, vs };
}
