import { type Outcome, runChild } from './child-world.ts';
import { commandOf, type Finding, type ShownPlan } from './world-plan.ts';

/** A world in which an invariant breaks, and how. */
export interface BrokenWorld {
  readonly plan: ShownPlan;
  readonly finding: Finding;
  /** Seconds of processor time. */
  readonly seconds: number;
}

interface ShrinkOptions {
  /** Simulates a world. */
  readonly simulate: (plan: ShownPlan) => Promise<Pick<Outcome, 'finding' | 'seconds'>>;
  /** Called with each smaller world that breaks too. */
  readonly onSmaller: (world: BrokenWorld) => void;
}

/** An end is a little after the moment at which the invariant broke, in hours. */
const MARGIN_HOURS = 0.0002;
/** Digits of hours: 0.0001 h are a third of a second. */
const HOUR_DIGITS = 4;
/** A world is not made shorter than this. */
const LEAST_HOURS = 0.01;
/** With fewer hubs other things happen, so that some seeds are tried. */
const SEEDS_OF_FEWER_HUBS = 6;

/**
 * Finds a smaller world in which the same invariant breaks: fewer hubs, less time, and only those faults, people, agents and automations
 * that are needed.
 */
export class Shrinker {
  readonly #options: ShrinkOptions;

  constructor(options: ShrinkOptions) {
    this.#options = options;
  }

  async shrink(broken: BrokenWorld): Promise<BrokenWorld> {
    const short = await this.#shorten(broken);
    const few = await this.#withFewerHubs(short);
    return await this.#shorten(await this.#withoutParts(few));
  }

  /** Ends the world where it breaks. What breaks only after the end, when all is well again, may break in half the time too. */
  async #shorten(world: BrokenWorld): Promise<BrokenWorld> {
    const { plan, finding } = world;
    const endHours = Number((finding.hours + MARGIN_HOURS).toFixed(HOUR_DIGITS));
    if (endHours < plan.hours) {
      const shorter = await this.#try(world, { ...plan, hours: endHours });
      if (shorter) return shorter;
    }
    if (plan.hours < 2 * LEAST_HOURS) return world;
    const half = await this.#try(world, { ...plan, hours: Number((plan.hours / 2).toFixed(HOUR_DIGITS)) });
    return half ? await this.#shorten(half) : world;
  }

  async #withFewerHubs(world: BrokenWorld): Promise<BrokenWorld> {
    const { plan } = world;
    for (let hubs = 1; hubs < plan.hubs; hubs++) {
      for (let step = 0; step < SEEDS_OF_FEWER_HUBS; step++) {
        const fewer = await this.#try(world, { ...plan, hubs, seed: plan.seed + step, hours: 2 * plan.hours });
        if (fewer) return await this.#shorten(fewer);
      }
    }
    return world;
  }

  /** Leaves out halves of what is there, then quarters, and so on, down to single ones. */
  async #withoutParts(world: BrokenWorld): Promise<BrokenWorld> {
    let smallest = world;
    let { parts } = world.finding;
    for (let size = Math.ceil(parts.length / 2); size > 0; size = size > 1 ? Math.ceil(size / 2) : 0) {
      for (let from = 0; from < parts.length; ) {
        const rest = [...parts.slice(0, from), ...parts.slice(from + size)];
        const smaller = await this.#try(smallest, { ...smallest.plan, only: rest });
        if (smaller) [smallest, parts] = [smaller, rest];
        else from += size;
      }
    }
    return smallest;
  }

  /** Returns the world if the same invariant breaks in it. */
  async #try({ finding: { invariant } }: BrokenWorld, plan: ShownPlan): Promise<BrokenWorld | undefined> {
    const { finding, seconds } = await this.#options.simulate(plan);
    if (finding?.invariant !== invariant) return undefined;
    const world = { plan, finding, seconds };
    this.#options.onSmaller(world);
    return world;
  }
}

/**
 * Shrinks a world, and writes the trace of the smallest one to a file. Prints what it finds. Returns undefined if nothing breaks in the
 * world.
 */
export async function shrinkWorld(plan: ShownPlan, traceFile: string): Promise<BrokenWorld | undefined> {
  const first = await runChild({ plan });
  const { finding, seconds } = first;
  if (!finding) return undefined;
  console.log(first.printed.trimEnd());
  const shrinker = new Shrinker({
    simulate: (smaller) => runChild({ plan: smaller }),
    onSmaller: (world) => console.log(`breaks too, in ${world.seconds.toFixed(1)} s: ${commandOf(world.plan)}`),
  });
  const smallest = await shrinker.shrink({ plan, finding, seconds });
  const last = await runChild({ plan: smallest.plan, traceFile });
  console.log(`The smallest world (${last.seconds.toFixed(1)} s):\n${last.printed.trimEnd()}\nwhole trace: ${traceFile}`);
  return smallest;
}
