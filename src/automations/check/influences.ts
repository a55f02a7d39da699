import { parseSensorId } from '../../core/devices/device-names.ts';
import type { CheckPorts } from '../automation-ports.ts';
import type { ValueChange } from './acts.ts';
import type { Behaviour } from './behaviour.ts';
import type { Start } from './starts.ts';
import { ANY_VALUE, between, commonRange, directionOf, exactly, isNoValue, isWithin, singleValue, type ValueRange } from './value-range.ts';

/** A fact that an act changes. `shows`: the sensor shows the set value itself. Otherwise the fact rises or falls by an unknown amount. */
export interface Influence {
  readonly fact: string;
  readonly how: 'shows' | 'rises' | 'falls';
  /** By how much it rises or falls at most, in the unit of the sensor. */
  readonly by: number;
}

/** A sensor that a trigger of some automation watches. */
interface WatchedSensor {
  readonly fact: string;
  /** The value that it shows: `<device>/<endpoint>/<value>`; undefined for a sensor that no device tool sets. */
  readonly value: string | undefined;
  readonly device: string;
  readonly kind: string;
  readonly area: string | undefined;
}

type InfluencePorts = Pick<CheckPorts, 'readings' | 'values' | 'facts'>;

/** Illuminance in lux by which the lamps of a room raise a sensor in it, as a rule. Limits that are further apart cause no loop. */
const LAMP_LUX = 200;
/** Kinds of sensors that change when something in their device or room is on, with the device types that have this effect. */
const ROOM_KINDS: Readonly<Record<string, { readonly values: readonly string[]; readonly type: string; readonly by: number }>> = {
  illuminance: { values: ['is_on', 'brightness'], type: 'light', by: LAMP_LUX },
};
const DEVICE_KINDS: Readonly<Record<string, readonly string[]>> = { power: ['is_on', 'brightness'] };

/** Knows which readings that triggers watch an act changes: those that show the set value, and those that follow from it. */
export class Influences {
  readonly #ports: InfluencePorts;
  readonly #sensors: readonly WatchedSensor[];
  readonly #known = new Map<ValueChange, readonly Influence[]>();

  constructor(behaviours: readonly Behaviour[], ports: InfluencePorts) {
    this.#ports = ports;
    const watched = behaviours.flatMap(({ starts }) =>
      starts.flatMap(({ trigger }) => (trigger.type === 'reading' ? [trigger.sensor_id] : [])),
    );
    this.#sensors = [...new Set(watched)].map((sensor) => watchedSensor(sensor, ports));
  }

  /** Returns on which watched readings a change has an influence. */
  of(act: ValueChange): readonly Influence[] {
    const known = this.#known.get(act) ?? this.#sensors.flatMap((sensor) => this.#influenceOn(sensor, act) ?? []);
    this.#known.set(act, known);
    return known;
  }

  #influenceOn(sensor: WatchedSensor, act: ValueChange): Influence | undefined {
    const { fact, value } = sensor;
    if (value === act.value) return { fact, how: 'shows', by: 0 };
    if (!this.#follows(sensor, act)) return undefined;
    const by = sensor.device === act.device ? Infinity : (ROOM_KINDS[sensor.kind]?.by ?? Infinity);
    return { fact, how: act.becomes === false || act.becomes === 0 ? 'falls' : 'rises', by };
  }

  #follows({ device, kind, area }: WatchedSensor, act: ValueChange): boolean {
    const name = act.value.split('/').at(-1) ?? '';
    if (device === act.device) return DEVICE_KINDS[kind]?.includes(name) ?? false;
    const room = ROOM_KINDS[kind];
    if (!room?.values.includes(name) || area === undefined) return false;
    return this.#ports.facts.areaOf(act.device) === area && this.#ports.facts.typesOf(act.device).has(room.type);
  }
}

function watchedSensor(id: string, { readings, values, facts }: InfluencePorts): WatchedSensor {
  const sensor = parseSensorId(id);
  const info = readings.current(sensor)?.sensor;
  const device = info?.device ?? id.split('/', 1)[0] ?? '';
  const shown = values.shownBy(sensor);
  const value = shown && `${device}/${shown.endpoint}/${shown.name}`;
  return { fact: `reading ${id}`, value, device, kind: info?.kind ?? '', area: facts.areaOf(device) };
}

/** A fact before and after a change. */
export interface FactChange {
  readonly before: ValueRange;
  readonly after: ValueRange;
  readonly influence: Influence;
}

/** Returns the value of a fact after a change that has an influence on it; the same object as before if it stays. */
export function changedValue(
  { becomes }: ValueChange,
  { influence, before }: { readonly influence: Influence; readonly before: ValueRange },
): ValueRange {
  if (influence.how !== 'shows') return beyond(before, influence);
  if (becomes === undefined || becomes === null || typeof becomes === 'object') return { ...ANY_VALUE };
  const after = exactly(becomes);
  return singleValue(before) !== undefined && singleValue(before) === singleValue(after) ? before : after;
}

/** Returns the values that a reading may have after lamps or loads changed it. A half-line stands for its limit, which was just crossed. */
function beyond({ numbers: [line] }: ValueRange, { how, by }: Influence): ValueRange {
  if (!line || (line.low === -Infinity && line.high === Infinity)) return { ...ANY_VALUE };
  const low = line.low === -Infinity ? line.high : line.low;
  const high = line.high === Infinity ? line.low : line.high;
  return how === 'rises' ? between(low, high + by) : between(low - by, high);
}

/** Returns whether a change of a fact may set off a trigger: the value comes into its range from outside. */
export function setsOff({ watches }: Pick<Start, 'watches'>, { before, after, influence }: FactChange): boolean {
  if (!watches) return false;
  const { range, isAnyChange } = watches;
  if (isAnyChange) return true;
  if (influence.how !== 'shows' && directionOf(range) !== (influence.how === 'rises' ? 'up' : 'down')) return false;
  if (isNoValue(commonRange(after, range))) return false;
  return before === ANY_VALUE || influence.how !== 'shows' || !isWithin(before, range);
}
