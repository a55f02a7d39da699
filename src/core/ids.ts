declare const brand: unique symbol;
type Branded<Name extends string> = string & { readonly [brand]: Name };

/** Canonical tool id `namespace:name@version`, for example `matter:kitchen_light_turn_on@1.0.0`. */
export type ToolId = Branded<'ToolId'>;
/** Stable id of a device in this hub: `[a-z0-9][a-z0-9_-]{0,63}`. It stays the same if the device is renamed. */
export type DeviceId = Branded<'DeviceId'>;
/** Id of a sensor: `<device id>/<reading name>`, for example `hall-sensor/temperature`. */
export type SensorId = Branded<'SensorId'>;
/** Id of a hub. Messages and APIs call it `node_id`. */
export type HubId = Branded<'HubId'>;
/** Id of a job, which is an asynchronous call. */
export type JobId = Branded<'JobId'>;

/**
 * Converts a text into words of `[a-z0-9]`, joined by `separator`. Letters lose their diacritics, but German umlauts become two letters.
 * Returns an empty text if the text has no Latin letter or digit.
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

/** Maximum length of an idempotency key in bytes of UTF-8. It is the same for a call of this hub and for one that goes to another hub. */
export const MAX_IDEMPOTENCY_KEY_BYTES = 256;
