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
  const { rules, default: otherwise } = ports.rules.list();
  if (rules.length === 0 && otherwise === 'allow') return [];
  const edges = edgesOf(rules.map(({ when }) => when.time));
  return behaviour.steps.flatMap((step) => {
    const times = timesOfStep(behaviour, step);
    const refused = step.calls.map((call) => refusal({ ...call, principal: behaviour.automation.principal }, pieces(times, edges), ports));
    const worst = refused.find((one) => one !== undefined);
    return worst ? [refusedFinding({ behaviour, step, times }, worst, ports)] : [];
  });
}

interface Refusal {
  readonly rule: string;
  readonly times: WeekTimes;
}

/** Returns the times at which the rules refuse a call. They are judged once for each piece of time, within which no rule changes. */
function refusal(call: CallToJudge, times: readonly WeekTimes[], { rules }: CheckPorts): Refusal | undefined {
  let refused = NEVER;
  let rule = '';
  for (const piece of times) {
    const { verdict } = rules.test(call, minuteText(piece[0]?.from ?? 0));
    if (verdict.kind !== 'deny') continue;
    rule = verdict.rule;
    refused = union(refused, piece);
  }
  return isEmpty(refused) ? undefined : { rule, times: refused };
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

interface RefusedStep {
  readonly behaviour: Behaviour;
  readonly step: CheckedStep;
  readonly times: WeekTimes;
}

function refusedFinding({ behaviour, step, times }: RefusedStep, { rule, times: refused }: Refusal, ports: CheckPorts): Finding {
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
