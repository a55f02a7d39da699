/** Whether measurements of two programs in turns show that one of them is worse. Nothing here measures. */
import { AtmoError } from '../../../src/core/errors.ts';
import { median } from '../statistics.ts';

/** Something of each of the two programs: that of the named commit, and that of the tree. */
export interface Both<Thing> {
  readonly base: Thing;
  readonly present: Thing;
}

/** One of the two programs. */
export type Side = keyof Both<unknown>;

/** One round: a value of each program, measured one right after the other, or at the same time. More is worse. */
export type Pair = Both<number>;

/** The rounds of one repeat, at least one. */
export type Repeat = readonly Pair[];

/** The repeats of one figure, in the order in which they were measured. */
export interface Measurement {
  readonly name: string;
  readonly unit: string;
  readonly repeats: readonly Repeat[];
}

/** What the repeats of one figure come to. */
export interface Verdict {
  readonly name: string;
  readonly unit: string;
  /** Present / base in each repeat. */
  readonly ratios: readonly number[];
  /** Medians over all rounds. */
  readonly base: number;
  readonly present: number;
  readonly isWorse: boolean;
}

/** A repeat speaks against the present program when its ratio is beyond this. */
const LIMIT = 1.15;
/** All of so many repeats have to agree. */
export const REPEATS = 3;

/** The present program is worse only if each repeat says so by itself. Throws if there are fewer than three repeats. */
export function judge({ name, unit, repeats }: Measurement): Verdict {
  if (repeats.length < REPEATS) throw new AtmoError('INTERNAL_ERROR', `${name} has ${repeats.length} repeats, not ${REPEATS}`);
  const ratios = repeats.map(ratioOf);
  const all = repeats.flat();
  return {
    ...{ name, unit, ratios, base: median(all.map((pair) => pair.base)), present: median(all.map((pair) => pair.present)) },
    isWorse: ratios.every((ratio) => ratio > LIMIT),
  };
}

/**
 * The smaller one of two ratios: the median of present / base over the rounds, and the least value of the present program / that of the
 * base. Others on the machine make a value larger, never smaller: on a busy one the median scatters and the least values stay. What makes
 * a program worse moves both.
 */
function ratioOf(pairs: Repeat): number {
  const least = (side: Side) => Math.min(...pairs.map((pair) => pair[side]));
  return Math.min(median(pairs.map(({ base, present }) => present / base)), least('present') / least('base'));
}

/** The verdicts as lines of a table, with the head first. */
export function tableOf(verdicts: readonly Verdict[]): readonly string[] {
  const repeats = Array.from({ length: REPEATS }, (_, index) => `repeat ${index + 1}`);
  const rows = verdicts.map(({ name, unit, ratios, base, present, isWorse }) => [
    ...[name, ...ratios.map((ratio) => ratio.toFixed(2))],
    ...[`${base.toPrecision(3)} ${unit}`, `${present.toPrecision(3)} ${unit}`, isWorse ? `✗ worse by more than ${percent(LIMIT)}` : '✓'],
  ]);
  return [['', ...repeats, 'base', 'present', ''], ...rows].map(([first = '', ...cells]) =>
    [first.padEnd(14), ...cells.map((cell) => cell.padStart(12))].join(' ').trimEnd(),
  );
}

const percent = (limit: number): string => `${Math.round((limit - 1) * 100)} %`;
