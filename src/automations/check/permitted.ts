import type { CallToJudge, Effect } from '../../core/auth/principal.ts';
import { WEEKDAYS } from '../../core/clock.ts';
import { toAtmoError } from '../../core/errors.ts';
import { minutesOf } from '../../core/local-time.ts';
import { NEEDS_APPROVAL, type RegisteredTool } from '../../tools/definition/tool-definition.ts';
import { canSeeTool } from '../../tools/definition/tool-permissions.ts';
import { canObserve, checkActions, observedBy } from '../automation-access.ts';
import type { CheckPorts } from '../automation-ports.ts';
import type { Condition } from '../plan/condition-schema.ts';
import type { Action } from '../plan/step-schema.ts';
import type { Trigger } from '../plan/trigger-schema.ts';
import { callsIn } from '../run/step-calls.ts';
import type { CheckedStep } from './acts.ts';
import type { Behaviour } from './behaviour.ts';
import { automationNames, type Finding, quotedName, targetsOf, timelineEntry } from './finding.ts';
import { minuteOfWeek } from './situations.ts';
import {
  ALWAYS,
  DAY_MINUTES,
  intersection,
  isEmpty,
  later,
  lengthOf,
  NEVER,
  timesText,
  union,
  WEEK_MINUTES,
  type WeekTimes,
  windowsOf,
  windowTimes,
} from './week-times.ts';

/** When people sleep, so that nobody answers a request. */
const NIGHT = windowTimes('22:00', '06:00');
const MINUTE_MS = 60_000;

/** Returns the steps that would be refused to the automation, because it lacks a permission or does not see the tool or device. */
export function lackingPermissions(behaviour: Behaviour, ports: CheckPorts): readonly Finding[] {
  const { plan, principal } = behaviour.automation;
  const unseen = observedBy(plan).filter((about) => !canObserve(about, principal, ports.authorizer));
  const refusals = callsIn(plan.actions, ports.clock.now()).flatMap(({ action }) => refusalOf(action, behaviour, ports) ?? []);
  return [...unseen.map((about) => `its permissions do not show it ${observedId(about)}`), ...refusals].map((why) => ({
    ...factsOf(behaviour, { effects: [], times: allTimes(behaviour), does: 'refused', ports }),
    kind: 'lacks_permission',
    severity: 'warning',
    sentence: `${quotedName(behaviour.automation)}: ${why}`,
    fix: 'Add the permission, or take the step, trigger or condition out',
  }));
}

function observedId(about: Trigger | Condition): string {
  if ('sensor_id' in about) return `the sensor ${about.sensor_id}`;
  if ('device_id' in about) return `the device ${about.device_id}`;
  return 'flag' in about ? `the flag ${about.flag}` : `what ${about.type} looks at`;
}

function refusalOf(action: Action, { automation }: Behaviour, ports: CheckPorts): string | undefined {
  try {
    checkActions([action], automation.principal, ports);
    return undefined;
  } catch (thrown) {
    return toAtmoError(thrown).message.replace(/^actions\/0 /, '');
  }
}

/** Returns the finding that the permissions end before the first time at which a trigger by the clock comes. */
export function endsBefore(behaviour: Behaviour, ports: CheckPorts): readonly Finding[] {
  const { endsAtMs } = behaviour.automation;
  if (endsAtMs === undefined || behaviour.starts.some(({ nature }) => nature !== 'clock')) return [];
  const times = allTimes(behaviour);
  const minutesLeft = Math.floor((endsAtMs - ports.clock.now()) / MINUTE_MS);
  if (isEmpty(times) || minutesLeft >= WEEK_MINUTES) return [];
  const now = minuteOfWeek(ports.clock.now(), ports.timeZone);
  const left = later([{ from: now, to: now + 1 }], { least: 0, most: Math.max(0, minutesLeft) });
  if (!isEmpty(intersection(left, times))) return [];
  return [
    {
      ...factsOf(behaviour, { effects: [], times, does: 'run', ports }),
      kind: 'ends_before',
      severity: 'warning',
      sentence: `${quotedName(behaviour.automation)} never runs: it would run ${timesText(times)}, and its permissions end before`,
      fix: 'Give it a later end (ttl_seconds)',
    },
  ];
}

