/** What the mesh costs while nothing happens: bytes on the wire, memory and processor, against a hub that is in none. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { BenchFigure } from './figure.ts';
import { bytesOf, MeshPair } from './mesh-pair.ts';
import { cpuSeconds, rssMegabytes } from './process-figures.ts';
import { median } from './statistics.ts';

/** Until what a start leaves behind is collected, and the first searches for hubs, ever longer apart, are over (RFC 6762 §5.2). */
const SETTLE_MS = 60_000;
const SAMPLES = 12;
const SAMPLE_EVERY_MS = 5_000;
const WIRE_BAR = 200;
const MEMORY_BAR = 40;

/** A minute of two members with one link, after they have settled. */
export async function run(): Promise<BenchFigure[]> {
  await using pair = await new MeshPair().start();
  const [member, other] = pair.members;
  await sleep(SETTLE_MS);
  const [before, beforeOn, beforeOff] = [await bytesOf(member), cpuSeconds(member.pid), cpuSeconds(pair.alone.pid)];
  const startMs = performance.now();
  const memory: { readonly on: number; readonly off: number }[] = [];
  for (let count = 0; count < SAMPLES; count++) {
    await sleep(SAMPLE_EVERY_MS);
    memory.push({ on: (rssMegabytes(member.pid) + rssMegabytes(other.pid)) / 2, off: rssMegabytes(pair.alone.pid) });
  }
  const seconds = (performance.now() - startMs) / 1_000;
  const wire = ((await bytesOf(member)) - before) / seconds;
  const [on, off] = [median(memory.map((sample) => sample.on)), median(memory.map((sample) => sample.off))];
  const cpu = (usedSeconds: number) => (1_000 * usedSeconds) / seconds;
  const common = { bar: null, ok: true, samples: SAMPLES };
  return [
    {
      ...{ name: 'idle.wire', value: wire, unit: 'B/s', bar: WIRE_BAR, ok: wire <= WIRE_BAR, samples: SAMPLES },
      vs: 'both directions at the card of one of two members, Ethernet headers and discovery included',
    },
    {
      ...{ name: 'idle.memory', value: on - off, unit: 'MB', bar: MEMORY_BAR, ok: on - off <= MEMORY_BAR, samples: SAMPLES },
      vs: `RSS of a bundled member, ${Math.round(on)} MB, less that of a hub in no mesh, ${Math.round(off)} MB`,
    },
    { ...common, name: 'idle.cpu_on', value: cpu(cpuSeconds(member.pid) - beforeOn), unit: 'ms/s', vs: 'processor time of a member' },
    {
      ...common,
      name: 'idle.cpu_off',
      value: cpu(cpuSeconds(pair.alone.pid) - beforeOff),
      unit: 'ms/s',
      vs: 'processor time of a hub in no mesh',
    },
  ];
}
