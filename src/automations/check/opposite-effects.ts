import type { CheckPorts } from '../automation-ports.ts';
import { deviceName } from '../home-things.ts';
import { type Act, areExclusive, type CheckedStep, type ValueChange } from './acts.ts';
import { type Behaviour, situationsAt, timesOfAct } from './behaviour.ts';
import { actEntry, contentFact, contentText, type Finding, findingOf, quotedName, timesFact } from './finding.ts';
import { areCompatible, type Situations } from './situations.ts';
import type { Start } from './starts.ts';
import { areStages } from './value-range.ts';
import { intersection, isEmpty, NEVER, timesText, union, type WeekTimes } from './week-times.ts';

/**
 * Largest effort of all comparisons of one check, in comparisons of two changes. Each other automation gets an equal share of it, so that agents
 * with many steps, triggers and conditions cannot make a check long. What is left over counts as nothing found.
 */
const MAX_EFFORT = 200_000;
/** Effort to compare two situations. */
const SITUATIONS_EFFORT = 10;

/** Returns where two automations set a value to different contents at overlapping times: one finding for each device. */
export function oppositeEffects(own: Behaviour, other: Behaviour, { count, ports }: AmongOthers): readonly Finding[] {
  if (other.automation.isHidden) return sharedDevices(own, other, ports);
  return new Comparison(own, other, MAX_EFFORT / Math.max(1, count)).findings(ports);
}

/** With how many other automations one is compared. */
interface AmongOthers {
  readonly count: number;
  readonly ports: CheckPorts;
}

/**
 * Returns the devices on which a hidden automation acts too. What it does to them and when is not compared: whether a draft meets it would
 * reveal that, if a caller asked with many drafts.
 */
function sharedDevices(own: Behaviour, hidden: Behaviour, ports: CheckPorts): readonly Finding[] {
  const shared = [...own.acts].flatMap(([value, acts]) => (hidden.acts.has(value) ? acts.slice(0, 1) : []));
  return [...new Map(shared.map((act) => [act.device, act])).values()].map((act) => {
    const name = deviceName(act.device, ports);
    const [first, second] = [own, hidden].map(({ automation }) => quotedName(automation));
    return findingOf(
      {
        kind: 'opposite_effects',
        severity: 'note',
        behaviours: [own],
        devices: [act.device],
        timeline: [actEntry(own, act, { times: timesOfAct(own, act), ports })],
        sentence: `${first} and ${second} act on ${name}, and may want different things of it`,
        fix: `Ask the owner of the hub whether both should act on ${name}`,
        facts: { case: 'shared', device: name },
      },
      ports,
    );
  });
}

/** Compares two automations. */
class Comparison {
  readonly #a: Behaviour;
  readonly #b: Behaviour;
  readonly #starts: readonly MeetingStarts[];
  /** When two changes meet depends alone on the delays of their steps and on what holds then. */
  readonly #meetings = new Map<string, Meeting | undefined>();
  readonly #held = new Map<Situations, number>();
  #effort: number;

  constructor(a: Behaviour, b: Behaviour, effort: number) {
    this.#a = a;
    this.#b = b;
    this.#effort = effort;
    this.#starts = a.starts.flatMap((start) => b.starts.map((other) => ({ start, other, how: howStartsMeet(start, other) })));
  }

