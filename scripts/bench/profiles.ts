/** What the memory profile for small boards saves and costs, in turns with the normal one. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { MEMORY_PROFILES, type MemoryProfileName } from '../../src/hub/config/memory-profile.ts';
import { fleet } from '../../test/home/fleet.ts';
import { VirtualHome } from '../../test/home/virtual-home.ts';
import type { BenchFigure } from './figure.ts';
import { fleetOf } from './fleet-spec.ts';
import { HubProgram } from './hub-program.ts';
import { median, quantile, timed } from './statistics.ts';
import { Workspace } from './workspace.ts';

const DEVICES = 11;
const WARM_UP = 30;
const CALLS = 300;
const LISTS = 60;
const IDLE_MS = 30_000;

/** A hub with one of the profiles, and what it took. */
interface Measured {
  readonly name: MemoryProfileName;
  readonly hub: HubProgram;
  readonly callMs: number[];
  readonly listMs: number[];
  rssMb: number;
  cpuMs: number;
}

/** Two hubs with 11 devices of the same kinds each: switches of a light and lists of devices in turns, then memory at rest. */
export async function run(): Promise<BenchFigure[]> {
  await HubProgram.build();
  using workspace = new Workspace();
  const types = fleet(DEVICES).devices.map(({ type }) => type);
  await using home = await VirtualHome.start({ spec: fleetOf([...types, ...types]), dir: join(workspace.dir, 'home') });
  await using hubs = new AsyncDisposableStack();
  const measured: Measured[] = [];
  for (const [index, name] of MEMORY_PROFILES.entries()) {
    const dir = join(workspace.dir, name);
    mkdirSync(dir);
    const hub = hubs.use(await HubProgram.start(dir, undefined, { ATMO_MEMORY: name }));
    const devices = home.devices.slice(index * DEVICES, (index + 1) * DEVICES);
    for (const device of devices) await hub.commission(device.pairing.qrCode, device.name);
    measured.push({ name, hub, callMs: [], listMs: [], rssMb: 0, cpuMs: 0 });
  }
  await inTurns(measured);
  await sleep(IDLE_MS);
  for (const one of measured) one.rssMb = one.hub.process.rssMegabytes;
  return figures(measured);
}

async function inTurns(measured: readonly Measured[]): Promise<void> {
  for (let turn = 0; turn < WARM_UP + CALLS; turn++) {
    for (const { hub, callMs } of measured) {
      const tookMs = await timed(() => hub.call(`matter:device_${lightOf(measured, hub)}_turn_${turn % 2 === 0 ? 'on' : 'off'}`, {}));
      if (turn >= WARM_UP) callMs.push(tookMs);
    }
    if (turn === WARM_UP) for (const one of measured) one.cpuMs = -1_000 * one.hub.process.cpuSeconds;
  }
  for (const one of measured) one.cpuMs += 1_000 * one.hub.process.cpuSeconds;
  for (let turn = 0; turn < LISTS; turn++) for (const { hub, listMs } of measured) listMs.push(await timed(() => hub.devices()));
}

/** The number of a light: `Device 1` of the first hub, and the one as many numbers later of the second. */
function lightOf(measured: readonly Measured[], hub: HubProgram): number {
  return measured.findIndex((one) => one.hub === hub) * DEVICES + 1;
}

function figures(measured: readonly Measured[]): BenchFigure[] {
  const common = { bar: null, ok: true };
  return measured.flatMap(({ name, callMs, listMs, rssMb, cpuMs }) => [
    {
      ...common,
      name: `profiles.${name}.rss`,
      value: rssMb,
      unit: 'MB',
      samples: 1,
      vs: `RSS, ${DEVICES} devices, after the work below and a rest`,
    },
    {
      ...common,
      name: `profiles.${name}.call_p50`,
      value: median(callMs),
      unit: 'ms',
      samples: CALLS,
      vs: 'a light switched over HTTP and read back',
    },
    {
      ...common,
      name: `profiles.${name}.call_p99`,
      value: quantile(callMs, 0.99),
      unit: 'ms',
      samples: CALLS,
      vs: 'a light switched over HTTP and read back',
    },
    { ...common, name: `profiles.${name}.call_cpu`, value: cpuMs / CALLS, unit: 'ms', samples: CALLS, vs: 'processor time of a switch' },
    { ...common, name: `profiles.${name}.list_p50`, value: median(listMs), unit: 'ms', samples: LISTS, vs: 'the list of devices' },
  ]);
}
