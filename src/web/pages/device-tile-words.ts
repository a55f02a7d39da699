import { LOW_BATTERY_PERCENT } from '../../core/devices/device-model.ts';
import type { Json } from '../../core/json.ts';
import type { ReadingView } from '../api/hub-types.ts';
import { capital, numberWords, readingName, valueWords, withUnit } from '../components/formatting.ts';
import { hasText, type TextKey, text } from '../texts/text.ts';
import { goalOf } from './device-tile-controls.ts';
import type { TileSource } from './tile-control.ts';

type Readings = ReadonlyMap<string, ReadingView>;

/** Kinds of readings that are alarms, with the words for an active alarm. */
const ALARMS: Readonly<Record<string, TextKey>> = {
  leak: 'tiles.alarm_leak',
  freeze: 'tiles.alarm_freeze',
  smoke: 'tiles.alarm_smoke',
  carbon_monoxide_alarm: 'tiles.alarm_carbon_monoxide',
  fault: 'tiles.alarm_fault',
  door_alarm: 'tiles.alarm_door',
};
/** Kinds of readings that are true or false, with the words for true and for false. */
const YES_NO: Readonly<Record<string, readonly [yes: TextKey, no: TextKey]>> = {
  contact: ['tiles.open', 'tiles.closed'],
  occupancy: ['tiles.somebody', 'tiles.nobody'],
  rain: ['tiles.rain', 'tiles.no_rain'],
  pump_running: ['values.running', 'values.stopped'],
};
const CALM: readonly Json[] = [false, null, 'normal', 'ok', 'no_error'];
const MINUTE_S = 60;
const HOUR_MIN = 60;

/** Returns the active alarms of a device in words, such as `Water leak`. */
export function alarmsOf(readings: Readings): readonly string[] {
  const alarms = [...readings.values()].filter(({ kind, value }) => kind in ALARMS && !CALM.includes(value)).map(alarmWords);
  if (readings.get('lock_state')?.value === 'not_fully_locked') alarms.push(text('values.not_fully_locked'));
  if (readings.get('operational_state')?.value === 'error') alarms.push(text('values.error'));
  return alarms;
}

function alarmWords({ kind }: Pick<ReadingView, 'kind'>): string {
  const key = ALARMS[kind];
  return key === undefined ? kind : text(key);
}

/** Returns whether a battery is nearly empty or has to be replaced. */
export function isBatteryLow(readings: Readings): boolean {
  return [...readings.values()].some(({ kind, value }) => {
    if (kind === 'battery_alert' || kind === 'battery_level') return !CALM.includes(value);
    return kind === 'battery' && typeof value === 'number' && value <= LOW_BATTERY_PERCENT;
  });
}

/** Returns the state of a device in words, from the reading that says most about it. */
export function stateWords({ readings }: TileSource, main: ReadingView | undefined): string {
  if (!main) return '';
  const { kind, value } = main;
  if (value === null) return text('tiles.not_known');
  if (kind === 'on_off') return onOffWords(readings, value === true);
  if (kind === 'cover_position') return coverWords(value);
  if (kind === 'operational_state') return operationWords(readings, value);
  if (kind === 'charger') return chargerWords(readings, value);
  if (kind === 'power' && readings.has('energy_exported')) return flowWords(main);
  if (kind === 'switch') return value === 0 ? text('tiles.not_pressed') : text('tiles.pressed');
  return kind === 'temperature' ? climateWords(readings, main) : readingValueWords(main);
}

function onOffWords(readings: Readings, isOn: boolean): string {
  if (!isOn) return text('tiles.off');
  const more = [readings.get('brightness'), readings.get('volume'), readings.get('power')].find(
    (reading) => typeof reading?.value === 'number',
  );
  return more ? `${text('tiles.on')} · ${readingValueWords(more)}` : text('tiles.on');
}

function coverWords(value: Json): string {
  if (value === 100) return text('tiles.open');
  return value === 0 ? text('tiles.closed') : text('tiles.percent_open', { value: Number(value) });
}

function operationWords(readings: Readings, value: Json): string {
  const left = readings.get('seconds_left')?.value;
  const state = choiceWords(String(value));
  if (value === 'running' && typeof left === 'number') return `${state} · ${text('tiles.time_left', { time: durationWords(left) })}`;
  if (value !== 'stopped') return state;
  return readings.get('is_on')?.value === false ? text('tiles.off') : text('tiles.ready');
}