  findings(ports: CheckPorts): readonly Finding[] {
    const found = new Map<string, Finding>();
    for (const [act, other] of this.#pairs()) {
      if (this.#effort-- <= 0) break;
      const known = found.get(act.device);
      if (known?.severity === 'warning' || !differ(act, other)) continue;
      const meeting = this.#meetingOf(act, other);
      if (!meeting || (known && !meeting.isCertain)) continue;
      found.set(act.device, oppositeFinding({ behaviour: this.#a, act }, { behaviour: this.#b, act: other }, { meeting, ports }));
    }
    return [...found.values()];
  }

  *#pairs(): Generator<readonly [Act, Act]> {
    for (const [value, acts] of this.#a.acts) {
      const others = this.#b.acts.get(value) ?? [];
      for (const act of acts) for (const other of others) yield [act, other];
    }
  }

  #meetingOf(a: Act, b: Act): Meeting | undefined {
    const key = [a, b].map(({ step }) => this.#momentOf(step)).join(' ');
    const known = this.#meetings.get(key);
    if (known || this.#meetings.has(key)) return known;
    const meeting = this.#computedMeeting(a, b);
    this.#meetings.set(key, meeting);
    return meeting;
  }

  /** Returns a text that is the same for steps that come at the same moments. */
  #momentOf({ delay, held }: CheckedStep): string {
    const number = this.#held.get(held) ?? this.#held.size;
    this.#held.set(held, number);
    return `${delay.least} ${delay.most} ${number}`;
  }

  /** Returns when two changes meet; undefined if they never do. */
  #computedMeeting(a: Act, b: Act): Meeting | undefined {
    let times = NEVER;
    let isCertain = false;
    for (const { start, other, how } of this.#starts) {
      if (how === 'never') continue;
      const common = this.#commonTimes(situationsAt(start, a.step), situationsAt(other, b.step));
      if (isEmpty(common)) continue;
      times = union(times, common);
      isCertain ||= how === 'always';
    }
    return isEmpty(times) ? undefined : { times, isCertain: isCertain && a.step.isHeldKnown && b.step.isHeldKnown };
  }

  #commonTimes(a: Situations, b: Situations): WeekTimes {
    let times = NEVER;
    for (const one of a) {
      for (const other of b) {
        this.#effort -= SITUATIONS_EFFORT;
        if (this.#effort <= 0) return times;
        if (areCompatible(one, other)) times = union(times, intersection(one.times, other.times));
      }
    }
    return times;
  }
}

interface MeetingStarts {
  readonly start: Start;
  readonly other: Start;
  readonly how: 'always' | 'maybe' | 'never';
}

/** Returns whether two changes of one value bring about different contents, as far as that is known. */
export function differ(a: ValueChange, b: ValueChange): boolean {
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

/**
 * Returns whether runs of two triggers come together. A single event, such as the press of a button, is what somebody wants at that moment:
 * it meets only the same event. A state, such as a warm room, lasts and so may meet other states and times. Two limits of one sensor in the
 * same direction are stages, which come one after the other.
 */
function howStartsMeet(a: Start, b: Start): MeetingStarts['how'] {
  if (a.key === b.key) return 'always';
  if (a.nature === 'event' || b.nature === 'event') return 'never';
  if (a.watches && a.watches.fact === b.watches?.fact) return areStages(a.watches.range, b.watches.range) ? 'never' : 'always';
  return a.nature === 'clock' && b.nature === 'clock' ? 'always' : 'maybe';
}

function oppositeFinding(a: Side, b: Side, { meeting, ports }: { readonly meeting: Meeting; readonly ports: CheckPorts }): Finding {
  const [first, second] = [a.behaviour.automation, b.behaviour.automation];
  const name = deviceName(a.act.device, ports);
  const verb = meeting.isCertain ? 'want' : 'may want';
  return findingOf(
    {
      kind: 'opposite_effects',
      severity: meeting.isCertain ? 'warning' : 'note',
      behaviours: [a.behaviour, b.behaviour],
      devices: [a.act.device],
      timeline: [a, b].map(({ behaviour, act }) => actEntry(behaviour, act, { times: timesOfAct(behaviour, act), ports })),
      sentence: `${quotedName(first)} and ${quotedName(second)} ${verb} different things of ${name} ${timesText(meeting.times)}: ${contentText(a.act, ports)} and ${contentText(b.act, ports)}`,
      fix: `Let only one of them act on ${name} at that time: give one a condition that excludes the other, or another time`,
      facts: { case: 'meet', device: name, times: timesFact(meeting.times), contents: [a, b].map(({ act }) => contentFact(act, ports)) },
    },
    ports,
  );
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
    findingOf(
      {
        kind: 'opposite_effects',
        severity: 'warning',
        behaviours: [behaviour],
        devices: [act.device],
        timeline: [act, next].map((one) => actEntry(behaviour, one, { times, ports })),
        sentence: `${quotedName(behaviour.automation)} sets ${name} twice in one run, without a wait between: ${contentText(act, ports)}, then ${contentText(next, ports)}`,
        fix: `Take one of the two steps out, or let the automation wait between them`,
        facts: { case: 'undone', device: name, contents: [act, next].map((one) => contentFact(one, ports)) },
      },
      ports,
    ),
  ];
}

function isUndone(act: Act, next: Act): boolean {
  if (act.step === next.step || !differ(act, next) || areExclusive(act.step, next.step)) return false;
  if (!act.step.held.some((one) => next.step.held.some((other) => areCompatible(one, other)))) return false;
  const isMeant = deviceCount(act) > 1 && deviceCount(next) < deviceCount(act);
  return !isMeant && act.step.delay.most === next.step.delay.most && act.step.delay.least === next.step.delay.least;
}

function deviceCount({ step }: Act): number {
  return new Set(step.acts.map(({ device }) => device)).size;
}
