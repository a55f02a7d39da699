import { AtmoError } from '../../core/errors.ts';
import type { Clock } from '../../core/time/clock.ts';
import { gpsdPosition } from './gpsd-client.ts';
import type { GpsdAddress, LocationConfig, PlaceConfig } from './location-config.ts';
import type { Position } from './position.ts';

/** A receiver under the open sky tells its place every second; one that looks for satellites needs longer than anybody waits. */
const FIX_LIMIT_MS = 10_000;

/** Where the hub and its devices are. */
export class Places {
  readonly #places: LocationConfig;
  readonly #clock: Clock;

  /** CONFIG_INVALID for a place with neither or both of coordinates and a receiver. */
  constructor(config: LocationConfig | undefined, clock: Clock) {
    for (const [id, place] of Object.entries(config ?? {})) check(id, place);
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
    const stop = this.#clock.after(FIX_LIMIT_MS, () => limit.abort(noFix));
    try {
      return await gpsdPosition(gpsd, AbortSignal.any([signal, limit.signal]));
    } finally {
      stop();
    }
  }
}

function check(id: string, { latitude, longitude, gpsd }: PlaceConfig): void {
  const coordinates = [latitude, longitude].filter((value) => value !== undefined).length;
  if (gpsd ? coordinates === 0 : coordinates === 2) return;
  throw new AtmoError('CONFIG_INVALID', `connectors.location.${id} has to have latitude and longitude, or gpsd instead of them`);
}
