import { optionalSection, type Settings } from '../core/config/config-section.ts';
import type { JsonSchema } from '../core/json.ts';

/** Pattern of device ids, of the names of readings, and of kinds such as `temperature`. */
export const ID_PATTERN = '^[a-z0-9][a-z0-9_-]{0,63}$';

/** JSON Schema of a title for people: a line without control characters. */
export const TITLE = { type: 'string', minLength: 1, maxLength: 64, pattern: '^\\P{C}+$' } as const;

/** JSON Schema of a unit. */
export const UNIT = { type: 'string', maxLength: 16, pattern: '^\\P{C}*$' } as const;

/** Returns the JSON Schema of a map whose keys are ids that the owner chooses. */
export const mapOf = <const Item extends JsonSchema>(item: Item) =>
  ({ type: 'object', default: {}, maxProperties: 256, propertyNames: { pattern: ID_PATTERN }, additionalProperties: item }) as const;

/** JSON Schema of the properties of a `ReadingConfig`. */
export const READING_PROPERTIES = {
  title: { ...TITLE, description: 'What people call the reading' },
  kind: { type: 'string', pattern: ID_PATTERN, description: 'What is measured, such as temperature or humidity' },
  factor: { type: 'number', minimum: -1e9, maximum: 1e9, default: 1, description: 'Calibration: value × factor + offset' },
  offset: { type: 'number', minimum: -1e9, maximum: 1e9, default: 0, description: 'Calibration: value × factor + offset' },
} as const;

const READING = optionalSection(READING_PROPERTIES);

/** The owner's settings for a reading. */
export type ReadingConfig = Settings<typeof READING>;

/** JSON Schema of `sensors.devices`. */
export const BOARD_DEVICES = mapOf(
  optionalSection(
    {
      source: {
        type: 'string',
        pattern: '^(?:w1|iio|hwmon|thermal|gpio):\\S.{0,199}$',
        description: 'Address of a chip or of one of its channels, such as w1:28-000005e2fdc3, iio:bme280@1-0076 or gpio:power_meter',
      },
      title: { ...TITLE, description: 'What people call the device' },
      area: { ...TITLE, description: 'Where it is, such as Garden' },
      poll_seconds: { type: 'number', minimum: 1, maximum: 86_400, description: 'How often it is read, where not as often as the others' },
      readings: mapOf(READING),
    },
    ['source'],
  ),
);

/** The owner's settings for a chip and for its readings, which have names such as `temperature`. */
export type BoardDeviceConfig = Settings<typeof BOARD_DEVICES>[string];
