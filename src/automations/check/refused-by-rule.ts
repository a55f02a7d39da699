import type { CallToJudge } from '../../core/auth/principal.ts';
import { WEEKDAYS } from '../../core/clock.ts';
import { minutesOf } from '../../core/local-time.ts';
import type { CheckPorts } from '../automation-ports.ts';
import { type CheckedStep, devicesOf } from './acts.ts';
import { type Behaviour, timesOfStep } from './behaviour.ts';
import { type Finding, findingOf, quotedName, timelineEntry } from './finding.ts';
import {
  DAY_MINUTES,
  intersection,
  isEmpty,
  lengthOf,
  NEVER,
  timesText,
  union,
  WEEK_MINUTES,
  type WeekTimes,
  windowsOf,
} from './week-times.ts';

/** Returns the rules of the owner that refuse a step, always or at some of the times at which it runs. */
export function refusedByRule(behaviour: Behaviour, ports: CheckPorts): readonly Finding[] {
  return behaviour.steps.flatMap((step) => {
    const times = timesOfStep(behaviour, step);
    const refused = ruledTimes({ behaviour, step, times }, 'deny', ports);
    return refused ? [refusedFinding({ behaviour, step, times }, refused, ports)] : [];
  });
}

/** Times at which a rule decides about a step. */
export interface RuledTimes {
  readonly rule: string;
  readonly times: WeekTimes;
}

/** Returns at which of the times the rules of the owner refuse a step, or want an approval of it; undefined if they never do. */
export function ruledTimes(ruled: RuledStep, verdict: 'deny' | 'approve', ports: CheckPorts): RuledTimes | undefined {
  const { rules, default: otherwise } = ports.rules.list();
  if (rules.length === 0 && otherwise === 'allow') return undefined;
  const parts = pieces(ruled.times, edgesOf(rules.map(({ when }) => when.time)));
  const { principal } = ruled.behaviour.automation;
  return ruled.step.calls.map((call) => timesWith({ ...call, principal }, { verdict, parts }, ports)).find((one) => one !== undefined);
}

/** Returns the times at which a call gets the verdict. The rules are asked once for each piece of time, within which none of them changes. */
function timesWith(
  call: CallToJudge,
  { verdict: wanted, parts }: { readonly verdict: 'deny' | 'approve'; readonly parts: readonly WeekTimes[] },
  { rules }: CheckPorts,
): RuledTimes | undefined {
  let times = NEVER;
  let rule = '';
  for (const piece of parts) {
    const { verdict } = rules.test(call, minuteText(piece[0]?.from ?? 0));
    if (verdict.kind !== wanted) continue;
    rule = verdict.rule ?? '';
    times = union(times, piece);
  }
  return isEmpty(times) ? undefined : { rule, times };
}

/** Returns the minutes of the day at which a rule begins or ends. */
function edgesOf(times: readonly unknown[]): readonly number[] {
  const windows = times.flat().filter((one): one is { from: string; to: string } => typeof Object(one).from === 'string');
  return [...new Set([0, ...windows.flatMap(({ from, to }) => [minutesOf(from), minutesOf(to)])])];
}

/** Cuts times at the edges of rules. */
function pieces(times: WeekTimes, edges: readonly number[]): readonly WeekTimes[] {
  const cuts = WEEKDAYS.flatMap((_, day) => edges.map((edge) => day * DAY_MINUTES + edge)).sort((a, b) => a - b);
  return cuts.flatMap((from, index) => {
    const piece = intersection(times, [{ from, to: cuts[index + 1] ?? WEEK_MINUTES }]);
    return isEmpty(piece) ? [] : [piece];
  });
}

function minuteText(minute: number): string {
  const [window] = windowsOf([{ from: minute, to: minute + 1 }]);
  return `${window?.days[0] ?? 'mon'} ${window?.from ?? '00:00'}`;
}

/** A step of an automation, and times at which it may come. */
interface RuledStep {
  readonly behaviour: Behaviour;
  readonly step: CheckedStep;
  readonly times: WeekTimes;
}

function refusedFinding({ behaviour, step, times }: RuledStep, { rule, times: refused }: RuledTimes, ports: CheckPorts): Finding {
  const isAlways = lengthOf(refused) === lengthOf(times);
  const whose = rule === 'default' ? 'no rule allows' : `the rule ${JSON.stringify(rule)} refuses`;
  return findingOf(
    {
      kind: 'refused_by_rule',
      severity: isAlways ? 'warning' : 'note',
      behaviours: [behaviour],
      devices: devicesOf(step),
      timeline: [timelineEntry(behaviour, 'refused', refused)],
      sentence: `${quotedName(behaviour.automation)}: ${whose} ${step.tool} ${isAlways ? 'whenever it runs' : timesText(refused)}`,
      fix: 'Change the times or the step, or ask the owner to change the rule',
    },
    ports,
  );
}
