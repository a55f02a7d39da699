import { readableWords } from '../../core/devices/matter-names.ts';
import { isJsonObject, type Json } from '../../core/json.ts';
import { hasText, languageTag, text } from '../texts/text.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;

/** The units of an age, each with the age from which it is used. */
const AGES = [
  { unit: 'day', sizeMs: DAY_MS, fromMs: 2 * DAY_MS },
  { unit: 'hour', sizeMs: HOUR_MS, fromMs: HOUR_MS },
  { unit: 'minute', sizeMs: MINUTE_MS, fromMs: MINUTE_MS },
  { unit: 'second', sizeMs: 1_000, fromMs: 10_000 },
] as const;

/** Returns how long ago a time was, such as `2 min ago`; `unknown` if it is null. */
export function ageWords(at: string | null, nowMs: number): string {
  if (at === null) return text('words.unknown');
  const ageMs = Math.max(0, nowMs - Date.parse(at));
  const age = AGES.find(({ fromMs }) => ageMs >= fromMs);
  if (!age) return text('words.just_now');
  return new Intl.RelativeTimeFormat(languageTag(), { style: 'short' }).format(-Math.floor(ageMs / age.sizeMs), age.unit);
}

/** Returns the time of day, such as `12:04`. */
export function timeWords(at: string | number): string {
  return new Date(at).toLocaleTimeString(languageTag(), { timeStyle: 'short' });
}

/** Returns the time of day with the seconds, for lists in which much happens in a minute. */
export function secondsWords(at: string | number): string {
  return new Date(at).toLocaleTimeString(languageTag(), { timeStyle: 'medium' });
}

/** Returns a day, such as `3 May 2026`. */
export function dateWords(at: string | number): string {
  return new Date(at).toLocaleDateString(languageTag(), { dateStyle: 'medium' });
}

/** Returns a day and the time of day, such as `3 May 2026, 12:04`. */
export function dateTimeWords(at: string | number): string {
  return new Date(at).toLocaleString(languageTag(), { dateStyle: 'medium', timeStyle: 'short' });
}

/** Returns a moment as the time of day; with the day if it is not today. */
export function momentWords(at: string | number): string {
  return isToday(at) ? timeWords(at) : dateTimeWords(at);
}

/** Returns when something happened, such as `at 12:04`, or `on 3 May 2026, 12:04` if that is not today. */
export function whenWords(at: string | number): string {
  return text(isToday(at) ? 'words.at_time' : 'words.at_day', { time: momentWords(at) });
}

function isToday(at: string | number): boolean {
  return new Date(at).toDateString() === new Date().toDateString();
}

/** Returns the time left until a deadline, such as `9:04` or `23:09:04`. After the deadline, returns `0:00`. */
export function countdown(until: string, nowMs: number): string {
  const seconds = Math.max(0, Math.ceil((Date.parse(until) - nowMs) / 1000));
  const twoDigits = (number: number) => String(number).padStart(2, '0');
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60)];
  const rest = twoDigits(seconds % 60);
  return hours === 0 ? `${minutes}:${rest}` : `${hours}:${twoDigits(minutes % 60)}:${rest}`;
}

/** Returns a value as text for people. Numbers are localised, underscores become blanks, true becomes `yes`, and null becomes `–`. */
export function valueWords(value: Json): string {
  if (value === null) return '–';
  if (typeof value === 'boolean') return value ? text('words.yes') : text('words.no');
  if (typeof value === 'number') return numberWords(value);
  if (typeof value === 'string') return wordOf(value);
  if (Array.isArray(value)) return value.map(valueWords).join(', ') || text('words.none');
  return isJsonObject(value)
    ? Object.entries(value)
        .map(([name, item]) => `${humanWords(name)} ${valueWords(item)}`)
        .join(', ')
    : '';
}

/** Returns a value in words with its unit, such as `21.5 °C`; without a unit, only the words. */
export function withUnit(words: string, unit: Json | undefined): string {
  return typeof unit === 'string' && unit !== '' ? `${words} ${unit}` : words;
}

/** Returns a value that is one of a list in the words of the page; a value that the page does not know, as the hub names it. */
function wordOf(value: string): string {
  const key = `values.${value}`;
  return hasText(key) ? text(key) : humanWords(value);
}

/** Returns a number as text. It is rounded to three decimals if it is below 1, and to fewer decimals if it is larger. */
export function numberWords(value: number): string {
  const size = Math.abs(value);
  const maximumFractionDigits = size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3;
  return value.toLocaleString(languageTag(), { maximumFractionDigits });
}

/** Returns a name as words: `door_closed` becomes `door closed`. */
export function humanWords(name: string): string {
  return name.replaceAll('_', ' ');
}

/** Returns the name of a reading for people: `is_on` becomes `On`, `co2` becomes `CO₂`. */
export function readingName(name: string): string {
  const key = `readings.${name}`;
  return hasText(key) ? text(key) : capital(humanWords(name.replace(/^is_/, '')));
}

/** Returns a Matter name as words: `DimmableLight` becomes `Dimmable light`, `Attr0xfff10002` becomes `Attribute 2`. */
export function typeWords(type: string): string {
  return capital(readableWords(type));
}

/** Returns the text with a capital first letter. */
export function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
