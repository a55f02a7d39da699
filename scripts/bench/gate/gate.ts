/** `npm run bench -- --gate`: holds the program of the tree against that of a named commit, in one run, by ratios alone. */
import { appendFileSync } from 'node:fs';
import { availableParallelism, loadavg } from 'node:os';
import { buildBase, buildPresent, gateBase, whyNoBase } from './base-program.ts';
import { measure, type Programs } from './measure.ts';
import { judge, type Measurement, tableOf } from './verdict.ts';

/** Exit status of a gate that this machine cannot run, as of scripts/in-netns. */
const NOT_POSSIBLE = 77;
/** Load average for each processor beyond which a run is not judged: one program against itself was seen to differ by more than 15 %. */
const MAX_LOAD_A_PROCESSOR = 8;

interface GateOptions {
  /** How many times the commit is held against itself; the tree is not looked at. Undefined: the tree against the commit, once. */
  readonly selfRuns: number | undefined;
  /** File to which the measurements of each run are added, a line of JSON each. */
  readonly recordFile: string | undefined;
}

/**
 * Prints the table. Returns the exit status: 0 if nothing is worse, or if the gate does not block; 1 if something is; 77 if the commit is
 * not here. Against itself: 1 unless every run passed.
 */
export async function runGate({ selfRuns, recordFile }: GateOptions): Promise<number> {
  const { commit, blocks } = gateBase();
  const reason = whyNoBase(commit);
  if (reason) {
    console.log(`gate: ${reason}`);
    return NOT_POSSIBLE;
  }
  const base = buildBase(commit);
  if (selfRuns === undefined) {
    console.log(`the tree (present) against commit ${commit.slice(0, 12)} (base), present / base in each repeat`);
    const isWorse = await compare({ base, present: buildPresent() }, recordFile);
    if (isWorse && !blocks) console.log('the gate does not block: "blocks" is false in scripts/bench/gate/base.json');
    return isWorse && blocks ? 1 : 0;
  }
  let passed = 0;
  for (let run = 1; run <= selfRuns; run++) {
    console.log(`commit ${commit.slice(0, 12)} against itself, run ${run} of ${selfRuns}`);
    if (!(await compare({ base, present: base }, recordFile))) passed += 1;
  }
  console.log(`${passed} of ${selfRuns} passed`);
  return passed === selfRuns ? 0 : 1;
}

/** Whether a figure is worse in all repeats, on a machine that is not too busy to tell. */
async function compare(programs: Programs, recordFile: string | undefined): Promise<boolean> {
  const startMs = performance.now();
  const loadBefore = loadavg()[0] ?? 0;
  const measurements = await measure(programs);
  const verdicts = measurements.map(judge);
  for (const line of tableOf(verdicts)) console.log(line);
  const load = [loadBefore, loadavg()[0] ?? 0].map((average) => Number(average.toFixed(1)));
  console.log(`${Math.round((performance.now() - startMs) / 1_000)} s, load ${load.join(' before, ')} after`);
  if (recordFile !== undefined) appendFileSync(recordFile, `${JSON.stringify({ load, measurements: measurements.map(shortened) })}\n`);
  const isBusy = Math.max(...load) > MAX_LOAD_A_PROCESSOR * availableParallelism();
  if (isBusy) console.log('the machine is too busy: nothing is judged');
  return !isBusy && verdicts.some(({ isWorse }) => isWorse);
}

/** With four digits of each value, which is more than the noise leaves. */
function shortened(measurement: Measurement): Measurement {
  const short = (value: number) => Number(value.toPrecision(4));
  const repeats = measurement.repeats.map((pairs) => pairs.map(({ base, present }) => ({ base: short(base), present: short(present) })));
  return { ...measurement, repeats };
}
