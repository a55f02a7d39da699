import type { Attacker } from './attacker.ts';
import type { Target } from './target.ts';

/** One way to get at what is not one's own. It runs once against what is there and once against what is not. */
export interface Attempt {
  readonly name: string;
  /** `refused`: every single answer has to be an error; `harmless`: it may be answered, as long as it tells nothing. */
  readonly wants: 'refused' | 'harmless';
  /** Answers count up or list what earlier attempts of its own left: two of them cannot be compared. */
  readonly isAboutOwn?: true;
  /** Somebody else is at work meanwhile, so that there is something to overhear. */
  readonly isOverhearing?: true;
  run(attacker: Attacker, target: Target): Promise<unknown>;
}

type Run = Attempt['run'];

/** An attempt that the hub has to refuse, request by request. */
export function refused(name: string, run: Run, flags: Pick<Attempt, 'isAboutOwn'> = {}): Attempt {
  return { name, wants: 'refused', run, ...flags };
}

/** An attempt that the hub may answer with what is the attacker's own. */
export function harmless(name: string, run: Run, flags: Pick<Attempt, 'isAboutOwn'> = {}): Attempt {
  return { name, wants: 'harmless', run, ...flags };
}

/** One that is answered with what the attacker itself did so far. */
export function aboutOwn(name: string, run: Run): Attempt {
  return { name, wants: 'harmless', isAboutOwn: true, run };
}

/** The same while others use the house. */
export function overhearing(name: string, run: Run): Attempt {
  return { name, wants: 'harmless', isAboutOwn: true, isOverhearing: true, run };
}

/** Runs one after the other: what an attempt does has to be the same each time. */
export async function each<Item>(items: readonly Item[], run: (item: Item) => Promise<unknown>): Promise<void> {
  for (const item of items) await run(item);
}
