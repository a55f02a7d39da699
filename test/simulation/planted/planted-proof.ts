import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { NOT_SIMULATED, runChild } from '../child-world.ts';
import { commandOf, type ShownPlan } from '../world-plan.ts';
import { ordinaryTestOf } from './ordinary-tests.ts';
import type { PlantedBug } from './planted-bugs.ts';

const FOLDER = new URL('../../../.run/simulation', import.meta.url).pathname;
const FILE = `${FOLDER}/planted.json`;
/** Seconds of processor time for one bug. */
const LIMIT_SECONDS = 180;
/** A world that takes longer than this does not end, which is a finding too. Others take a fifth of it. */
const WORLD_LIMIT_SECONDS = 60;
/** Many small and busy worlds find more than a large one. Each has other kinds of faults, so that some have time for what needs calm. */
const SHAPES = [
  { hubs: 1, hours: 0.5, pace: 16, faults: 12, kinds: 6 },
  { hubs: 3, hours: 0.3, pace: 12, faults: 6, kinds: 5 },
  { hubs: 2, hours: 0.5, pace: 12, faults: 8, kinds: 5 },
] as const;

/** How far the search for a planted bug has come. */
interface Search {
  readonly name: string;
  /** The bug's text, since a result counts only for the bug as it is. */
  readonly text: string;
  /** Seconds of processor time, and worlds that were simulated. */
  readonly seconds: number;
  readonly worlds: number;
  readonly found?: { readonly invariant: string; readonly problem: string; readonly command: string };
  /** The ordinary test that notices it. */
  readonly test?: string;
}

/**
 * Looks for each planted bug in one world after the other. Goes on where it was ended, since each result is kept. Returns the exit code.
 */
export async function provePlanted(bugs: readonly PlantedBug[]): Promise<number> {
  for (let open = openOf(bugs); open.length > 0; open = openOf(bugs)) {
    const fewest = Math.min(...open.map((bug) => searchFor(bug).worlds));
    for (const bug of open.filter((one) => searchFor(one).worlds === fewest)) {
      const search = await lookOnce(bug, searchFor(bug));
      keep(search);
      if (!isOpen(search)) console.log(sentenceOf(search));
    }
  }
  const found = bugs.filter((bug) => searchFor(bug).found);
  console.log(`${found.length} of ${bugs.length} planted bugs found; ${FILE} has the results, without it all is done again`);
  return found.length === bugs.length ? 0 : 1;
}

/** Looks for the ordinary test that notices each planted bug. Goes on where it was ended. Returns the exit code. */
export function findOrdinaryTests(bugs: readonly PlantedBug[]): number {
  for (const bug of bugs) {
    if (searchFor(bug).test !== undefined) continue;
    const test = ordinaryTestOf(bug);
    keep({ ...searchFor(bug), test });
    console.log(`${bug.name} – ${test}`);
  }
  return 0;
}

function openOf(bugs: readonly PlantedBug[]): readonly PlantedBug[] {
  return bugs.filter((bug) => isOpen(searchFor(bug)));
}

function isOpen({ seconds, found }: Search): boolean {
  return !found && seconds < LIMIT_SECONDS;
}

/** Looks for a bug in the next world. Throws if no world can be simulated with it, since that says nothing about the invariants. */
async function lookOnce({ name: bug }: PlantedBug, before: Search): Promise<Search> {
  const sound = worldOf(before.worlds);
  const plan = { ...sound, bug };
  const { seconds, finding } = await runChild({ plan, limitSeconds: WORLD_LIMIT_SECONDS });
  if (finding?.invariant === NOT_SIMULATED) throw new Error(`“${bug}” lets nothing be simulated: ${finding.problem}`);
  const after = { ...before, worlds: before.worlds + 1, seconds: Math.round(10 * (before.seconds + seconds)) / 10 };
  if (!finding || after.seconds > LIMIT_SECONDS || !(await isSound(sound))) return after;
  return { ...after, found: { invariant: finding.invariant, problem: finding.problem, command: commandOf(plan) } };
}

const soundness = new Map<string, Promise<boolean>>();

/** Returns whether nothing breaks in this world without a planted bug. All bugs share the worlds, so each is simulated once. */
function isSound(plan: ShownPlan): Promise<boolean> {
  const command = commandOf(plan);
  const known = soundness.get(command) ?? simulateSound(plan);
  soundness.set(command, known);
  return known;
}

async function simulateSound(plan: ShownPlan): Promise<boolean> {
  const { finding } = await runChild({ plan });
  if (finding) console.log(`without any planted bug ${commandOf(plan)} breaks: ${finding.invariant}: ${finding.problem}`);
  return finding === undefined;
}

function worldOf(world: number): ShownPlan {
  const shape = SHAPES[world % SHAPES.length] ?? SHAPES[0];
  return { seed: 101 + world, ...shape };
}

function textOf({ text, instead }: PlantedBug): string {
  return `${text} → ${instead}`;
}

function searchFor(bug: PlantedBug): Search {
  const fresh = { name: bug.name, text: textOf(bug), seconds: 0, worlds: 0 };
  return kept().find(({ name, text }) => name === fresh.name && text === fresh.text) ?? fresh;
}

function kept(): readonly Search[] {
  try {
    return JSON.parse(readFileSync(FILE, 'utf8'));
  } catch {
    return [];
  }
}

function keep(search: Search): void {
  mkdirSync(FOLDER, { recursive: true });
  const others = kept().filter(({ name }) => name !== search.name);
  writeFileSync(FILE, `${JSON.stringify([...others, search], undefined, 2)}\n`);
}

function sentenceOf({ name, seconds, worlds, found }: Search): string {
  const where = `${seconds} s, ${worlds} worlds`;
  return found ? `found in ${where}: ${name} – ${found.invariant} (${found.command})` : `NOT FOUND in ${where}: ${name}`;
}
