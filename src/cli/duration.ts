import { usage } from './command.ts';

const UNITS_SECONDS = new Map([
  ['s', 1],
  ['m', 60],
  ['min', 60],
  ['h', 3_600],
  ['d', 86_400],
  ['w', 604_800],
]);

/** Seconds of a duration such as 90s, 15m, 24h, 30d or 2w; `option` is named when it is none. */
export function durationSeconds(text: string, option: string): number {
  const [, count = '', unit = ''] = /^(\d{1,9})([a-z]+)$/.exec(text) ?? [];
  const unitSeconds = UNITS_SECONDS.get(unit);
  if (unitSeconds !== undefined) return Number(count) * unitSeconds;
  throw usage(`${option} takes a duration such as 15m, 24h or 30d, not ${JSON.stringify(text)}`);
}

/** Calls a minute of a rate such as 30/min; a mistake names `option`. */
export function ratePerMinute(text: string, option: string): number {
  const count = /^(\d{1,6})(\/min)?$/.exec(text)?.[1];
  if (count !== undefined) return Number(count);
  throw usage(`${option} takes calls a minute such as 30/min, not ${JSON.stringify(text)}`);
}
