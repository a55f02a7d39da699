import { connect, type Socket } from 'node:net';
import { type Clock, isoTime, orAborted } from '../../core/clock.ts';
import { AtmoError } from '../../core/errors.ts';
import { isJsonObject, type JsonObject, tryParseJson } from '../../core/json.ts';
import { defineTool, p } from '../../tools/definition/define-tool.ts';
import type { RegisteredTool } from '../../tools/definition/tool-definition.ts';
import { unconfigured } from '../../tools/definition/unconfigured-tool.ts';
import { permittedNames } from '../caller-permissions.ts';
import { type Connector, type ConnectorContext, resultSchema } from '../connector.ts';
import type { ConnectorsConfig } from '../connectors-config.ts';
import type { GpsdAddress, LocationConfig, PositionSource } from './location-config.ts';

const LIMIT_MS = 15_000;

/** `get_location` over coordinates that the owner wrote down, and gpsd. CONFIG_INVALID for a place that is none. */
export function openLocation({ clock }: Pick<ConnectorContext, 'clock'>, { location }: Pick<ConnectorsConfig, 'location'>): Connector {
  const tool = locationTool(new Locations(location, clock));
  if (location === undefined) return { tools: [unconfigured(tool, 'set connectors.location in the configuration')] };
  return { tools: [tool], capabilities: [{ type: 'location_access', description: () => 'Where the hub and its devices are' }] };
}

function locationTool(places: Locations): RegisteredTool {
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
      requireLocation(places, id, permissions);
      const { latitude: lat, longitude: lon, accuracyM, atMs } = roundPosition(await places.locate(id, signal), accuracy);
      const found = atMs === undefined ? { source: 'configured' } : { source: 'receiver', timestamp: isoTime(atMs) };
      return { lat, lon, accuracy_m: accuracyM, ...found };
    },
  );
}

/** DEVICE_NOT_FOUND with the places that the caller may know, when there is none of this id. */
function requireLocation(places: Locations, id: string, grants: readonly string[]): void {
  if (places.ids().includes(id)) return;
  const candidates = permittedNames(grants, 'location:read', places.ids());
  const known = candidates.length === 0 ? '' : `; known are ${candidates.join(', ')}`;
  throw new AtmoError('DEVICE_NOT_FOUND', `Where ${id} is, is not known at this hub${known}`, { candidates });
}

/** A receiver under the open sky tells its place every second; one that looks for satellites needs longer than anybody waits. */
const FIX_TIMEOUT_MS = 10_000;

/** Where the hub and its devices are. */
class Locations {
  readonly #places: LocationConfig;
  readonly #clock: Clock;

  /** CONFIG_INVALID for a place with neither or both of coordinates and a receiver. */
  constructor(config: LocationConfig | undefined, clock: Clock) {
    for (const [id, place] of Object.entries(config ?? {})) requireOneSource(id, place);
    this.#places = config ?? {};
    this.#clock = clock;
  }

  ids(): readonly string[] {
    return Object.keys(this.#places);
  }

  /** Where it is now. DEVICE_NOT_FOUND, SERVICE_UNAVAILABLE (no receiver, or no fix in time), or what the signal aborts with. */
  async locate(id: string, signal: AbortSignal): Promise<Position> {
    const place = Object.hasOwn(this.#places, id) ? this.#places[id] : undefined;
    if (place?.gpsd) return this.#received(place.gpsd, signal);
    const { latitude, longitude, accuracyM = 0 } = place ?? {};
    if (latitude !== undefined && longitude !== undefined) return { latitude, longitude, accuracyM };
    throw new AtmoError('DEVICE_NOT_FOUND', `Where ${JSON.stringify(id)} is, nobody said; places are named in connectors.location`);
  }

  async #received(gpsd: GpsdAddress, signal: AbortSignal): Promise<Position> {
    const limit = new AbortController();
    const noFix = new AtmoError('SERVICE_UNAVAILABLE', `The receiver at ${gpsd.host}:${gpsd.port} sees no satellites; it has no fix`);
    const stop = this.#clock.after(FIX_TIMEOUT_MS, () => limit.abort(noFix));
    try {
      return await gpsdPosition(gpsd, AbortSignal.any([signal, limit.signal]));
    } finally {
      stop();
    }
  }
}

function requireOneSource(id: string, { latitude, longitude, gpsd }: PositionSource): void {
  const coordinates = [latitude, longitude].filter((value) => value !== undefined).length;
  if (gpsd ? coordinates === 0 : coordinates === 2) return;
  throw new AtmoError('CONFIG_INVALID', `connectors.location.${id} has to have latitude and longitude, or gpsd instead of them`);
}

const WATCH = '?WATCH={"enable":true,"json":true};\n';
/** gpsd_json(5): a line is never longer. */
const MAX_LINE = 10_240;

/**
 * The place that a receiver tells next, over gpsd's protocol (gpsd_json(5)). Waits for a fix until the signal aborts; errors:
 * SERVICE_UNAVAILABLE (no gpsd there, or it goes away), SERVICE_REFUSED (something else answers), or what the signal aborts with.
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

/** NMEA mode of a fix (gpsd_json(5), TPV): 2 knows the place, 3 the height as well. */
const FIX_2D = 2;
/** What a receiver without an estimate of its own is believed to be off, in metres. */
const UNKNOWN_ACCURACY_M = 50;

/** The place in one line that gpsd wrote (gpsd_json(5), TPV); undefined for other reports, and while there is no fix. */
export function parsePosition(line: string): Position | undefined {
  const report = tryParseJson(line);
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

/** A place on the earth. */
interface Position {
  /** Degrees, WGS 84. */
  readonly latitude: number;
  readonly longitude: number;
  /** The true place is most likely no farther away than this. */
  readonly accuracyM: number;
  /** When a receiver found it; absent for coordinates that were written down. */
  readonly atMs?: number;
}

/** How exactly a place is told. */
const ACCURACIES = ['coarse', 'balanced', 'precise'] as const;
export type Accuracy = (typeof ACCURACIES)[number];

/** Digits after the point, in degrees: a hundredth is a part of a town, a thousandth a street. */
const DIGITS: Readonly<Record<Accuracy, number>> = { coarse: 2, balanced: 3, precise: 7 };
/** A degree of latitude; one of longitude is never longer. */
const METRES_A_DEGREE = 111_320;

/** The place with as many digits as the accuracy has; what rounding adds counts in `accuracyM`. */
export function roundPosition(position: Position, accuracy: Accuracy): Position {
  const step = 10 ** -DIGITS[accuracy];
  const round = (degrees: number) => Number(degrees.toFixed(DIGITS[accuracy]));
  // Half a step to the north and half a step to the east.
  const addedM = accuracy === 'precise' ? 0 : Math.SQRT1_2 * step * METRES_A_DEGREE;
  return {
    ...position,
    latitude: round(position.latitude),
    longitude: round(position.longitude),
    accuracyM: Math.round((position.accuracyM + addedM) * 10) / 10,
  };
}
