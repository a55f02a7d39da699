import { optionalSection, type Settings } from '../../core/config/config-section.ts';

const GPSD = optionalSection({
  host: { type: 'string', pattern: '^[A-Za-z0-9.:_-]{1,253}$', default: '127.0.0.1', description: 'Where gpsd runs' },
  port: { type: 'integer', minimum: 1, maximum: 65_535, default: 2947 },
});

const POSITION_SOURCE = optionalSection({
  latitude: { type: 'number', minimum: -90, maximum: 90, description: 'Degrees north, WGS 84' },
  longitude: { type: 'number', minimum: -180, maximum: 180, description: 'Degrees east, WGS 84' },
  accuracy_m: { type: 'number', minimum: 0, maximum: 100_000, default: 10, description: 'How far off these may be, in metres' },
  gpsd: { ...GPSD, description: 'A receiver instead of fixed coordinates' },
});

/** JSON Schema of `connectors.location`: locations by device id. The id `hub` stands for the hub itself. */
export const LOCATION_SECTION = {
  type: 'object',
  minProperties: 1,
  maxProperties: 256,
  propertyNames: { pattern: '^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$' },
  additionalProperties: POSITION_SOURCE,
} as const;

/** Locations by device id. The id `hub` stands for the hub itself. */
export type LocationConfig = Settings<typeof LOCATION_SECTION>;

/** The source of a location: coordinates, or a GPS receiver. */
export type PositionSource = Settings<typeof POSITION_SOURCE>;

/** Host and port of a GPS daemon (gpsd). */
export type GpsdAddress = Settings<typeof GPSD>;
