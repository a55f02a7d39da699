import { type Action, isAction, type RepeatStep, type Step } from '../plan/step-schema.ts';
import type { RunWait } from '../run/run-log.ts';

/** Returns the steps that a run does after a wait. A call that waits for an approval is among them: it is made once people have approved it. */
export function stepsAfter(steps: readonly Step[], { path, isCall }: RunWait): readonly Step[] {
  const call = isCall ? stepAt(steps, path.split('/')) : undefined;
  return [...(call ? [call] : []), ...after(steps, path.split('/'))];
}

/** Returns whether a wait ends at its time, and neither before it nor without the steps that follow. */
export function endsInTime(steps: readonly Step[], { path }: RunWait): boolean {
  const step = stepAt(steps, path.split('/'));
  return step !== undefined && !isAction(step) && step.type === 'wait';
}

type Place = readonly string[];

function after(steps: readonly Step[], [index, ...inner]: Place): readonly Step[] {
  const step = steps[Number(index)];
  if (!step) return [];
  const round = isAction(step) || step.type !== 'repeat' ? undefined : Number(inner[0]);
  const [list, place] = innerOf(step, inner);
  const rounds = round === undefined ? [] : roundsAfter(step as RepeatStep, round);
  return [...after(list, place), ...rounds, ...steps.slice(Number(index) + 1)];
}

function stepAt(steps: readonly Step[], [index, ...inner]: Place): Step | undefined {
  const step = steps[Number(index)];
  if (!step || inner.length === 0) return step;
  const [list, place] = innerOf(step, inner);
  return place.length === 0 ? step : stepAt(list, place);
}

/** Returns the list within a step to which a place leads, and the rest of the place. */
function innerOf(step: Exclude<Step, Action> | Action, [name, key, ...rest]: Place): readonly [readonly Step[], Place] {
  if (isAction(step)) return [[], []];
  if (step.type === 'choose' && name === 'options') return [step.options[Number(key)]?.actions ?? [], rest];
  if (step.type === 'choose' && name === 'otherwise') return [step.otherwise, placeOf(key, rest)];
  if (step.type === 'parallel' && name === 'branches') return [step.branches[Number(key)] ?? [], rest];
  return step.type === 'repeat' ? [step.actions, placeOf(key, rest)] : [[], []];
}

function placeOf(first: string | undefined, rest: Place): Place {
  return first === undefined ? [] : [first, ...rest];
}

/** Returns a repetition without the rounds up to one. */
function roundsAfter(step: RepeatStep, round: number): readonly Step[] {
  const [name, most] = step.count === undefined ? (['max', step.max] as const) : (['count', step.count] as const);
  return round + 1 < most ? [{ ...step, [name]: most - round - 1 }] : [];
}
