import { toAtmoError } from '../../core/errors.ts';
import { type JsonObject, textsOf } from '../../core/json.ts';
import { NEEDS_APPROVAL, type RegisteredTool } from '../../tools/definition/tool-definition.ts';
import { canSeeTool } from '../../tools/definition/tool-permissions.ts';
import { checkActions } from '../automation-access.ts';
import type { CheckPorts } from '../automation-ports.ts';
import { deviceName, sensorName } from '../home-things.ts';
import { canObserve, type Observed, observedBy, permissionToObserve } from '../observed.ts';
import type { Action } from '../plan/step-schema.ts';
import { ASK_TOOL, callsIn } from '../run/step-calls.ts';
import { type CheckedStep, devicesOf } from './acts.ts';
import { type Behaviour, timesOfRuns, timesOfStep } from './behaviour.ts';
import { actText, type Finding, findingOf, quotedName, stepFact, timelineEntry, timesFact } from './finding.ts';
import { type RuledStep, type RuledTimes, ruledTimes } from './ruled-times.ts';
import { minuteOfWeek } from './situations.ts';
import {
  intersection,
  isEmpty,
  later,
  lengthOf,
  NEVER,
  timesText,
  union,
  WEEK_MINUTES,
  type WeekTimes,
  windowTimes,
} from './week-times.ts';

/** The hours in which most people sleep, so that an approval or an answer may come only in the morning. */
const SLEEPING_HOURS = windowTimes('22:00', '06:00');
const MINUTE_MS = 60_000;

/** Returns the steps that would be refused to the automation, because it lacks a permission or does not see the tool or device. */
export function lackingPermissions(behaviour: Behaviour, ports: CheckPorts): readonly Finding[] {
  const { plan, principal } = behaviour.automation;
  const unseen = observedBy(plan).filter((about) => !canObserve(about, principal, ports.authorizer));
  const missing = new Map(unseen.map((about) => [permissionToObserve(about, principal), about]));
  const looks = [...missing].map(([permission, about]) => blindness(about, permission, ports));
  const refusals = callsIn(plan.actions, ports.clock.now()).flatMap(({ action }) => refusalOf(action, behaviour, ports) ?? []);
  return [...looks, ...refusals].map(({ why, facts }) =>
    findingOf(
      {
        kind: 'lacks_permission',
        severity: 'warning',
        behaviours: [behaviour],
        devices: [],
        timeline: [timelineEntry(behaviour, 'refused', timesOfRuns(behaviour))],
        sentence: `${quotedName(behaviour.automation)}: ${why}`,
        fix: 'Add the permission, or take the step, trigger or condition out',
        facts,
      },
      ports,
    ),
  );
}

function blindness(about: Observed, permission: string | undefined, ports: CheckPorts): Refusal {
  const why = `it may not read ${observedName(about, ports)}`;
  return { why, facts: { case: 'may_not_look', lacks: permission === undefined ? [] : [permission] } };
}

function observedName(about: Observed, ports: CheckPorts): string {
  if ('sensor_id' in about) return sensorName(about.sensor_id, ports);
  if ('device_id' in about) return deviceName(about.device_id, ports);
  return 'flag' in about ? `the flag ${about.flag}` : `what ${about.type} looks at`;
}

/** Why something that an automation looks at or does is refused. */
interface Refusal {
  readonly why: string;
  readonly facts: Finding['facts'];
}

function refusalOf(action: Action, { automation }: Behaviour, ports: CheckPorts): Refusal | undefined {
  try {
    checkActions([action], automation.principal, ports);
    return undefined;
  } catch (thrown) {
    const { code, message, details } = toAtmoError(thrown);
    const facts = { case: 'step_refused', tool: action.tool, code, lacks: textsOf(details.required) } as const;
    return { why: message.replace(/^actions\/0 /, ''), facts };
  }
}

