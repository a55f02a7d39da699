import { connect, type Socket } from 'node:net';
import { type Clock, isoTime, orAborted } from '../../core/clock.ts';
import { AtmoError } from '../../core/errors.ts';
import { isJsonObject, type JsonObject, tryParseJson } from '../../core/json.ts';
import { defineTool, p } from '../../tools/definition/define-tool.ts';
import type { RegisteredTool } from '../../tools/definition/tool-definition.ts';
import { type Connector, type ConnectorContext, permittedNames, resultSchema, toolOver } from '../connector.ts';
import type { ConnectorsConfig } from '../connectors-config.ts';
import type { GpsdAddress, LocationConfig, PositionSource } from './location-config.ts';

const LIMIT_MS = 15_000;

/** Returns `get_location` for the configured locations. Throws CONFIG_INVALID unless each location has either coordinates or a gpsd. */
export function openLocation({ clock }: Pick<ConnectorContext, 'clock'>, { location }: Pick<ConnectorsConfig, 'location'>): Connector {
  for (const [id, place] of Object.entries(location ?? {})) requireOneSource(id, place);
  const capability = { type: 'location_access', description: () => 'Where the hub and its devices are' };
  return {
    tools: [toolOver(location, 'connectors.location', (places) => locationTool(places, clock))],
    ...(location && { capabilities: [capability] }),
  };
}

function locationTool(places: LocationConfig, clock: Clock): RegisteredTool {
  return defineTool(
    {
      name: 'get_location',
      title: 'Get location',
      description:
        'Tells where the hub or a device is, in degrees of WGS 84. Use it for the weather, the sun or a way; coarse is enough for the ' +
        'first two.',
      category: 'sensing',
      capabilities: ['location_access'],
      permissions: ['location:read:{device_id}'],
      hasSideEffects: false,
      timeoutMs: LIMIT_MS,
      retries: 0,
      preferLocal: true,
      tags: ['location', 'gps', 'place'],
      examples: [{ description: 'For the weather', params: { accuracy: 'coarse' } }],
      parameters: {
        device_id: p.string({
          description: 'hub, or a device whose place is configured',
          pattern: '^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$',
          default: 'hub',
        }),
        accuracy: p.enum(ACCURACIES, {
          description: 'coarse: about a kilometre; balanced: about a hundred metres; precise: as it is known',
          default: 'balanced',
        }),
      },
      returns: resultSchema(['lat', 'lon', 'accuracy_m', 'source'], {
        lat: { type: 'number', 'x-unit': '°' },
        lon: { type: 'number', 'x-unit': '°' },
        accuracy_m: { type: 'number', 'x-unit': 'm' },
        source: { enum: ['configured', 'receiver'] },
        timestamp: { type: 'string', format: 'date-time', description: 'When a receiver found it' },
      }),
    },
    async ({ device_id: id, accuracy }, { signal, permissions }) => {
      const place = requirePlace(places, id, permissions);
      const position = place.gpsd ? await receivedPosition(place.gpsd, clock, signal) : configuredPosition(place);
      const { latitude: lat, longitude: lon, accuracyM, atMs } = roundPosition(position, accuracy);
      const found = atMs === undefined ? { source: 'configured' } : { source: 'receiver', timestamp: isoTime(atMs) };
      return { lat, lon, accuracy_m: accuracyM, ...found };
    },
  );
}

/** Returns the location with this id. If there is none, throws DEVICE_NOT_FOUND with the ids that the caller may see. */
function requirePlace(places: LocationConfig, id: string, grants: readonly string[]): PositionSource {
  const place = Object.hasOwn(places, id) ? places[id] : undefined;
  if (place) return place;
  const candidates = permittedNames(grants, 'location:read', Object.keys(places));
  const known = candidates.length === 0 ? '' : `; known are ${candidates.join(', ')}`;
  throw new AtmoError('DEVICE_NOT_FOUND', `Where ${id} is, is not known at this hub${known}`, { candidates });
}

/** Returns the configured coordinates. The defaults are never used: without a gpsd, `openLocation` requires both coordinates. */
function configuredPosition({ latitude = 0, longitude = 0, accuracyM }: PositionSource): Position {
  return { latitude, longitude, accuracyM };
}

/** Longest wait for a fix in milliseconds. Under the open sky a receiver has a fix every second; with a poor view it may need minutes. */
const FIX_TIMEOUT_MS = 10_000;

/** Returns the receiver's position. Rejects with SERVICE_UNAVAILABLE if there is no fix in time, otherwise like `gpsdPosition`. */
async function receivedPosition(gpsd: GpsdAddress, clock: Clock, signal: AbortSignal): Promise<Position> {
  const limit = new AbortController();
  const noFix = new AtmoError('SERVICE_UNAVAILABLE', `The receiver at ${gpsd.host}:${gpsd.port} sees no satellites; it has no fix`);
  const stop = clock.after(FIX_TIMEOUT_MS, () => limit.abort(noFix));
  try {
    return await gpsdPosition(gpsd, AbortSignal.any([signal, limit.signal]));
  } finally {
    stop();
  }
}

