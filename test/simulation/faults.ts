import { crc32 } from 'node:zlib';
import { seededRandom } from '../seeded-random.ts';
import { damageConfiguration, damageFiles, keepFiles } from './damage.ts';
import { Draw } from './draw.ts';
import type { SimulatedMachine } from './simulated-machine.ts';
import type { World } from './world.ts';

/** Mean time between two faults of a world, for each machine. */
const BETWEEN_FAULTS_MS = 20 * 60_000;

/** A fault waits so long at most for the moment that it needs, in milliseconds. */
const LONGEST_WAIT_MS = 600_000;

/** A clock is wrong by so much at most, in milliseconds. Hubs refuse the requests of a hub whose time differs by more than a minute. */
const LARGEST_CLOCK_ERROR_MS = 25 * 60_000;

/** What may go wrong. Each fault ends by itself: it resolves when all is well again. */
type Fault = (world: World, machine: SimulatedMachine, draw: Draw) => Promise<void>;

const FAULTS: Readonly<Record<string, Fault>> = {
  'the process is killed': async (world, machine, draw) => {
    machine.kill();
    await world.pause(draw.pause(20_000));
    await world.startMachine(machine);
  },
  'the power fails': async (world, machine, draw) => {
    machine.cutPower();
    await world.pause(draw.pause(120_000));
    await world.startMachine(machine);
  },
  'the hub ends while a device acts': (world, machine, draw) => endAfter(world.nextEffect(machine), { world, machine, draw }),
  'the hub ends while it tells people': (world, machine, draw) => endAfter(world.provider.nextFrom(machine.name), { world, machine, draw }),
  'the hub is stopped and started': async (world, machine, draw) => {
    await world.stopMachine(machine);
    await world.pause(draw.pause(5_000));
    if (machine.olderUntilMs > world.queue.nowMs && draw.chance(0.5)) {
      machine.olderUntilMs = world.queue.nowMs;
      world.note('fault', `${machine.name} is upgraded`);
    }
    await world.startMachine(machine);
  },
  'the process stands still': async (world, machine, draw) => {
    const ms = draw.chance(0.5) ? draw.between(500, 5_000) : draw.between(5_000, 300_000);
    machine.process.standsUntilMs = world.queue.nowMs + ms;
    await world.pause(ms);
  },
  'the network between two machines is cut': async (world, machine, draw) => {
    for (const other of world.machines) {
      if (other === machine || draw.chance(0.5)) continue;
      world.network.cut(machine.name, other.name);
      if (draw.chance(0.7)) world.network.cut(other.name, machine.name);
    }
    await world.lasts(draw.chance(0.5) ? draw.between(1_000, 20_000) : draw.between(20_000, 1_200_000));
    world.network.heal();
  },
  'a member lies': async (world, machine, draw) => {
    world.network.lies(machine.name);
    await world.lasts(draw.between(10_000, 600_000));
    world.network.allHonest();
  },
  'the disk is full': (world, machine, draw) => refuseWrites({ world, machine, draw }, 'full'),
  'the disk is read-only': (world, machine, draw) => refuseWrites({ world, machine, draw }, 'read-only'),
  'files are damaged': async (world, machine, draw) => {
    const older = keepFiles(machine.stateDir);
    await world.lasts(draw.between(1_000, 600_000));
    await end({ world, machine, draw });
    const damage = damageFiles(machine.stateDir, older, draw);
    if (damage) world.damaged(machine, damage);
    await world.pause(draw.pause(5_000));
    if (damage && !(await world.tryMachine(machine))) damage.undo(machine.stateDir);
    if (!machine.isRunning) await world.startMachine(machine);
  },
  'the configuration is damaged': async (world, machine, draw) => {
    await end({ world, machine, draw });
    const { what, isLost, before } = damageConfiguration(machine.stateDir, draw);
    world.note('fault', `${what}: ${machine.name}`);
    await world.pause(draw.pause(5_000));
    if (isLost) await world.tryMachine(machine, 'CONFIG_INVALID');
    else await world.startMachine(machine);
    // The owner writes the file anew, which the hub needs at its next start at the latest.
    machine.edit('config.yaml', before);
    if (!machine.isRunning) await world.startMachine(machine);
  },
  'the clock of a machine is corrected': async (world, machine, draw) => {
    machine.process.clockErrorMs = draw.between(-LARGEST_CLOCK_ERROR_MS, LARGEST_CLOCK_ERROR_MS / 5);
    // A hub does not trust a clock that was set back behind a time which it took for proven, until a person confirms it.
    if (machine.process.clockErrorMs > 0) world.ledger.doubtAutomationsOf(machine.name);
    world.ledger.wrongClocks.set(machine.name, Number.POSITIVE_INFINITY);
    await world.lasts(draw.between(1_000, 600_000));
    machine.process.clockErrorMs = 0;
    world.ledger.wrongClocks.set(machine.name, world.queue.nowMs);
  },
  'a machine boots without the time': async (world, machine, draw) => {
    machine.cutPower();
    world.ledger.wrongClocks.set(machine.name, Number.POSITIVE_INFINITY);
    await world.pause(draw.pause(20_000));
    // A board without a battery begins in 1970.
    machine.bootClockErrorMs = -machine.process.wallMs();
    await world.startMachine(machine);
    machine.bootClockErrorMs = 0;
    await world.pause(draw.between(1_000, 300_000));
    machine.process.clockErrorMs = 0;
    world.ledger.wrongClocks.set(machine.name, world.queue.nowMs);
  },
  'the network is slow and loses gossip': async (world, _, draw) => {
    const before = world.network.delayMs;
    world.network.delayMs = [5, draw.between(50, 1_500)];
    world.network.gossipLoss = draw.between(0.05, 0.6);
    await world.lasts(draw.between(10_000, 600_000));
    world.network.delayMs = before;
    world.network.gossipLoss = 0;
  },
};

