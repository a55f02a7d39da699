import type { CheckPorts } from '../automation-ports.ts';
import { type Act, areExclusive } from './acts.ts';
import { actTimes, type Behaviour, timesOfAct } from './behaviour.ts';
import { actText, automationNames, contentText, deviceName, type Finding, quotedName, targetsOf, timelineEntry } from './finding.ts';
import { areCompatible } from './situations.ts';
import type { Start } from './starts.ts';
import { areStages } from './value-range.ts';
import { intersection, isEmpty, NEVER, timesText, union, type WeekTimes } from './week-times.ts';

/** Returns where two automations set a value to different contents at overlapping times. One finding for each device. */
export function oppositeEffects(a: Behaviour, b: Behaviour, ports: CheckPorts): readonly Finding[] {
  const found = new Map<string, Finding>();
  for (const [value, acts] of a.acts) {
    for (const act of acts) {
      for (const other of b.acts.get(value) ?? []) {
        if (found.get(act.device)?.severity === 'warning' || !differ(act, other)) continue;
        const meeting = meetingOf({ behaviour: a, act }, { behaviour: b, act: other });
        if (meeting && (meeting.isCertain || !found.has(act.device)))
          found.set(act.device, findingOf({ behaviour: a, act }, { behaviour: b, act: other }, { meeting, ports }));
      }
    }
  }
  return [...found.values()];
}

function differ(a: Act, b: Act): boolean {
  if (a.isRelative || b.isRelative) return true;
  return a.becomes !== undefined && b.becomes !== undefined && a.becomes !== b.becomes;
}

interface Side {
  readonly behaviour: Behaviour;
  readonly act: Act;
}

interface Meeting {
  readonly times: WeekTimes;
  /** True if the two act at the same moment whenever one of them does; false if they may. */
  readonly isCertain: boolean;
}

/** Returns when two acts meet; undefined if they never do. */
function meetingOf(a: Side, b: Side): Meeting | undefined {
  let times = NEVER;
  let isCertain = false;
  for (const start of a.behaviour.starts) {
    for (const other of b.behaviour.starts) {
      const how = howStartsMeet(start, other);
      if (how === 'never') continue;
      const common = commonTimes({ start, act: a.act }, { start: other, act: b.act });
      if (isEmpty(common)) continue;
      times = union(times, common);
      isCertain ||= how === 'always';
    }
  }
  return isEmpty(times) ? undefined : { times, isCertain };
}

/**
 * Returns whether runs of two triggers come together. A single event, such as the press of a button, is what somebody wants at that moment:
 * it meets only the same event. A state, such as a warm room, lasts and so may meet other states and times. Two limits of one sensor in the
 * same direction are stages, which come one after the other.
 */
function howStartsMeet(a: Start, b: Start): 'always' | 'maybe' | 'never' {
  if (a.key === b.key) return 'always';
  if (a.nature === 'event' || b.nature === 'event') return 'never';
  if (a.watches && a.watches.fact === b.watches?.fact) return areStages(a.watches.range, b.watches.range) ? 'never' : 'always';
  return a.nature === 'clock' && b.nature === 'clock' ? 'always' : 'maybe';
}

interface StartedAct {
  readonly start: Start;
  readonly act: Act;
}

function commonTimes(a: StartedAct, b: StartedAct): WeekTimes {
  const isAtOnce = a.act.step.delay.most === 0 && b.act.step.delay.most === 0;
  let times = NEVER;
  for (const one of a.start.situations) {
    for (const other of b.start.situations) {
      // After a wait, the values of the trigger and of the conditions need not hold any more.
      if (isAtOnce && !areCompatible(one, other)) continue;
      times = union(times, intersection(actTimes(one, a.act), actTimes(other, b.act)));
    }
  }
  return times;
}

function findingOf(a: Side, b: Side, { meeting, ports }: { readonly meeting: Meeting; readonly ports: CheckPorts }): Finding {
  const [first, second] = [a.behaviour.automation, b.behaviour.automation];
  const shown = [a, b].filter(({ behaviour }) => !behaviour.automation.isHidden);
  const name = deviceName(a.act.device, ports);
  const verb = meeting.isCertain ? 'want' : 'may want';
  return {
    kind: 'opposite_effects',
    severity: meeting.isCertain ? 'warning' : 'note',
    automations: automationNames(a.behaviour, b.behaviour),
    targets: targetsOf([a.act.device], ports),
    timeline: shown.map(({ behaviour, act }) => timelineEntry(behaviour, actText(act, ports), timesOfAct(behaviour, act))),
    sentence: `${quotedName(first)} and ${quotedName(second)} ${verb} different things of ${name} ${timesText(meeting.times)}: ${contentText(a.act)} and ${contentText(b.act)}`,
    fix: `Let only one of them act on ${name} at that time: give one a condition that excludes the other, or another time`,
  };
}

/**
 * Returns where one automation undoes its own step in the same run, without a wait between. A single device after a whole room, scene or
 * group is an exception that is meant so.
 */
export function ownOpposites(behaviour: Behaviour, ports: CheckPorts): readonly Finding[] {
  const pairs = behaviour.acts.values().flatMap((acts) => acts.map((act, index) => [act, acts[index + 1]] as const));
  const undone = [...pairs].find(([act, next]) => next && isUndone(act, next));
  const [act, next] = undone ?? [];
  if (!act || !next) return [];
  const name = deviceName(act.device, ports);
  const times = timesOfAct(behaviour, act);
  return [
    {
      kind: 'opposite_effects',
      severity: 'warning',
      automations: automationNames(behaviour),
      targets: targetsOf([act.device], ports),
      timeline: [act, next].map((one) => timelineEntry(behaviour, actText(one, ports), times)),
      sentence: `${quotedName(behaviour.automation)} sets ${name} twice in one run, without a wait between: ${contentText(act)}, then ${contentText(next)}`,
      fix: `Take one of the two steps out, or let the automation wait between them`,
    },
  ];
}

function isUndone(act: Act, next: Act): boolean {
  if (act.step === next.step || !differ(act, next) || areExclusive(act.step, next.step)) return false;
  const isMeant = devicesOf(act) > 1 && devicesOf(next) < devicesOf(act);
  return !isMeant && act.step.delay.most === next.step.delay.most && act.step.delay.least === next.step.delay.least;
}

function devicesOf({ step }: Act): number {
  return new Set(step.acts.map(({ device }) => device)).size;
}
