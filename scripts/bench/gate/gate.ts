/** `npm run bench -- --gate`: holds the program of the tree against that of a named commit, in one run, by ratios alone. */
import { appendFileSync } from 'node:fs';
import { NOT_POSSIBLE } from '../../check/tally.ts';
import type { GateBase } from './base-program.ts';
import { type Both, judge, type Measurement, tableOf } from './verdict.ts';

/** Load average for each processor beyond which a run is not judged: one program against itself was seen to differ by more than 15 %. */
const MAX_LOAD_A_PROCESSOR = 8;

interface GateOptions {
  /** How many times the commit is held against itself; the tree is not looked at. Undefined: the tree against the commit, once. */
  readonly selfRuns: number | undefined;
  /** File to which the measurements of each run are added, a line of JSON each. */
  readonly recordFile: string | undefined;
}

/** What builds and measures the programs, and how busy the machine is. */
export interface GateMachine {
  readonly gateBase: () => GateBase;
  /** Returns why the commit cannot be built here; undefined when it can. */
  readonly whyNoBase: (commit: string) => string | undefined;
  /** Returns the path of the program of a commit. */
  readonly buildBase: (commit: string) => string;
  /** Returns the path of the program of the tree. */
  readonly buildPresent: () => string;
  /** Measures the programs with these paths. */
  readonly measure: (programs: Both<string>) => Promise<readonly Measurement[]>;
  /** Load average of the last minute. */
  readonly load: () => number;
  readonly processors: number;
}

/** A figure is worse in all repeats, none is, or the machine is too busy to tell. */
type Comparison = 'worse' | 'passed' | 'unjudged';

/**
 * Prints the table. Returns the exit status: 0 if nothing is worse, or if the gate does not block; 1 if something is; 77 if the commit is
 * not here or the machine is too busy, and, of a gate that does not block, also after an error of a build or a measurement. The last line
 * says why it is 77. Against itself: 1 unless every run passed. A gate that blocks rejects with the errors of builds and measurements.
 */
export async function runGate({ selfRuns, recordFile }: GateOptions, machine: GateMachine): Promise<number> {
  const { commit, blocks } = machine.gateBase();
  const reason = machine.whyNoBase(commit);
  if (reason) return notPossible(reason);
  if (selfRuns !== undefined) return againstItself(commit, selfRuns, { recordFile, machine });
  try {
    const base = machine.buildBase(commit);
    console.log(`the tree (present) against commit ${commit.slice(0, 12)} (base), present / base in each repeat`);
    const comparison = await compare({ base, present: machine.buildPresent() }, { recordFile, machine });
    if (comparison === 'unjudged') return notPossible('the machine is too busy: nothing is judged');
    if (comparison === 'worse' && !blocks) console.log('the gate does not block: "blocks" is false in scripts/bench/gate/base.json');
    return comparison === 'worse' && blocks ? 1 : 0;
  } catch (error) {
    if (blocks) throw error;
    console.log(error);
    const [firstLine = ''] = String(error).split('\n');
    return notPossible(`nothing was compared, and the gate does not block: ${firstLine}`);
  }
}

function notPossible(reason: string): number {
  console.log(`gate: ${reason}`);
  return NOT_POSSIBLE;
}

type Run = Pick<GateOptions, 'recordFile'> & { readonly machine: GateMachine };

async function againstItself(commit: string, runs: number, run: Run): Promise<number> {
  const base = run.machine.buildBase(commit);
  const counts: Record<Comparison, number> = { passed: 0, worse: 0, unjudged: 0 };
  for (let number = 1; number <= runs; number++) {
    console.log(`commit ${commit.slice(0, 12)} against itself, run ${number} of ${runs}`);
    counts[await compare({ base, present: base }, run)] += 1;
  }
  console.log(`${counts.passed} of ${runs} passed, ${counts.worse} worse, ${counts.unjudged} not judged on a machine that was too busy`);
  return counts.passed === runs ? 0 : 1;
}

async function compare(programs: Both<string>, { recordFile, machine }: Run): Promise<Comparison> {
  const startMs = performance.now();
  const loadBefore = machine.load();
  const measurements = await machine.measure(programs);
  const verdicts = measurements.map(judge);
  for (const line of tableOf(verdicts)) console.log(line);
  const load = [loadBefore, machine.load()].map((average) => Number(average.toFixed(1)));
  console.log(`${Math.round((performance.now() - startMs) / 1_000)} s, load ${load.join(' before, ')} after`);
  if (recordFile !== undefined) appendFileSync(recordFile, `${JSON.stringify({ load, measurements: measurements.map(shortened) })}\n`);
  if (Math.max(...load) > MAX_LOAD_A_PROCESSOR * machine.processors) return 'unjudged';
  return verdicts.some(({ isWorse }) => isWorse) ? 'worse' : 'passed';
}

/** With four digits of each value, which is more than the noise leaves. */
function shortened(measurement: Measurement): Measurement {
  const short = (value: number) => Number(value.toPrecision(4));
  const repeats = measurement.repeats.map((pairs) => pairs.map(({ base, present }) => ({ base: short(base), present: short(present) })));
  return { ...measurement, repeats };
}