interface Scene {
  readonly world: World;
  readonly machine: SimulatedMachine;
  readonly draw: Draw;
}

/** Ends a hub within a moment after something, or without it when that does not come. */
async function endAfter(moment: Promise<void>, { world, machine, draw }: Scene): Promise<void> {
  await Promise.race([moment, world.pause(LONGEST_WAIT_MS)]);
  await world.pause(draw.pause(50));
  await end({ world, machine, draw });
  await world.pause(draw.pause(5_000));
  await world.startMachine(machine);
}

/** Ends a hub in one of the ways in which it may end. */
async function end({ world, machine, draw }: Scene): Promise<void> {
  if (draw.chance(0.3)) await world.stopMachine(machine);
  else if (draw.chance(0.5)) machine.kill();
  else machine.cutPower();
}

/** The disk refuses writes for a time, in which the hub may end too. A hub that did not start on such a disk is started again. */
async function refuseWrites({ world, machine, draw }: Scene, state: 'full' | 'read-only'): Promise<void> {
  machine.diskState = state;
  await world.lasts(draw.between(1_000, 600_000));
  if (draw.chance(0.4)) {
    await end({ world, machine, draw });
    await world.pause(draw.pause(5_000));
    await world.tryMachine(machine);
    await world.lasts(draw.between(1_000, 120_000));
  }
  machine.diskState = 'well';
  if (!machine.isRunning) await world.startMachine(machine);
}

/** Which faults come to a world, and how often. */
interface FaultPlan {
  readonly draw: Draw;
  readonly frequency: number;
  readonly seed: number;
  readonly kinds?: number | undefined;
}

/**
 * Breaks one thing after the other until the world ends. What a fault is and when it comes does not depend on those before it, so that some
 * can be left out; one that would come while another one lasts does not come.
 */
export async function breakThings(world: World, { draw, frequency, seed, kinds: count }: FaultPlan): Promise<void> {
  const kinds = count === undefined ? Object.keys(FAULTS) : kindsOf(seed, count);
  let dueMs = world.queue.nowMs;
  let next: string[] = [];
  for (let number = 1; ; number++) {
    dueMs += draw.pause(BETWEEN_FAULTS_MS / world.machines.length / frequency);
    // Each kind comes once before one comes again.
    if (next.length === 0) next = shuffled(kinds, draw);
    const [machine, kind = ''] = [draw.pick(world.machines), next.pop()];
    const ownDraw = new Draw(seededRandom(draw.index(2 ** 32)));
    const [name, untilDueMs] = [`fault-${number}`, dueMs - world.queue.nowMs];
    if (untilDueMs < 0) continue;
    await world.pause(untilDueMs);
    if (world.isEnding) return;
    if (!world.has(name)) continue;
    world.note(name, `${kind}: ${machine.name}`);
    await world.during(machine, () => FAULTS[kind]?.(world, machine, ownDraw) ?? Promise.resolve());
    world.note(name, `over: ${kind}: ${machine.name}`);
  }
}

/** Returns the kinds of faults of a world. Worlds of successive seeds share a shuffled list of all of them, so that a few worlds have them all. */
export function kindsOf(seed: number, count: number): readonly string[] {
  const all = Object.keys(FAULTS);
  const worlds = Math.ceil(all.length / count);
  const draw = new Draw(seededRandom(crc32(`kinds ${Math.floor(seed / worlds)}`)));
  const order = shuffled(all, draw);
  const first = Math.floor(((seed % worlds) * all.length) / worlds);
  return [...order, ...order].slice(first, first + Math.min(count, all.length));
}

function shuffled(kinds: readonly string[], draw: Draw): string[] {
  const drawn = kinds.map((kind) => [draw.random(), kind] as const);
  return drawn.toSorted(([a], [b]) => a - b).map(([, kind]) => kind);
}