/** Returns the finding that a dangerous step may wait for a person at night. */
export function waitsAtNight(behaviour: Behaviour, ports: CheckPorts): readonly Finding[] {
  const dangerous = behaviour.steps.filter((step) => isApproved(step, behaviour, ports));
  const times = dangerous.reduce((sum, step) => union(sum, intersection(stepTimes(behaviour, step), NIGHT)), NEVER);
  if (isEmpty(times)) return [];
  const effects = dangerous.flatMap(({ calls }) => calls.flatMap((call) => call.effects));
  const isAlways = lengthOf(times) === lengthOf(allTimes(behaviour));
  return [
    {
      ...factsOf(behaviour, { effects, times, does: 'wait for a person', ports }),
      kind: 'waits_at_night',
      severity: isAlways ? 'warning' : 'note',
      sentence: `${quotedName(behaviour.automation)} ${isAlways ? 'waits' : 'may wait'} for a person at night, ${timesText(times)}: ${dangerous.map(({ tool }) => tool).join(', ')} needs an approval`,
      fix: 'Add a condition of type time, such as after 06:00 and before 22:00, or do without the dangerous step',
    },
  ];
}

/** Returns whether a person has to approve the step: one of its effects is dangerous, or its tool always needs an approval. */
function isApproved({ tool, calls }: CheckedStep, { automation }: Behaviour, ports: CheckPorts): boolean {
  if (calls.some(({ effects }) => effects.some(({ risk }) => risk === 'dangerous'))) return true;
  try {
    const isVisible = (candidate: RegisteredTool) => canSeeTool(candidate, automation.principal, ports.authorizer);
    return ports.registry.resolve(tool, { isVisible }).definition.metadata.tags.includes(NEEDS_APPROVAL);
  } catch {
    return false;
  }
}

/** Returns the rules of the owner that refuse a step, always or at some of the times at which it runs. */
export function refusedByRule(behaviour: Behaviour, ports: CheckPorts): readonly Finding[] {
  const { rules, default: otherwise } = ports.rules.list();
  if (rules.length === 0 && otherwise === 'allow') return [];
  const edges = edgesOf(rules.map(({ when }) => when.time));
  return behaviour.steps.flatMap((step) => {
    const times = stepTimes(behaviour, step);
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
  const effects = step.calls.flatMap((call) => call.effects);
  const whose = rule === 'default' ? 'no rule allows' : `the rule ${JSON.stringify(rule)} refuses`;
  return {
    ...factsOf(behaviour, { effects, times: refused, does: 'refused', ports }),
    kind: 'refused_by_rule',
    severity: isAlways ? 'warning' : 'note',
    sentence: `${quotedName(behaviour.automation)}: ${whose} ${step.tool} ${isAlways ? 'whenever it runs' : timesText(refused)}`,
    fix: 'Change the times or the step, or ask the owner to change the rule',
  };
}

function stepTimes({ starts }: Behaviour, { delay }: CheckedStep): WeekTimes {
  return starts.flatMap(({ situations }) => situations).reduce((sum, { times }) => union(sum, later(times, delay)), NEVER);
}

function allTimes({ starts }: Behaviour): WeekTimes {
  return starts.flatMap(({ situations }) => situations).reduce((sum, { times }) => (sum === ALWAYS ? sum : union(sum, times)), NEVER);
}

interface Concerned {
  readonly effects: readonly Effect[];
  readonly times: WeekTimes;
  readonly does: string;
  readonly ports: CheckPorts;
}

function factsOf(behaviour: Behaviour, { effects, times, does, ports }: Concerned): Pick<Finding, 'automations' | 'targets' | 'timeline'> {
  return {
    automations: automationNames(behaviour),
    targets: targetsOf(
      effects.flatMap(({ device }) => device ?? []),
      ports,
    ),
    timeline: [timelineEntry(behaviour, does, times)],
  };
}
