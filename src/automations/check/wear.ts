import { deviceElement } from '../../core/devices/action-descriptions.ts';
import type { CheckPorts } from '../automation-ports.ts';
import { deviceName } from '../home-things.ts';
import type { Act, CheckedStep } from './acts.ts';
import { type Behaviour, timesOfAct } from './behaviour.ts';
import { type Finding, findingOf, quotedName, timelineEntry } from './finding.ts';
import type { Start } from './starts.ts';
import { isEmpty } from './week-times.ts';

/** Switchings per hour that a part of a kind stands for years: relays and motors wear, locks and valves run on batteries. */
const SWITCHINGS_PER_HOUR: Readonly<Record<string, number>> = {
  OnOff: 12,
  DoorLock: 6,
  WindowCovering: 6,
  ClosureControl: 6,
  ValveConfigurationAndControl: 6,
  Thermostat: 12,
  FanControl: 30,
  PumpConfigurationAndControl: 12,
};
/** The same for lights, which switch without a motor. */
const LIGHT_SWITCHINGS = 120;
const OTHER_SWITCHINGS = 120;
const HOUR_SECONDS = 3600;
const HOUR_MS = 3_600_000;

/** Returns the devices that an automation switches more often than their kind stands. */
export function wearOf(behaviour: Behaviour, ports: CheckPorts): readonly Finding[] {
  const runs = runsPerHour(behaviour);
  if (runs === 0) return [];
  const found = new Map<string, Finding>();
  for (const all of behaviour.acts.values()) {
    const acts = all.filter((one) => !isEmpty(timesOfAct(behaviour, one)));
    const [act] = acts;
    if (!act || found.has(act.device)) continue;
    const perHour = Math.round(runs * changesPerRun(acts));
    const bound = boundOf(act, ports);
    if (perHour > bound) found.set(act.device, wearFinding(behaviour, act, { perHour, bound, ports }));
  }
  return [...found.values()];
}

/**
 * Returns how often an automation runs by itself in an hour, at most. Only triggers that come again and again for certain count: intervals, and
 * any change of a reading that is a number, since such a reading changes with each report.
 */
function runsPerHour({ starts, automation: { plan } }: Behaviour): number {
  const wanted = starts.filter(({ situations }) => situations.length > 0).map(ratePerHour);
  const longest = plan.cooldownMs === 0 ? plan.maxRunsPerHour : Math.min(plan.maxRunsPerHour, HOUR_MS / plan.cooldownMs);
  return Math.min(
    wanted.reduce((sum, rate) => sum + rate, 0),
    longest,
  );
}

function ratePerHour({ trigger }: Start): number {
  if (trigger.type === 'every') return HOUR_SECONDS / trigger.seconds;
  return trigger.type === 'reading' && trigger.changes ? Infinity : 0;
}

/** Largest number of ways through choices that are looked at. Beyond it, all options count together. */
const MAX_WAYS = 64;

/**
 * Returns how often the value changes in one run at most, if runs follow each other: what it is at the end of a run is there at the start of the
 * next, which may go another way through the choices.
 */
function changesPerRun(acts: readonly Act[]): number {
  const ways = waysThrough(acts);
  const ends = ways.flatMap((way) => way.at(-1) ?? []);
  return Math.max(0, ...ways.map((way) => changesIn(way, ends)));
}

function changesIn(way: readonly Act[], ends: readonly Act[]): number {
  return way.reduce((sum, act, index) => {
    const before = index === 0 ? ends : way.slice(index - 1, index);
    const isChange = act.isRelative || act.becomes === undefined || before.some(({ becomes }) => becomes !== act.becomes);
    return sum + (isChange ? act.step.repeats : act.step.repeats > 1 && way.length > 1 ? act.step.repeats - 1 : 0);
  }, 0);
}

/** Returns the acts of each way through the choices, of which one option is done. */
function waysThrough(acts: readonly Act[]): readonly (readonly Act[])[] {
  const branches = acts.flatMap(({ step }) => step.branches.filter(({ isExclusive }) => isExclusive));
  let ways: readonly (readonly Act[])[] = [acts];
  for (const [choice, own] of Map.groupBy(branches, ({ of }) => of)) {
    const options = [...new Set(own.map(({ option }) => option))];
    if (ways.length * options.length > MAX_WAYS) return ways;
    ways = ways.flatMap((way) => options.map((option) => way.filter(({ step }) => isOnWay(step, choice, option))));
  }
  return ways;
}

function isOnWay({ branches }: CheckedStep, choice: string, option: number): boolean {
  return branches.every((branch) => branch.of !== choice || branch.option === option);
}

function boundOf(act: Act, { facts }: CheckPorts): number {
  const cluster = deviceElement(act.effect.target)?.cluster ?? '';
  if (facts.typesOf(act.device).has('light')) return LIGHT_SWITCHINGS;
  return SWITCHINGS_PER_HOUR[cluster] ?? OTHER_SWITCHINGS;
}

interface Wear {
  readonly perHour: number;
  readonly bound: number;
  readonly ports: CheckPorts;
}

function wearFinding(behaviour: Behaviour, act: Act, { perHour, bound, ports }: Wear): Finding {
  const name = deviceName(act.device, ports);
  return findingOf(
    {
      kind: 'wear',
      severity: 'warning',
      behaviours: [behaviour],
      devices: [act.device],
      timeline: [timelineEntry(behaviour, `${perHour} times an hour`, timesOfAct(behaviour, act))],
      sentence: `${quotedName(behaviour.automation)} switches ${name} up to ${perHour} times an hour; more than ${bound} an hour wear it`,
      facts: { case: 'wear', device: name, per_hour: perHour, bound },
      fix: 'Let it run less often: a longer interval or cooldown_seconds, a smaller max_runs_per_hour, or a limit instead of any change',
    },
    ports,
  );
}
