/** Measures the two programs in turns: what they take for calls and starts, the memory that they hold, the processor at rest. */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { VirtualHome } from '../../../test/home/virtual-home.ts';
import { LabMesh } from '../../../test/live/mesh/lab-mesh.ts';
import { fleetOf } from '../fleet-spec.ts';
import { threadsCpuMs } from '../process-figures.ts';
import { quantile } from '../statistics.ts';
import { Workspace } from '../workspace.ts';
import { LightHub, type MeshSide, meshSide } from './sides.ts';
import { type Both, type Measurement, type Pair, REPEATS, type Side } from './verdict.ts';

/** Rounds of a repeat: odd, so that the median is one of the values. One program therefore goes first once more than the other in a repeat. */
const START_ROUNDS = 3;
const CALL_ROUNDS = 9;
const CALLS_A_ROUND = 10;
const WARM_UP_ROUNDS = 5;
/** The value of a round is the lower quartile of its calls, because other work on the machine makes some calls longer and none shorter. */
const CALL_SHARE = 0.25;
/** What a start leaves behind is still there, and the light has been found. */
const MEMORY_AFTER_MS = 4_000;
/** The second hub of a round starts when the first has answered and so long has passed. */
const APART_MS = 1_500;
const SETTLE_MS = 15_000;
/** Short and many, as what happens once in a minute would be most of a long one. */
const REST_MS = 4_000;
const REST_ROUNDS = 5;
/** A caller may call 200 times a second. */
const PACE_MS = 8;

/** The figures of one run of the programs with these paths, some minutes. Works only inside scripts/in-netns. */
export async function measure(programs: Both<string>): Promise<readonly Measurement[]> {
  using workspace = new Workspace();
  const { dir } = workspace;
  await using home = await VirtualHome.start({ spec: fleetOf(['on-off-light', 'on-off-light']), dir: join(dir, 'home') });
  await using mesh = await new LabMesh().start();
  const meshes = {
    base: await meshSide(mesh, { side: 'base', program: programs.base }, 1),
    present: await meshSide(mesh, { side: 'present', program: programs.present }, 2),
  };
  await using base = new LightHub({ side: 'base', program: programs.base }, dir);
  await using present = new LightHub({ side: 'present', program: programs.present }, dir);
  const lights = { base, present };
  const codes = home.devices.map((device) => device.pairing.manualCode);
  for (const [index, light] of [base, present].entries()) {
    await light.start();
    await light.hub.commission(codes[index] ?? '', 'Light');
  }
  const started = await startsAndMemory(lights);
  const rest = await atRest(lights, meshes);
  return [...started, rest, ...(await calls(lights, meshes))];
}

/** Both hubs are restarted in each round, in the other order than in the round before; after the last round they run on. */
async function startsAndMemory(lights: Both<LightHub>): Promise<readonly Measurement[]> {
  const [starts, memory]: [Pair[], Pair[]] = [[], []];
  for (let round = 0; round < REPEATS * START_ROUNDS; round++) {
    await Promise.all([lights.base.stop(), lights.present.stop()]);
    const startMs = { base: 0, present: 0 };
    const megabytes: Partial<Record<Side, Promise<number>>> = {};
    for (const side of inTurn(round)) {
      if (megabytes.base ?? megabytes.present) await sleep(APART_MS);
      startMs[side] = await lights[side].start();
      megabytes[side] = sleep(MEMORY_AFTER_MS).then(() => lights[side].hub.process.rssMegabytes);
    }
    starts.push(startMs);
    memory.push({ base: (await megabytes.base) ?? 0, present: (await megabytes.present) ?? 0 });
  }
  return [
    { name: 'start', unit: 'ms', repeats: chunks(starts, START_ROUNDS) },
    { name: 'memory', unit: 'MB', repeats: chunks(memory, START_ROUNDS) },
  ];
}

/** Processor time of the three hubs of each program at the same time, while nobody calls them. */
async function atRest(lights: Both<LightHub>, meshes: Both<MeshSide>): Promise<Measurement> {
  const pids = bothOf((side) => [lights[side].hub.process.pid, meshes[side].here.pid, meshes[side].there.pid]);
  const used = () => bothOf((side) => pids[side].reduce((sum, pid) => sum + threadsCpuMs(pid), 0));
  await sleep(SETTLE_MS);
  const rounds: Pair[] = [];
  for (let round = 0; round < REPEATS * REST_ROUNDS; round++) {
    const [before, startMs] = [used(), performance.now()];
    await sleep(REST_MS);
    const [after, seconds] = [used(), (performance.now() - startMs) / 1_000];
    rounds.push(bothOf((side) => (after[side] - before[side]) / seconds));
  }
  return { name: 'rest', unit: 'ms/s', repeats: chunks(rounds, REST_ROUNDS) };
}

/** Each way of calling, in turns between the programs, call by call. */
async function calls(lights: Both<LightHub>, meshes: Both<MeshSide>): Promise<readonly Measurement[]> {
  const count = (side: Side, place: keyof MeshSide) => {
    const { here, [place]: hub } = meshes[side];
    return () => here.result(`lab:count_${hub.name}`, { ticket: 'gate' });
  };
  let turns = 0;
  const ways = [
    { name: 'call', work: bothOf((side) => count(side, 'here')) },
    { name: 'remote call', work: bothOf((side) => count(side, 'there')) },
    // Each call of both programs changes something.
    {
      name: 'light',
      work: bothOf((side) => () => lights[side].hub.call(turns % 2 === 0 ? 'light_turn_on' : 'light_turn_off', {})),
      onTurn: () => turns++,
    },
  ];
  const measurements = ways.map((way) => ({ ...way, repeats: [] as Pair[][] }));
  for (const { work, onTurn } of ways) for (let round = 0; round < WARM_UP_ROUNDS; round++) await callRound(work, onTurn);
  for (let repeat = 0; repeat < REPEATS; repeat++) {
    for (const { work, onTurn, repeats } of measurements) {
      const pairs: Pair[] = [];
      for (let round = 0; round < CALL_ROUNDS; round++) pairs.push(await callRound(work, onTurn));
      repeats.push(pairs);
    }
  }
  return measurements.map(({ name, repeats }) => ({ name, unit: 'ms', repeats }));
}

/** Lower quartiles of some calls of each program, which is first as often as the other. */
async function callRound(work: Both<() => Promise<unknown>>, onTurn: () => unknown = () => undefined): Promise<Pair> {
  const times: Both<number[]> = { base: [], present: [] };
  for (let call = 0; call < CALLS_A_ROUND; call++) {
    for (const side of inTurn(call)) {
      await sleep(PACE_MS);
      const startMs = performance.now();
      await work[side]();
      times[side].push(performance.now() - startMs);
    }
    onTurn();
  }
  return bothOf((side) => quantile(times[side], CALL_SHARE));
}

function inTurn(round: number): readonly Side[] {
  return round % 2 === 0 ? ['base', 'present'] : ['present', 'base'];
}

function bothOf<Thing>(make: (side: Side) => Thing): Both<Thing> {
  return { base: make('base'), present: make('present') };
}

function chunks(pairs: readonly Pair[], size: number): readonly (readonly Pair[])[] {
  return Array.from({ length: Math.ceil(pairs.length / size) }, (_, index) => pairs.slice(index * size, (index + 1) * size));
}
