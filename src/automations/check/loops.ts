import type { JsonObject } from '../../core/json.ts';
import type { CheckPorts } from '../automation-ports.ts';
import { sensorName } from '../home-things.ts';
import type { Act, CheckedStep } from './acts.ts';
import { type Behaviour, timesOfAct } from './behaviour.ts';
import { actEntry, actText, type Finding, findingOf, quotedName } from './finding.ts';
import { changedValue, type Influence, type Influences, setsOff } from './influences.ts';
import { areCompatible, both, isPossible, type Situation } from './situations.ts';
import type { Start } from './starts.ts';
import { ANY_VALUE, commonRange, isWithin, type ValueRange } from './value-range.ts';
import { intersection, type WeekTimes } from './week-times.ts';

/** Maximum number of automations in one loop. */
const MAX_LENGTH = 4;
/** Maximum number of runs that one search follows. */
const MAX_RUNS = 400;

/** What the search needs to know besides the automation. */
interface LoopPorts extends Pick<CheckPorts, 'facts' | 'readings'> {
  readonly influences: Influences;
}

/** A run that the search follows: which automation, by which trigger, and the runs that led to it. */
interface FollowedRun {
  readonly behaviour: Behaviour;
  readonly start: Start;
  readonly situation: Situation;
  /** The values of facts that are known by now. The same object stands for the same unknown value. */
  readonly state: ReadonlyMap<string, ValueRange>;
  readonly times: WeekTimes;
  readonly path: readonly PathStep[];
}

interface PathStep {
  readonly behaviour: Behaviour;
  readonly start: Start;
  /** What the run did that set off the next one. */
  readonly act: Act;
  readonly influence: Influence;
}

/**
 * Returns the loop in which a candidate sets itself off again, directly or through other automations; nothing if each way ends. Follows what
 * the values are after each run: an automation that sets what is already so changes nothing and sets off nothing.
 */
export function loopsOf(candidate: Behaviour, all: readonly Behaviour[], ports: LoopPorts): readonly Finding[] {
  const watchers = Map.groupBy(
    all.flatMap((behaviour) =>
      behaviour.starts.flatMap((start) => (start.watches ? [{ behaviour, start, fact: start.watches.fact }] : [])),
    ),
    ({ fact }) => fact,
  );
  const search = new LoopSearch(candidate, watchers, ports.influences);
  const path = search.find();
  return path ? [loopFinding(path, ports)] : [];
}

type Watchers = ReadonlyMap<string, readonly { readonly behaviour: Behaviour; readonly start: Start }[]>;

class LoopSearch {
  readonly #candidate: Behaviour;
  readonly #watchers: Watchers;
  readonly #influences: Influences;
  #runsLeft = MAX_RUNS;

  constructor(candidate: Behaviour, watchers: Watchers, influences: Influences) {
    this.#candidate = candidate;
    this.#watchers = watchers;
    this.#influences = influences;
  }

