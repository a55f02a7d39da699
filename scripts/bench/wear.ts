import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseSensorId } from '../../src/core/devices/device-names.ts';
import { AtmoError } from '../../src/core/errors.ts';
import { HubProblems } from '../../src/core/health.ts';
import { ServiceStack } from '../../src/core/lifecycle.ts';
import { silentLogger } from '../../src/core/logger.ts';
import { loadConfig } from '../../src/hub/config/config.ts';
import { type Infrastructure, openInfrastructure } from '../../src/hub/infrastructure.ts';
import { openToolServices, type ToolServices } from '../../src/hub/tool-services.ts';
import { DEFAULT_HISTORY_SNAPSHOT_MS } from '../../src/storage/history/history-store.ts';
import { basicTools } from '../../src/tools/builtin/basic-tools.ts';
import { owner } from '../../test/calls/pipeline-fixture.ts';
import { ManualClock } from '../../test/manual-clock.ts';
import type { BenchFigure } from './figure.ts';
import { passTime } from './simulated-day.ts';
import { Workspace } from './workspace.ts';

const SENSORS = 50;
const STEP_MS = 30_000;
const DAY_MS = 86_400_000;
const MEGABYTE = 1_000_000;
const BAR_MB = 35;
/** What a home with some automations and an agent makes: a call every three minutes. */
const CALL_EVERY_STEPS = 6;

/** The parts of a hub that write, on a clock that is moved by hand. */
interface Household {
  readonly clock: ManualClock;
  readonly infrastructure: Infrastructure;
  readonly services: ToolServices;
}

type Life = (home: Household) => (step: number) => Promise<void>;

/**
 * A day of all that a hub keeps: 50 sensors twice a minute, each value new, and a call every three minutes, with every copy that
 * falls due. Counted are the bytes of write calls (`wchar` of /proc/self/io), in which a page that is written twice counts
 * twice: `write_bytes` would flatter a day that passes in seconds. Each life has a day of its own, since one process has one
 * count.
 */
export async function run(): Promise<BenchFigure[]> {
  const idle = await dayOf(() => async () => {});
  const reading = await dayOf(readings);
  const calling = await dayOf(calls);
  const weekly = (reading.historyBytes * 7 * DAY_MS) / DEFAULT_HISTORY_SNAPSHOT_MS;
  const total = idle.bytes + (reading.bytes - idle.bytes) + (calling.bytes - idle.bytes) + weekly;
  const samples = { idle: 1, readings: (SENSORS * DAY_MS) / STEP_MS, calls: DAY_MS / STEP_MS / CALL_EVERY_STEPS };
  return [
    {
      ...{ name: 'wear.written', value: total / MEGABYTE, unit: 'MB/day', bar: BAR_MB, ok: total <= BAR_MB * MEGABYTE },
      samples: samples.readings + samples.calls,
      vs: `${SENSORS} sensors twice a minute and ${samples.calls} calls, copies included`,
    },
    part('idle', idle.bytes, samples.idle, 'nothing happens'),
    part('readings', reading.bytes - idle.bytes, samples.readings, 'beyond idle: history and its sums'),
    part('calls', calling.bytes - idle.bytes, samples.calls, 'beyond idle: the journal, its head, usage, copies of state and journal'),
    part('history_copy', weekly, 1, 'share of the copy of a week of history'),
  ];
}

const part = (name: string, bytes: number, samples: number, vs: string): BenchFigure => ({
  ...{ name: `wear.${name}`, value: bytes / MEGABYTE, unit: 'MB/day', bar: null, ok: true, samples, vs },
});

/** Bytes that a day of such a life writes, after an hour that is not counted. */
async function dayOf(life: Life): Promise<{ readonly bytes: number; readonly historyBytes: number }> {
  using workspace = new Workspace();
  writeFileSync(join(workspace.dir, 'config.yaml'), 'matter: {enabled: false}\nclock: {trust: always}\n');
  const config = loadConfig({}, workspace.dir);
  const clock = new ManualClock(Date.now());
  await using stack = new ServiceStack();
  const infrastructure = await openInfrastructure(
    { clock, logger: silentLogger, problems: new HubProblems(), mesh: () => undefined },
    config,
    stack,
  );
  const services = await openToolServices(infrastructure, config, stack);
  for (const tool of basicTools) services.registry.register(tool);
  const live = life({ clock, infrastructure, services });
  let step = 0;
  const pass = (forMs: number) => passTime(clock, { forMs, stepMs: STEP_MS }, () => live(step++));
  await pass(DAY_MS / 24);
  const before = writtenBytes();
  await pass(DAY_MS);
  const bytes = writtenBytes() - before;
  return { bytes, historyBytes: statSync(join(workspace.dir, 'history.db')).size };
}

const readings: Life = ({ clock, infrastructure }) => {
  const sensors = Array.from({ length: SENSORS }, (_, n) => parseSensorId(`device-${n}/temperature`));
  return async () => {
    for (const [index, sensor] of sensors.entries()) infrastructure.readings.record(sensor, Math.random() * 30, clock.now() + index);
  };
};

const calls: Life =
  ({ services }) =>
  async (step) => {
    if (step % CALL_EVERY_STEPS !== 0) return;
    const answer = await services.pipeline.call({ principal: owner, tool: 'core:echo', params: { value: 'the lamp in the hall, please' } });
    if (answer.status === 'error') throw new AtmoError(answer.error.code, answer.error.message);
  };

function writtenBytes(): number {
  return Number(/^wchar: (\d+)$/m.exec(readFileSync('/proc/self/io', 'utf8'))?.[1]);
}
