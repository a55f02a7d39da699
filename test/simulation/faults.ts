import type { Draw } from './draw.ts';
import type { SimulatedMachine } from './simulated-machine.ts';
import type { World } from './world.ts';

/** Mean time between two faults of a world, for each machine. */
const BETWEEN_FAULTS_MS = 20 * 60_000;

/** A fault waits so long at most for the moment that it needs, in milliseconds. */
const LONGEST_WAIT_MS = 600_000;

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
  'the hub ends while a device acts': async (world, machine, draw) => {
    await Promise.race([world.nextEffect(machine), world.pause(LONGEST_WAIT_MS)]);
    await world.pause(draw.pause(50));
    if (draw.chance(0.5)) machine.kill();
    else machine.cutPower();
    await world.pause(draw.pause(5_000));
    await world.startMachine(machine);
  },
  'the hub is stopped and started': async (world, machine, draw) => {
    await machine.stop();
    await world.pause(draw.pause(5_000));
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
    await world.pause(draw.chance(0.5) ? draw.between(1_000, 20_000) : draw.between(20_000, 1_200_000));
    world.network.heal();
  },
  'the network is slow and loses gossip': async (world, _, draw) => {
    const before = world.network.delayMs;
    world.network.delayMs = [5, draw.between(50, 1_500)];
    world.network.gossipLoss = draw.between(0.05, 0.6);
    await world.pause(draw.between(10_000, 600_000));
    world.network.delayMs = before;
    world.network.gossipLoss = 0;
  },
};

/** Breaks one thing after the other until the world ends. */
export async function breakThings(world: World, draw: Draw): Promise<void> {
  for (;;) {
    await world.pause(draw.pause(BETWEEN_FAULTS_MS / world.machines.length));
    if (world.isEnding) return;
    const machine = draw.pick(world.machines);
    const name = draw.pick(Object.keys(FAULTS));
    world.note('fault', `${name}: ${machine.name}`);
    await world.during(() => FAULTS[name]?.(world, machine, draw) ?? Promise.resolve());
    world.note('fault', `over: ${name}: ${machine.name}`);
  }
}