  find(): readonly PathStep[] | undefined {
    for (const start of this.#candidate.starts) {
      for (const situation of start.situations) {
        const run = { behaviour: this.#candidate, start, situation, state: ownUnknowns(situation), times: situation.times, path: [] };
        const path = this.#follow(run);
        if (path) return path;
      }
    }
    return undefined;
  }

  /** Follows a run and those that it sets off. Returns the way back to the same automation, in a state in which it goes on for ever. */
  #follow(run: FollowedRun): readonly PathStep[] | undefined {
    if (this.#runsLeft-- <= 0 || run.path.length > 2 * MAX_LENGTH) return undefined;
    if (this.#isRepeated(run)) return run.path.slice(run.path.findLastIndex(({ start }) => start === run.start));
    for (const next of this.#nextRuns(run)) {
      const path = this.#follow(next);
      if (path) return path;
    }
    return undefined;
  }

  /** Returns whether the candidate was set off twice by the same trigger, so that it will be again. */
  #isRepeated({ behaviour, start, path }: FollowedRun): boolean {
    if (behaviour !== this.#candidate) return false;
    return path.filter((step) => step.behaviour === behaviour && step.start === start).length >= 2;
  }

  *#nextRuns(run: FollowedRun): Generator<FollowedRun> {
    const { steps } = run.behaviour;
    const state = new Map(run.state);
    for (const act of steps.filter((step) => isReached(step, run)).flatMap((step) => step.acts)) {
      for (const influence of this.#influences.of(act)) {
        const before = state.get(influence.fact) ?? ANY_VALUE;
        const after = valueAfter(act, { influence, run, before });
        if (after === before && after !== ANY_VALUE) continue;
        state.set(influence.fact, after);
        for (const watcher of this.#watchers.get(influence.fact) ?? []) {
          if (setsOff(watcher.start, { before, after, influence })) yield* runsOf(watcher, { run, state, act, influence });
        }
      }
    }
  }
}

/** Returns whether a run may come to a step, by the choices and waits before it. */
function isReached({ held }: CheckedStep, { state, times }: FollowedRun): boolean {
  return held.some((one) => areCompatible(one, { times, facts: state }));
}

/** Returns the known values. Each unknown value gets an object of its own, so that a copy of it is recognised. */
function ownUnknowns({ facts }: Situation): FollowedRun['state'] {
  return new Map([...facts].map(([key, range]) => [key, range === ANY_VALUE ? { ...ANY_VALUE } : range]));
}

/** Returns the value of the fact after the act; the same object as before if it stays. */
function valueAfter(
  act: Act,
  { influence, run, before }: { readonly influence: Influence; readonly run: FollowedRun; readonly before: ValueRange },
): ValueRange {
  if (act.isCopy && influence.how === 'shows') return run.state.get(run.start.watches?.fact ?? '') ?? ANY_VALUE;
  return changedValue(act, { influence, before });
}

interface Cause extends Pick<PathStep, 'act' | 'influence'> {
  readonly run: FollowedRun;
  readonly state: ReadonlyMap<string, ValueRange>;
}

function* runsOf(watcher: Pick<PathStep, 'behaviour' | 'start'>, { run, state, act, influence }: Cause): Generator<FollowedRun> {
  const isAtOnce = act.step.delay.most === 0;
  for (const situation of watcher.start.situations) {
    const times = isAtOnce ? intersection(run.times, situation.times) : situation.times;
    const known = both({ times, facts: state }, { times, facts: situation.facts });
    if (!isPossible(known)) continue;
    const facts = new Map(state);
    for (const [key, range] of situation.facts)
      if (!facts.has(key) || key === influence.fact) facts.set(key, narrowed(facts.get(key), range));
    const step = { behaviour: run.behaviour, start: run.start, act, influence };
    yield { behaviour: watcher.behaviour, start: watcher.start, situation, state: facts, times, path: [...run.path, step] };
  }
}

/** Returns the known value itself where it is exact or stands for a copied one, so that a copy of it is recognised. */
function narrowed(known: ValueRange | undefined, range: ValueRange): ValueRange {
  if (known === undefined) return range;
  return isWithin(known, range) ? known : commonRange(known, range);
}

function loopFinding(path: readonly PathStep[], ports: LoopPorts): Finding {
  const behaviours = path.map(({ behaviour }) => behaviour);
  const isCertain = path.every(({ influence }) => influence.how === 'shows');
  const isAlone = new Set(behaviours).size === 1;
  return findingOf(
    {
      kind: 'loop',
      severity: isCertain ? 'warning' : 'note',
      behaviours,
      devices: path.map(({ act }) => act.device),
      timeline: path.map(({ behaviour, act }) => actEntry(behaviour, act, { times: timesOfAct(behaviour, act), ports })),
      sentence: `${whoLoops(behaviours)}: ${path.map((step) => wayText(step, ports)).join('; ')}`,
      fix: isAlone
        ? 'Let the trigger compare with a value that the automation itself does not bring about'
        : 'Take one of the triggers out, give it a condition, or put the limits further apart',
      facts: { case: 'loop', is_alone: isAlone, ways: path.map((step) => wayFact(step, ports)) },
    },
    ports,
  );
}

function whoLoops(behaviours: readonly Behaviour[]): string {
  const [only, ...others] = new Set(behaviours);
  if (!only || others.length > 0) return 'They set each other off again and again';
  return `${quotedName(only.automation)} sets itself off again and again`;
}

function wayText(step: PathStep, ports: LoopPorts): string {
  return `${quotedName(step.behaviour.automation)} does: ${actText(step.act, ports)}, which changes ${changedBy(step, ports)}`;
}

function wayFact(step: PathStep, ports: LoopPorts): JsonObject {
  const { behaviour, act } = step;
  return { agent_id: behaviour.automation.id, target: act.effect.target, changes: changedBy(step, ports) };
}

function changedBy({ influence }: PathStep, ports: LoopPorts): string {
  return sensorName(influence.fact.replace(/^reading /, ''), ports);
}