/** Returns the finding that the permissions end before the first time at which a trigger by the clock comes. */
export function endsBefore(behaviour: Behaviour, ports: CheckPorts): readonly Finding[] {
  const { endsAtMs } = behaviour.automation;
  if (endsAtMs === undefined || behaviour.starts.some(({ nature }) => nature !== 'clock')) return [];
  const times = timesOfRuns(behaviour);
  const minutesLeft = Math.floor((endsAtMs - ports.clock.now()) / MINUTE_MS);
  if (isEmpty(times) || minutesLeft >= WEEK_MINUTES) return [];
  const now = minuteOfWeek(ports.clock.now(), ports.timeZone);
  const left = later([{ from: now, to: now + 1 }], { least: 0, most: Math.max(0, minutesLeft) });
  if (!isEmpty(intersection(left, times))) return [];
  return [
    findingOf(
      {
        kind: 'ends_before',
        severity: 'warning',
        behaviours: [behaviour],
        devices: [],
        timeline: [timelineEntry(behaviour, 'run', times)],
        sentence: `${quotedName(behaviour.automation)} never runs: it would run ${timesText(times)}, and its permissions end before`,
        fix: 'Give it a later end',
        facts: { case: 'ends_before', times: timesFact(times) },
      },
      ports,
    ),
  ];
}

/** A step that waits for a person at some times of the night. */
interface WaitingStep {
  readonly step: CheckedStep;
  readonly times: WeekTimes;
  readonly why: string;
  /** The step that needs an approval, and the rule that wants it; empty for a step that asks. */
  readonly facts: JsonObject;
}

/** Returns the finding that a step may wait for the approval or the answer of a person at night. */
export function waitsAtNight(behaviour: Behaviour, ports: CheckPorts): readonly Finding[] {
  const waiting = behaviour.steps.flatMap((step) => waitingStep(step, behaviour, ports) ?? []);
  const times = waiting.reduce((sum, one) => union(sum, one.times), NEVER);
  if (isEmpty(times)) return [];
  const isAlways = lengthOf(times) === lengthOf(timesOfRuns(behaviour));
  const reasons = [...new Set(waiting.map(({ why }) => why))].join(', ');
  return [
    findingOf(
      {
        kind: 'waits_at_night',
        severity: isAlways ? 'warning' : 'note',
        behaviours: [behaviour],
        devices: waiting.flatMap(({ step }) => devicesOf(step)),
        timeline: waiting.map((one) => timelineEntry(behaviour, `wait for a person: ${one.why}`, one.times)),
        sentence: `${quotedName(behaviour.automation)} ${isAlways ? 'waits' : 'may wait'} for a person at night, ${timesText(times)}: ${reasons}`,
        facts: {
          case: 'waits_at_night',
          times: timesFact(times),
          is_always: isAlways,
          reasons: [...new Map(waiting.map((one) => [one.why, one.facts])).values()],
        },
        fix: 'Add a condition of type time, such as after 06:00 and before 22:00, or do without the step',
      },
      ports,
    ),
  ];
}

function waitingStep(step: CheckedStep, behaviour: Behaviour, ports: CheckPorts): WaitingStep | undefined {
  const times = intersection(timesOfStep(behaviour, step), SLEEPING_HOURS);
  if (isEmpty(times)) return undefined;
  if (step.tool === ASK_TOOL) return { step, times, why: 'it asks', facts: {} };
  if (isApproved(step, behaviour, ports)) return { step, times, why: `${step.tool} needs an approval`, facts: stepFact(step) };
  const ruled = ruledTimes({ behaviour, step, times }, 'approve', ports);
  if (!ruled) return undefined;
  const why = `the rule ${JSON.stringify(ruled.rule)} wants an approval of ${step.tool}`;
  return { step, times: ruled.times, why, facts: { ...stepFact(step), rule: ruled.rule } };
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
  return behaviour.steps.flatMap((step) => {
    const times = timesOfStep(behaviour, step);
    const refused = ruledTimes({ behaviour, step, times }, 'deny', ports);
    return refused ? [refusedFinding({ behaviour, step, times }, refused, ports)] : [];
  });
}

/** Returns what a step does, such as `Unlock Front door`; the name of its tool if that is not known. */
function stepText({ tool, acts }: CheckedStep, ports: CheckPorts): string {
  const [first] = acts;
  return first ? actText(first, ports) : tool;
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
      sentence: `${quotedName(behaviour.automation)}: ${whose} ${stepText(step, ports)} ${isAlways ? 'whenever it runs' : timesText(refused)}`,
      fix: 'Change the times or the step, or ask the owner to change the rule',
      facts: {
        case: 'refused_by_rule',
        is_always: isAlways,
        times: timesFact(refused),
        ...(rule !== 'default' && { rule }),
        ...stepFact(step),
      },
    },
    ports,
  );
}
