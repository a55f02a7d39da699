import type { CallToJudge } from '../../core/auth/principal.ts';
import { WEEKDAYS } from '../../core/clock.ts';
import { minutesOf } from '../../core/local-time.ts';
import type { CheckPorts } from '../automation-ports.ts';
import type { CheckedStep } from './acts.ts';
import type { Behaviour } from './behaviour.ts';
import { DAY_MINUTES, intersection, isEmpty, NEVER, union, WEEK_MINUTES, type WeekTimes, windowsOf } from './week-times.ts';

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
export interface RuledStep {
  readonly behaviour: Behaviour;
  readonly step: CheckedStep;
  readonly times: WeekTimes;
}
