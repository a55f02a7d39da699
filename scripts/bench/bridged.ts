import { setTimeout as sleep } from 'node:timers/promises';
import { LabMesh } from '../../test/live/mesh/lab-mesh.ts';
import type { MeshHub } from '../../test/live/mesh/mesh-hub.ts';
import { BRIDGE_PROGRAM } from './bridge-home.ts';
import type { BenchFigure } from './figure.ts';
import { rssMegabytes } from './process-figures.ts';
import { median } from './statistics.ts';

const FEW = 20;
const MANY = 100;
const OUTPUTS = Array.from({ length: MANY / 2 }, (_, line) => `out_${line}`);
const INPUTS = Array.from({ length: MANY / 2 }, (_, line) => `in_${line}`);
const BAR_MEGABYTES = 12;
const IDLE_MS = 30_000;
const SAMPLES = 5;
const SAMPLE_EVERY_MS = 2_000;

/** Resident memory of three hubs with the same lines, of which they bridge none, 20 and 100, a while after a start. */
export async function run(): Promise<BenchFigure[]> {
  await using mesh = await new LabMesh().start();
  const hubs: MeshHub[] = [];
  for (const bridged of [0, FEW, MANY]) hubs.push(await bridging(mesh, bridged));
  await sleep(IDLE_MS);
  const samples: (readonly number[])[] = [];
  for (let count = 0; count < SAMPLES; count++) {
    await sleep(SAMPLE_EVERY_MS);
    samples.push(hubs.map(({ pid }) => rssMegabytes(pid)));
  }
  const [none = 0, few = 0, many = 0] = hubs.map((_hub, index) => median(samples.map((sample) => sample[index] ?? 0)));
  const common = { unit: 'MB', bar: null, ok: true, samples: SAMPLES };
  return [
    {
      ...{ ...common, name: 'bridge.memory_few', value: few - none, bar: BAR_MEGABYTES, ok: few - none <= BAR_MEGABYTES },
      vs: `RSS with ${FEW} bridged outputs less that of a hub that bridges none`,
    },
    { ...common, name: 'bridge.memory_many', value: many - none, vs: `the same with ${MANY} bridged outputs and inputs, on two bridges` },
    { ...common, name: 'bridge.memory_none', value: none, vs: `RSS of a hub with ${MANY} lines that bridges none` },
  ];
}

/** Starts a hub, bridges its first lines and starts it again, so that what was made while they were added is not counted. */
async function bridging(mesh: LabMesh, count: number): Promise<MeshHub> {
  const outputs = Object.fromEntries(OUTPUTS.map((name) => [name, { line: name, title: name }]));
  const inputs = Object.fromEntries(INPUTS.map((name) => [name, { line: name, title: name, kind: 'contact' }]));
  const config = { matter: { enabled: true }, sensors: { gpio: { backend: 'sim', inputs, outputs } } };
  const hub = await mesh.addHub(await mesh.lab.addHost(`b${count}`), { ...BRIDGE_PROGRAM, config });
  for (const thing of [...OUTPUTS, ...INPUTS].slice(0, count)) await hub.result('hub:bridge_device', { thing });
  await hub.stop();
  return hub.start();
}
