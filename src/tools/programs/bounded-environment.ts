import type { ToolContext, ToolDefinition } from '../definition/tool-definition.ts';

const SEED_NUMBERS = 4;

/** Time and chance of a bounded run, as data for code that runs apart from the hub. */
export interface BoundedEnvironment {
  /** Milliseconds since 1970, which do not move. */
  readonly nowMs: number;
  /** Four numbers of 32 bits. */
  readonly seed: readonly number[];
}

/**
 * What a call of a tool that is declared bounded may depend on beside its parameters (BoundedNonDeterminism): the same for the same
 * run, so that replay gives the same answer. Undefined for tools that are declared otherwise, which see real time and chance.
 */
export function boundedEnvironment(
  { execution }: Pick<ToolDefinition, 'execution'>,
  { clock, random }: Pick<ToolContext, 'clock' | 'random'>,
): BoundedEnvironment | undefined {
  if (execution.determinism !== 'bounded') return undefined;
  return { nowMs: clock.now(), seed: Array.from({ length: SEED_NUMBERS }, () => Math.floor(random() * 2 ** 32)) };
}

/**
 * JavaScript text that defines `enterWorld(world)`: it makes `Date` and `Math.random` those of a bounded world, where there is one, and
 * returns the context `{ clock: { now() }, random() }` of the tool. The numbers are those of sfc32 (PractRand, Doty-Humphrey).
 */
export const ENTER_ENVIRONMENT = `
function enterWorld(world) {
  if (world) {
    const { nowMs, seed } = world;
    let [a, b, c, count] = seed;
    Math.random = () => {
      const sum = (a + b + count) | 0;
      count = (count + 1) | 0;
      a = b ^ (b >>> 9);
      b = (c + (c << 3)) | 0;
      c = ((c << 21) | (c >>> 11)) + sum | 0;
      return (sum >>> 0) / 4294967296;
    };
    globalThis.Date = new Proxy(Date, {
      apply: (RealDate) => new RealDate(nowMs).toString(),
      construct: (RealDate, parts) => (parts.length === 0 ? new RealDate(nowMs) : new RealDate(...parts)),
      get: (RealDate, key) => (key === 'now' ? () => nowMs : Reflect.get(RealDate, key)),
    });
  }
  return { clock: { now: () => Date.now() }, random: () => Math.random() };
}`;
