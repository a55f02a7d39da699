import type { JsonObject } from '../../../src/core/json.ts';
import { ROOMS } from './home-plan.ts';

/** An automation as its author writes it, with what it may do; `endsInDays` if its permissions end. */
export interface Written {
  readonly config: JsonObject;
  readonly permissions?: readonly string[];
  readonly endsInDays?: number;
}

/** A pair whose truth is known, because it was made so. `kind` is the problem that it has, or nearly has. */
export interface MadePair {
  readonly kind: string;
  readonly isConflict: boolean;
  /** What kind of pair it is, for the report of a mistake. */
  readonly made: string;
  readonly living: Written;
  readonly candidate: Written;
  readonly rules?: string;
}

/** Choices that look random and are the same for the same seed. */
export class Dice {
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

  /** Two different items. */
  two<T>(list: readonly T[]): readonly [T, T] {
    const first = this.of(list);
    return [first, this.of(list.filter((one) => one !== first))];
  }

  /** Returns the two in either order. */
  either<T>(a: T, b: T): readonly [T, T] {
    return this.whole(0, 1) === 0 ? [a, b] : [b, a];
  }

  clock(fromHour: number, toHour: number): string {
    return clock(this.whole(fromHour * 60, toHour * 60 + 59));
  }
}

export function clock(minute: number): string {
  const two = (part: number) => String(part).padStart(2, '0');
  return `${two(Math.floor(minute / 60) % 24)}:${two(minute % 60)}`;
}

export type Maker = (dice: Dice) => Omit<MadePair, 'kind' | 'isConflict'>;
export interface Makers {
  readonly conflicting: readonly Maker[];
  readonly harmless: readonly Maker[];
}

export const at = (time: string, days?: readonly string[]): JsonObject => ({ type: 'time', at: time, ...(days && { days: [...days] }) });
export const between = (after: string, before: string, days?: readonly string[]): JsonObject => ({
  type: 'time',
  after,
  before,
  ...(days && { days: [...days] }),
});
export const reading = (sensor: string, comparison: JsonObject): JsonObject => ({ type: 'reading', sensor_id: sensor, ...comparison });
export const press = (room: string, event = 'InitialPress'): JsonObject => ({ type: 'device_event', device_id: `${room}-button`, event });
export const does = (tool: string, params: JsonObject = {}): JsonObject => ({ tool: `matter:${tool}`, params });
export const written = (trigger: JsonObject | readonly JsonObject[], actions: readonly JsonObject[], more: JsonObject = {}): Written => ({
  config: { trigger: trigger as JsonObject, actions, ...more },
});
export const lamp = (room: string, word: 'on' | 'off') => does(`${room}_lamp_turn_${word}`);
export const plug = (room: string, word: 'on' | 'off') => does(`${room}_plug_turn_${word}`);
/** An automation that has nothing to do with any other. */
export const bystander = (dice: Dice): Written => written(at(dice.clock(2, 4), ['tue']), [does('attic_cover_close')]);
export const alone = (dice: Dice, made: string, candidate: Written, rules?: string) => ({
  made,
  living: bystander(dice),
  candidate,
  ...(rules !== undefined && { rules }),
});
export const paired = (dice: Dice, made: string, a: Written, b: Written) => {
  const [living, candidate] = dice.either(a, b);
  return { made, living, candidate };
};
/** Rooms without the attic, in which the bystander acts. */
export const USED = ROOMS.slice(0, 5);

export const quietRule = (device: string, from: string, to: string, days = '') =>
  `rules:\n  - name: quiet\n    effect: deny\n    when: { device: ${device}, time: { from: '${from}', to: '${to}' }${days} }`;
export const every = (seconds: number): JsonObject => ({ type: 'every', seconds });
export const is = (room: string, thing: 'lamp' | 'plug', on: boolean) => reading(`${room}-${thing}/is_on`, { equals: on });
