import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { runChild } from '../child-world.ts';
import { commandOf, type ShownPlan } from '../world-plan.ts';
import { ordinaryTestOf } from './ordinary-tests.ts';
import { PLANTED_BUGS, type PlantedBug } from './planted-bugs.ts';

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

/** What is known of a planted bug. */
interface Verdict {
  readonly name: string;
  /** The bug's text, since a verdict counts only for the bug as it is. */
  readonly text: string;
  /** Seconds of processor time, and worlds that were simulated. */
  readonly seconds: number;
  readonly worlds: number;
  readonly found?: { readonly invariant: string; readonly problem: string; readonly command: string };
  /** The ordinary test that notices it. */
  readonly test?: string;
}

/**
 * Looks for each planted bug whose name contains `wanted`, in one world after the other. Goes on where it was ended, since each result is kept.
 * Returns the exit code.
 */
export async function provePlanted(wanted: string): Promise<number> {
  const bugs = PLANTED_BUGS.filter(({ name }) => name.includes(wanted));
  for (let open = openOf(bugs); open.length > 0; open = openOf(bugs)) {
    const fewest = Math.min(...open.map((bug) => verdictOn(bug).worlds));
    for (const bug of open.filter((one) => verdictOn(one).worlds === fewest)) {
      const verdict = await lookOnce(bug, verdictOn(bug));
      keep(verdict);
      if (!isOpen(verdict)) console.log(sentenceOf(verdict));
    }
  }
  const found = bugs.filter((bug) => verdictOn(bug).found);
  console.log(`${found.length} of ${bugs.length} planted bugs found; ${FILE} has the results, without it all is done again`);
  return found.length === bugs.length ? 0 : 1;
}

/** Looks for the ordinary test that notices each planted bug. Goes on where it was ended. Returns the exit code. */
export function findOrdinaryTests(wanted: string): number {
  for (const bug of PLANTED_BUGS.filter(({ name }) => name.includes(wanted))) {
    const verdict = verdictOn(bug);
    if (verdict.test !== undefined) continue;
    const test = ordinaryTestOf(bug);
    keep({ ...verdictOn(bug), test });
    console.log(`${bug.name} – ${test}`);
  }
  return 0;
}

function openOf(bugs: readonly PlantedBug[]): readonly PlantedBug[] {
  return bugs.filter((bug) => isOpen(verdictOn(bug)));
}

function isOpen({ seconds, found }: Verdict): boolean {
  return !found && seconds < LIMIT_SECONDS;
}

/** Looks for a bug in the next world. */
async function lookOnce({ name: bug }: PlantedBug, before: Verdict): Promise<Verdict> {
  const plan = planOf(before.worlds);
  const { seconds, finding } = await runChild({ plan, bug, limitSeconds: WORLD_LIMIT_SECONDS });
  const after = { ...before, worlds: before.worlds + 1, seconds: Math.round(10 * (before.seconds + seconds)) / 10 };
  if (!finding || after.seconds > LIMIT_SECONDS || !(await isSound(plan))) return after;
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

function planOf(world: number): ShownPlan {
  const shape = SHAPES[world % SHAPES.length] ?? SHAPES[0];
  return { seed: 101 + world, ...shape };
}

function textOf({ text, instead }: PlantedBug): string {
  return `${text} → ${instead}`;
}

function verdictOn(bug: PlantedBug): Verdict {
  const fresh = { name: bug.name, text: textOf(bug), seconds: 0, worlds: 0 };
  return kept().find(({ name, text }) => name === fresh.name && text === fresh.text) ?? fresh;
}

function kept(): readonly Verdict[] {
  try {
    return JSON.parse(readFileSync(FILE, 'utf8'));
  } catch {
    return [];
  }
}

function keep(verdict: Verdict): void {
  mkdirSync(FOLDER, { recursive: true });
  const others = kept().filter(({ name }) => name !== verdict.name);
  writeFileSync(FILE, `${JSON.stringify([...others, verdict], undefined, 2)}\n`);
}

function sentenceOf({ name, seconds, worlds, found }: Verdict): string {
  const where = `${seconds} s, ${worlds} worlds`;
  return found ? `found in ${where}: ${name} – ${found.invariant} (${found.command})` : `NOT FOUND in ${where}: ${name}`;
}
