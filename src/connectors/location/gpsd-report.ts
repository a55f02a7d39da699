import { isJsonObject, type JsonObject, jsonIn } from '../../core/json.ts';
import type { Position } from './position.ts';

/** NMEA mode of a fix (gpsd_json(5), TPV): 2 knows the place, 3 the height as well. */
const FIX_2D = 2;
/** What a receiver without an estimate of its own is believed to be off, in metres. */
const UNKNOWN_ACCURACY_M = 50;

/** The place in one line that gpsd wrote (gpsd_json(5), TPV); undefined for other reports, and while there is no fix. */
export function positionOf(line: string): Position | undefined {
  const report = jsonIn(line);
  if (!isJsonObject(report) || report.class !== 'TPV') return undefined;
  const { mode, lat, lon, time } = report;
  if (typeof mode !== 'number' || mode < FIX_2D || typeof lat !== 'number' || typeof lon !== 'number') return undefined;
  if (Math.abs(lat) > 90 || Math.abs(lon) > 180) return undefined;
  const atMs = typeof time === 'string' ? Date.parse(time) : Number.NaN;
  return { latitude: lat, longitude: lon, accuracyM: accuracyOf(report), ...(!Number.isNaN(atMs) && { atMs }) };
}

/** `eph` is the estimated horizontal error, `epx` and `epy` those to the east and north, all in metres. */
function accuracyOf({ eph, epx, epy }: JsonObject): number {
  if (typeof eph === 'number' && eph >= 0) return eph;
  if (typeof epx === 'number' && typeof epy === 'number') return Math.hypot(epx, epy);
  return UNKNOWN_ACCURACY_M;
}
