import { AtmoError } from './errors.ts';

declare const brand: unique symbol;
type Branded<Name extends string> = string & { readonly [brand]: Name };

/** Canonical tool id `namespace:name@version`, for example `matter:kitchen_light_turn_on@1.0.0`. */
export type ToolId = Branded<'ToolId'>;
/** Stable id of a device in this hub, `[a-z0-9][a-z0-9_-]{0,63}`; it survives renames. */
export type DeviceId = Branded<'DeviceId'>;
/** Id of a sensor: `<device id>/<reading name>`, for example `hall-sensor/temperature`. */
export type SensorId = Branded<'SensorId'>;
/** Id of one hub, `node_id` on the wire. */
export type HubId = Branded<'HubId'>;
/** Id of an asynchronous call. */
export type JobId = Branded<'JobId'>;

const DEVICE_ID = /^[a-z0-9][a-z0-9_-]{0,63}$/;
const SENSOR_ID = /^[a-z0-9][a-z0-9_-]{0,63}(\/[a-z0-9][a-z0-9_-]{0,63}){1,2}$/;

/** Parses a device id. Throws VALIDATION_ERROR with the allowed form. */
export function parseDeviceId(text: string): DeviceId {
  if (!DEVICE_ID.test(text)) {
    throw new AtmoError('VALIDATION_ERROR', `Device id ${JSON.stringify(text)} is not of the form ${DEVICE_ID.source}`);
  }
  return text as DeviceId;
}

/** Parses a sensor id. Throws VALIDATION_ERROR with the allowed form. */
export function parseSensorId(text: string): SensorId {
  if (!SENSOR_ID.test(text)) {
    throw new AtmoError('VALIDATION_ERROR', `Sensor id ${JSON.stringify(text)} is not of the form <device id>/<reading>`);
  }
  return text as SensorId;
}

/**
 * Turns any text into `[a-z0-9]` words joined by `separator`. Letters with marks lose the marks, the
 * German umlauts become two letters; empty when the text holds no letter or digit of the Latin script.
 */
export function slug(text: string, separator: '_' | '-'): string {
  return text
    .toLowerCase()
    .replace(/ä/g, 'ae')
    .replace(/ö/g, 'oe')
    .replace(/ü/g, 'ue')
    .replace(/ß/g, 'ss')
    .normalize('NFKD')
    .toLowerCase()
    .replace(/\p{M}+/gu, '')
    .replace(/[^a-z0-9]+/g, separator)
    .replace(/^[_-]+|[_-]+$/g, '');
}