function requireOneSource(id: string, { latitude, longitude, gpsd }: PositionSource): void {
  const coordinates = [latitude, longitude].filter((value) => value !== undefined).length;
  if (gpsd ? coordinates === 0 : coordinates === 2) return;
  throw new AtmoError('CONFIG_INVALID', `connectors.location.${id} has to have latitude and longitude, or gpsd instead of them`);
}

const WATCH = '?WATCH={"enable":true,"json":true};\n';
/** Longest line of gpsd_json(5). */
const MAX_LINE = 10_240;

/**
 * Returns the next position of a receiver, over gpsd's protocol (gpsd_json(5)). Waits for a fix until the signal aborts. Rejects with
 * SERVICE_UNAVAILABLE (no connection to gpsd), SERVICE_REFUSED (the service is not gpsd), or the signal's reason.
 */
export async function gpsdPosition({ host, port }: GpsdAddress, signal: AbortSignal): Promise<Position> {
  signal.throwIfAborted();
  const socket = connect({ host, port });
  try {
    return await orAborted(firstFix(socket, `${host}:${port}`), signal);
  } finally {
    socket.destroy();
  }
}

function firstFix(socket: Socket, place: string): Promise<Position> {
  const { promise, resolve, reject } = Promise.withResolvers<Position>();
  let rest = '';
  socket.setEncoding('utf8');
  socket.once('connect', () => socket.write(WATCH));
  socket.once('error', (error) => reject(gpsdUnavailable(place, 'code' in error ? String(error.code) : error.message)));
  socket.once('end', () => reject(gpsdUnavailable(place, 'it hung up')));
  socket.on('data', (text: string) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    const position = lines.map(parsePosition).find((found) => found !== undefined);
    if (position) resolve(position);
    else if (rest.length > MAX_LINE) reject(new AtmoError('SERVICE_REFUSED', `What answers at ${place} does not speak as gpsd does`));
  });
  return promise;
}

function gpsdUnavailable(place: string, reason: string): AtmoError {
  return new AtmoError('SERVICE_UNAVAILABLE', `gpsd at ${place} cannot be reached (${reason})`, { reason });
}

/** Lowest NMEA mode with a position: a two-dimensional fix (gpsd_json(5), TPV). Mode 3 also has the height. */
const FIX_2D = 2;
/** Assumed error of a receiver that sends no estimate, in metres. */
const UNKNOWN_ACCURACY_M = 50;

/** Returns the position in a line of gpsd (gpsd_json(5), TPV); undefined for other reports and for a report without a fix. */
export function parsePosition(line: string): Position | undefined {
  const report = tryParseJson(line);
  if (!isJsonObject(report) || report.class !== 'TPV') return undefined;
  const { mode, lat, lon, time } = report;
  if (typeof mode !== 'number' || mode < FIX_2D || typeof lat !== 'number' || typeof lon !== 'number') return undefined;
  if (Math.abs(lat) > 90 || Math.abs(lon) > 180) return undefined;
  const atMs = typeof time === 'string' ? Date.parse(time) : Number.NaN;
  return { latitude: lat, longitude: lon, accuracyM: accuracyOf(report), ...(!Number.isNaN(atMs) && { atMs }) };
}

/** Returns the horizontal error in metres: `eph`, or computed from `epx` (east) and `epy` (north). */
function accuracyOf({ eph, epx, epy }: JsonObject): number {
  if (typeof eph === 'number' && eph >= 0) return eph;
  if (typeof epx === 'number' && typeof epy === 'number') return Math.hypot(epx, epy);
  return UNKNOWN_ACCURACY_M;
}

interface Position {
  /** Latitude in degrees (WGS 84). */
  readonly latitude: number;
  readonly longitude: number;
  /** Estimated horizontal error in metres. */
  readonly accuracyM: number;
  /** Time of the fix, milliseconds since 1970; absent for configured coordinates. */
  readonly atMs?: number;
}

/** Levels of precision of a returned position. */
const ACCURACIES = ['coarse', 'balanced', 'precise'] as const;
type Accuracy = (typeof ACCURACIES)[number];

/** Decimal places of coordinates in degrees: two for a part of a town, three for a street, seven for the full precision. */
const DIGITS: Readonly<Record<Accuracy, number>> = { coarse: 2, balanced: 3, precise: 7 };
/** Length of a degree of latitude in metres; a degree of longitude is never longer. */
const METRES_A_DEGREE = 111_320;

/** Rounds a position to the decimal places of an accuracy level, and adds the rounding error to `accuracyM`. */
export function roundPosition(position: Position, accuracy: Accuracy): Position {
  const step = 10 ** -DIGITS[accuracy];
  const round = (degrees: number) => Number(degrees.toFixed(DIGITS[accuracy]));
  // The largest rounding error is half a step in latitude and half a step in longitude: together √½ steps.
  const addedM = accuracy === 'precise' ? 0 : Math.SQRT1_2 * step * METRES_A_DEGREE;
  return {
    ...position,
    latitude: round(position.latitude),
    longitude: round(position.longitude),
    accuracyM: Math.round((position.accuracyM + addedM) * 10) / 10,
  };
}
