import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { AtmoError } from '../../src/core/errors.ts';
import { fleet } from '../../test/home/fleet.ts';
import { VirtualHome } from '../../test/home/virtual-home.ts';
import type { BenchFigure } from './figure.ts';
import { HubProgram } from './hub-program.ts';
import { median } from './statistics.ts';
import { Workspace } from './workspace.ts';

const DEVICES = 50;
const FRESH_BAR_SECONDS = 60;
const GIVE_UP_MS = 600_000;
const POLL_MS = 100;
const IDLE_SETTLE_MS = 10_000;
const IDLE_MS = 30_000;

/** Fifty devices: how long each takes to commission, how soon all are fresh after a restart, and what they cost at rest. */
export async function run(): Promise<BenchFigure[]> {
  await HubProgram.build();
  using workspace = new Workspace();
  const { dir } = workspace;
  await using home = await VirtualHome.start({ spec: fleet(DEVICES), dir: join(dir, 'home') });
  const common = { bar: null, ok: true };
  const commissioned = await commissionAll(dir, home);
  const restarted = await restart(dir);
  return [
    {
      ...common,
      name: 'fleet.commission_p50',
      value: median(commissioned),
      unit: 'ms',
      samples: DEVICES,
      vs: 'one device after the other',
    },
    {
      ...{
        name: 'fleet.restart_fresh',
        value: restarted.freshSeconds,
        unit: 's',
        samples: DEVICES,
        vs: 'exec until every device has reported',
      },
      ...{ bar: FRESH_BAR_SECONDS, ok: restarted.freshSeconds <= FRESH_BAR_SECONDS },
    },
    {
      ...common,
      name: 'fleet.idle_cpu',
      value: restarted.idleCpuPercent,
      unit: '% of one core',
      samples: 1,
      vs: `over ${IDLE_MS / 1000} s`,
    },
    { ...common, name: 'fleet.idle_rss', value: restarted.rssMegabytes, unit: 'MB', samples: 1, vs: `RSS, ${DEVICES} devices` },
  ];
}

async function commissionAll(dir: string, home: VirtualHome): Promise<readonly number[]> {
  await using hub = await HubProgram.start(dir);
  const times: number[] = [];
  for (const { name, pairing } of home.devices) {
    const startMs = performance.now();
    await hub.commission(pairing.qrCode, name);
    times.push(performance.now() - startMs);
  }
  return times;
}

async function restart(dir: string) {
  await using hub = await HubProgram.start(dir);
  await allFresh(hub);
  const freshSeconds = (performance.now() - hub.process.startedMs) / 1000;
  await sleep(IDLE_SETTLE_MS);
  const cpuBefore = hub.process.cpuSeconds;
  await sleep(IDLE_MS);
  const idleCpuPercent = ((hub.process.cpuSeconds - cpuBefore) / (IDLE_MS / 1000)) * 100;
  return { freshSeconds, idleCpuPercent, rssMegabytes: hub.process.rssMegabytes };
}

/**
 * Every device answered this process at some time: it was reachable and heard since the start. Not all at the same moment, since asking
 * for devices makes the hub ask them in turn, and on a busy machine one or the other answers late.
 */
async function allFresh(hub: HubProgram): Promise<void> {
  const fresh = new Set<string>();
  for (;;) {
    const sinceStartMs = performance.now() - hub.process.startedMs;
    const devices = await hub.devices();
    for (const { id, reachability, age_ms: ageMs } of devices)
      if (reachability === 'reachable' && ageMs !== null && ageMs < sinceStartMs) fresh.add(id);
    if (fresh.size === DEVICES) return;
    if (sinceStartMs > GIVE_UP_MS) {
      const stale = devices.filter(({ id }) => !fresh.has(id));
      const states = stale.map(({ id, reachability, age_ms: ageMs }) => `${id} is ${reachability}, heard ${ageMs} ms ago`);
      throw new AtmoError(
        'TIMEOUT',
        `Not all ${DEVICES} devices were heard in ${GIVE_UP_MS / 1_000} s after the start: ${states.join('; ')}`,
      );
    }
    await sleep(POLL_MS);
  }
}