/** Returns a duration of minutes and hours, such as `1 h 20 min`. */
function durationWords(seconds: number): string {
  const minutes = Math.max(1, Math.round(seconds / MINUTE_S));
  const hours = Math.floor(minutes / HOUR_MIN);
  const rest = `${minutes % HOUR_MIN} min`;
  if (hours === 0) return rest;
  return minutes % HOUR_MIN === 0 ? `${hours} h` : `${hours} h ${rest}`;
}

function chargerWords(readings: Readings, value: Json): string {
  const power = readings.get('power');
  const state = choiceWords(String(value));
  if (value === 'plugged_in_charging' && typeof power?.value === 'number') return `${state} · ${readingValueWords(power)}`;
  const isOff = readings.get('supply_state')?.value === 'disabled' && value !== 'not_plugged_in';
  return isOff ? `${state} · ${text('tiles.charging_off')}` : state;
}

/** Returns the power of a device that also feeds power into the house. Matter counts what comes out of it as negative. */
function flowWords({ value, unit }: ReadingView): string {
  const power = withUnit(numberWords(Math.abs(Number(value))), unit);
  if (value === 0) return power;
  return text(Number(value) < 0 ? 'tiles.gives_power' : 'tiles.takes_power', { power });
}

function climateWords(readings: Readings, main: ReadingView): string {
  const goal = goalOf({ readings });
  const mode = readings.get('mode')?.value;
  if (mode === 'off') return `${readingValueWords(main)} · ${text('tiles.off')}`;
  return goal && mode !== 'fan_only' ? `${readingValueWords(main)} → ${readingValueWords(goal)}` : readingValueWords(main);
}

/** Returns a reading in words, with its unit. */
export function readingValueWords({ kind, value, unit }: Pick<ReadingView, 'kind' | 'value' | 'unit'>): string {
  if (typeof value === 'boolean' && kind in ALARMS) return value ? alarmWords({ kind }) : text('tiles.all_well');
  const words = YES_NO[kind];
  if (typeof value === 'boolean' && words) return text(value ? words[0] : words[1]);
  if (kind === 'alarm' && value === 'normal') return text('tiles.all_well');
  const shown = choiceWords(value);
  return value === null ? shown : withUnit(shown, unit);
}

/** Returns a value, such as `seeking_charger` of a list, in the words of the page. */
export function choiceWords(value: Json): string {
  return capital(valueWords(value));
}

/** Readings that a tile names beside its state, the most telling first. */
const DETAILS = [
  'door_state',
  'temperature',
  'humidity',
  'co2',
  'pm25',
  'power',
  'energy',
  'battery',
  'battery_charging',
  'hot_water',
  'program',
  'clean_mode',
  'oven_mode',
  'heating_setpoint',
  'tilt_percent',
];

/** Returns at most three values besides the main one. What has to be done, such as a battery to replace, comes first. */
export function detailsOf({ readings }: TileSource, main: ReadingView | undefined): readonly string[] {
  const isInState = (reading: ReadingView) =>
    reading.id === main?.id ||
    (main?.kind === 'temperature' && reading === goalOf({ readings })) ||
    (main?.kind === 'on_off' && reading.kind === 'power');
  const others = DETAILS.flatMap((name) => {
    const reading = readings.get(name);
    return reading && reading.value !== null && !isInState(reading) ? [reading] : [];
  });
  return [...choresOf(readings), ...others.map(detailWords)].slice(0, 3);
}

function choresOf(readings: Readings): readonly string[] {
  const isWorn = [...readings.values()].some(({ kind, value }) => kind === 'filter_alert' && !CALM.includes(value));
  return [...(isBatteryLow(readings) ? [text('tiles.battery_low')] : []), ...(isWorn ? [text('tiles.filter_worn')] : [])];
}

function detailWords(reading: ReadingView): string {
  if (reading.unit === '') return readingValueWords(reading);
  const key = `tiles.reading_${reading.name}`;
  return `${hasText(key) ? text(key) : readingName(reading.name)} ${readingValueWords(reading)}`;
}
