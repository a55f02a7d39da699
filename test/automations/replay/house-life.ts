import type { JsonObject } from '../../../src/core/json.ts';

/** Choices that look random and are the same for the same seed. */
export class Choices {
  readonly #random: () => number;

  constructor(random: () => number) {
    this.#random = random;
  }

  whole(from: number, to: number): number {
    return from + Math.floor(this.#random() * (to - from + 1));
  }

  of<T>(list: readonly T[]): T {
    return list[this.whole(0, list.length - 1)] as T;
  }

  some<T>(list: readonly T[], from: number, to: number): readonly T[] {
    return Array.from({ length: this.whole(from, to) }, () => this.of(list));
  }

  isOneIn(count: number): boolean {
    return this.whole(1, count) === 1;
  }
}

export const TEMPERATURE = 'hall-sensor/temperature';
export const LAMP = 'hall-lamp/is_on';
export const OCCUPANCY = 'hall-sensor/occupancy';
export const OTHER = 'other-automation';

/** Returns an automation with triggers, conditions and steps of all kinds. */
export function madeAutomation(choices: Choices): JsonObject {
  const reading = (sensor_id: string, more: JsonObject): JsonObject => ({ type: 'reading', sensor_id, ...more });
  const limit = choices.whole(18, 22);
  const hour = (from: number, to: number) => `${String(choices.whole(from, to)).padStart(2, '0')}:${choices.of(['00', '30', '45'])}`;
  const triggers: readonly JsonObject[] = [
    reading(TEMPERATURE, { above: limit, hysteresis: choices.of([0, 0.5, 1]) }),
    reading(TEMPERATURE, { below: limit, for_seconds: choices.whole(0, 3) * 600 }),
    reading(TEMPERATURE, { changes: true }),
    reading(LAMP, { equals: choices.isOneIn(2) }),
    reading(OCCUPANCY, { equals: 'occupied', for_seconds: choices.whole(0, 1) * 300 }),
    { type: 'time', at: hour(0, 23) },
    { type: 'time', at: '02:30', days: ['sun', 'mon'] },
    { type: 'time', cron: '15 */3 * * *' },
    { type: 'every', seconds: choices.whole(12, 90) * 60 },
    { type: 'sun', event: choices.of(['sunset', 'dawn']), offset_minutes: choices.whole(-60, 60) },
    { type: 'device_event', device_id: 'hall-button', event: 'InitialPress' },
    { type: 'reachability', device_id: 'hall-sensor', becomes: choices.of(['reachable', 'unreachable']) },
    { type: 'presence', becomes: choices.of(['home', 'away']) },
    { type: 'presence', becomes: 'home', person: 'ann' },
    { type: 'scene', scene_id: 'night' },
    { type: 'decision', decision: 'approved', agent_id: OTHER },
    { type: 'automation_ended', agent_id: OTHER, outcome: 'success' },
    { type: 'hub_start' },
  ];
  const simple: readonly JsonObject[] = [
    reading(TEMPERATURE, { above: limit - 1 }),
    reading(OCCUPANCY, { equals: 'unoccupied' }),
    { type: 'time', after: hour(0, 23), before: hour(0, 23) },
    { type: 'time', days: ['mon', 'tue', 'sat'] },
    { type: 'sun', after: 'sunset', before: 'sunrise' },
    { type: 'flag', flag: 'vacation_mode' },
    { type: 'reachability', device_id: 'hall-sensor', is: 'reachable' },
    { type: 'presence', is: choices.of(['home', 'away']) },
    { type: 'presence', is: 'home', person: 'ann' },
    { type: 'expression', expr: `readings["${TEMPERATURE}"] > ${limit}.0 && !flags.vacation_mode` },
  ];
  const conditions: readonly JsonObject[] = [
    ...simple,
    { type: 'not', conditions: choices.some(simple, 1, 2) },
    { type: 'or', conditions: choices.some(simple, 2, 3) },
  ];
  const on = { tool: 'matter:hall_lamp_turn_on' };
  const off = { tool: 'matter:hall_lamp_turn_off' };
  const waitUntil = {
    type: 'wait_until',
    conditions: choices.some(conditions, 1, 2),
    timeout_seconds: 5400,
    on_timeout: choices.of(['stop', 'continue']),
  };
  const steps: readonly JsonObject[] = [
    on,
    { type: 'wait', seconds: choices.whole(1, 4000), late_seconds: 600 },
    waitUntil,
    {
      type: 'choose',
      options: [{ conditions: choices.some(conditions, 1, 1), actions: [on, { type: 'wait', seconds: 300 }] }],
      otherwise: [off],
    },
    { type: 'repeat', count: 3, actions: [on, { type: 'wait', seconds: 90 }, off] },
    { type: 'repeat', while: choices.some(conditions, 1, 1), max: 5, actions: [off, { type: 'wait', seconds: 120 }] },
    { type: 'parallel', branches: [[on], [{ type: 'wait', seconds: 200 }, off]] },
  ];
  return {
    trigger: choices.some(triggers, 1, 3),
    conditions: choices.some(conditions, 0, 2),
    actions: choices.some(steps, 1, 3),
    cooldown_seconds: choices.of([0, 10, 30, 600]),
    max_runs_per_hour: choices.of([5, 60]),
  };
}
