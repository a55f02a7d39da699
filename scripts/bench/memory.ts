import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fleet } from '../../test/home/fleet.ts';
import { VirtualHome } from '../../test/home/virtual-home.ts';
import { BareProgram } from './bare-program.ts';
import type { BenchFigure } from './figure.ts';
import { fleetOf } from './fleet-spec.ts';
import { HubProgram } from './hub-program.ts';
import { median } from './statistics.ts';
import { Workspace } from './workspace.ts';

const DEVICES = 11;
const IDLE_MS = 30_000;
const EMPTY_IDLE_MS = 60_000;
const SAMPLES = 5;
const SAMPLE_EVERY_MS = 2_000;
const BAR = 1.25;

/** Resident memory without devices, and with 11 of its own, idle, against the bare controller with 11 of the same kinds. */
export async function run(): Promise<BenchFigure[]> {
  await Promise.all([HubProgram.build(), BareProgram.build()]);
  const emptyMegabytes = await withoutDevices();
  using workspace = new Workspace();
  const types = fleet(DEVICES).devices.map((device) => device.type);
  await using home = await VirtualHome.start({ spec: fleetOf([...types, ...types]), dir: join(workspace.dir, 'home') });
  await using hub = await HubProgram.start(workspace.dir);
  await using bare = await BareProgram.start(workspace.dir);
  for (const [index, { name, pairing }] of home.devices.entries()) {
    await (index < DEVICES ? hub.commission(pairing.qrCode, name) : bare.commission(pairing.manualCode));
  }
  await sleep(IDLE_MS);
  const samples: { readonly hub: number; readonly bare: number }[] = [];
  for (let count = 0; count < SAMPLES; count++) {
    await sleep(SAMPLE_EVERY_MS);
    samples.push({ hub: hub.process.rssMegabytes, bare: bare.process.rssMegabytes });
  }
  const hubMegabytes = median(samples.map((sample) => sample.hub));
  const bareMegabytes = median(samples.map((sample) => sample.bare));
  const ratio = hubMegabytes / bareMegabytes;
  const common = { unit: 'MB', bar: null, ok: true, samples: SAMPLES };
  return [
    {
      ...{ name: 'memory.ratio', value: ratio, unit: 'ratio', bar: BAR, ok: ratio <= BAR, samples: SAMPLES },
      vs: 'bare matter.js controller with an HTTP server, same bundler and flags',
    },
    { ...common, name: 'memory.hub', value: hubMegabytes, vs: `RSS, ${DEVICES} devices, idle` },
    { ...common, name: 'memory.empty', value: emptyMegabytes, vs: 'RSS of a new hub without devices, a minute after its start' },
    { ...common, name: 'memory.bare', value: bareMegabytes, vs: `RSS, ${DEVICES} devices, idle` },
  ];
}

async function withoutDevices(): Promise<number> {
  using workspace = new Workspace();
  await using hub = await HubProgram.start(workspace.dir);
  await sleep(EMPTY_IDLE_MS);
  const samples: number[] = [];
  for (let count = 0; count < SAMPLES; count++) {
    await sleep(SAMPLE_EVERY_MS);
    samples.push(hub.process.rssMegabytes);
  }
  return median(samples);
}
