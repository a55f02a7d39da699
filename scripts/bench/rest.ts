/** What a hub costs the processor while nothing happens, with devices, against the bare controller beside it. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { VirtualHome } from '../../test/home/virtual-home.ts';
import { BareProgram } from './bare-program.ts';
import type { BenchFigure } from './figure.ts';
import { fleetOf } from './fleet-spec.ts';
import { HubProgram } from './hub-program.ts';
import type { MeasuredProgram } from './measured-program.ts';
import { Workspace } from './workspace.ts';

const LIGHTS = 11;
/** Longer than the minute for which a device that somebody called has attention. */
const SETTLE_MS = 75_000;
const REST_MS = 120_000;
const BAR = 1.3;

/** Two minutes of a hub and of a bare controller with eleven lights each, at the same time. */
export async function run(): Promise<BenchFigure[]> {
  await Promise.all([HubProgram.build(), BareProgram.build()]);
  using workspace = new Workspace();
  const spec = fleetOf(Array.from({ length: 2 * LIGHTS }, () => 'dimmable-light'));
  await using home = await VirtualHome.start({ spec, dir: join(workspace.dir, 'home') });
  await using hub = await HubProgram.start(workspace.dir);
  await using bare = await BareProgram.start(workspace.dir);
  for (const [index, { name, pairing }] of home.devices.entries()) {
    await (index < LIGHTS ? hub.commission(pairing.qrCode, name) : bare.commission(pairing.manualCode));
  }
  await sleep(SETTLE_MS);
  const programs = [hub.process, bare.process];
  const before = programs.map(usedBy);
  const startMs = performance.now();
  await sleep(REST_MS);
  const seconds = (performance.now() - startMs) / 1_000;
  const [ours, theirs] = programs.map((program, index) => {
    const [now, then] = [usedBy(program), before[index] ?? usedBy(program)];
    return { cpu: (1_000 * (now.cpuSeconds - then.cpuSeconds)) / seconds, wakeUps: (now.wakeUps - then.wakeUps) / seconds };
  });
  if (!ours || !theirs) return [];
  const ratio = ours.cpu / theirs.cpu;
  const common = { bar: null, ok: true, samples: 1 };
  return [
    {
      ...{ name: 'rest.ratio', value: ratio, unit: 'ratio', bar: BAR, ok: ratio <= BAR, samples: 1 },
      vs: `processor time with ${LIGHTS} lights / bare matter.js controller at the same time`,
    },
    { ...common, name: 'rest.hub', value: ours.cpu, unit: 'ms/s', vs: 'processor time of the hub' },
    { ...common, name: 'rest.bare', value: theirs.cpu, unit: 'ms/s', vs: 'processor time of the bare controller' },
    {
      ...common,
      name: 'rest.wake_ups',
      value: ours.wakeUps,
      unit: '1/s',
      vs: `the bare controller: ${theirs.wakeUps.toFixed(1)} a second`,
    },
  ];
}

/** Processor time and the times that the main thread gave the processor up since the program began (proc_pid_status(5)). */
function usedBy(program: MeasuredProgram): { readonly cpuSeconds: number; readonly wakeUps: number } {
  const status = readFileSync(`/proc/${program.pid}/status`, 'utf8');
  return { cpuSeconds: program.cpuSeconds, wakeUps: Number(/^voluntary_ctxt_switches:\s+(\d+)$/m.exec(status)?.[1]) };
}
