import { optionalSection, type Settings, section } from '../core/config/config-section.ts';
import { BOARD_DEVICES, mapOf, READING_PROPERTIES, TITLE, UNIT } from './device-config.ts';
import { GPIO_SECTION } from './gpio/gpio-config.ts';

/** Formats of an instrument's lines: JSON objects, `key=value` pairs, or text for a regular expression with named groups. */
const LINE_FORMATS = ['json', 'pairs', 'pattern'] as const;

const BAUDS = [300, 600, 1200, 2400, 4800, 9600, 19_200, 38_400, 57_600, 115_200, 230_400, 460_800, 921_600] as const;
const PARITIES = ['none', 'even', 'odd'] as const;

const SERIAL_READING = optionalSection({
  ...READING_PROPERTIES,
  field: {
    type: 'string',
    minLength: 1,
    maxLength: 200,
    description: 'Its key in the line, in JSON with dots; the name of the reading when absent',
  },
  unit: { ...UNIT, default: '', description: 'Unit in which the instrument speaks, such as °F; common ones are converted' },
});

/** JSON Schema of `sensors.serial`. */
const SERIAL_PORTS = mapOf(
  optionalSection(
    {
      path: { type: 'string', pattern: '^/dev/\\S{1,200}$', description: 'The port, best by a name that stays: /dev/serial/by-id/…' },
      baud: { enum: BAUDS, default: 9600, description: 'Speed' },
      parity: { enum: PARITIES, default: 'none', description: 'Check bit' },
      data_bits: { enum: [7, 8], default: 8, description: 'Bits of a character' },
      stop_bits: { enum: [1, 2], default: 1, description: 'Stop bits' },
      format: { enum: LINE_FORMATS, default: 'json', description: 'What a line is' },
      pattern: {
        type: 'string',
        minLength: 1,
        maxLength: 500,
        description: 'For format pattern: a regular expression with named groups',
      },
      title: { ...TITLE, description: 'What people call the instrument' },
      area: { ...TITLE, description: 'Where it is' },
      silent_after_seconds: {
        type: 'integer',
        minimum: 1,
        maximum: 86_400,
        default: 300,
        description: 'Without a line for so long it counts as silent',
      },
      readings: { ...mapOf(SERIAL_READING), minProperties: 1 },
    },
    ['path', 'readings'],
  ),
);

/** The owner's settings for a value in an instrument's lines. */
export type SerialReadingConfig = Settings<typeof SERIAL_READING>;

/** The settings of an instrument that sends lines of text, with its readings by name. */
export type SerialPortConfig = Settings<typeof SERIAL_PORTS>[string];

/** JSON Schema of `sensors` in the configuration file. */
export const SENSORS_SECTION = section({
  discover: { type: 'boolean', default: true, description: 'Lists what the kernel has and no entry below names' },
  poll_seconds: { type: 'number', minimum: 1, maximum: 86_400, default: 30, description: 'How often sensors are read' },
  sysfs: { type: 'string', pattern: '^/.*[^/]$', default: '/sys', description: 'Where the kernel shows its sensors' },
  devices: BOARD_DEVICES,
  serial: SERIAL_PORTS,
  gpio: GPIO_SECTION,
});

/** The board's own sensors and outputs; the keys of the maps are device ids. */
export type SensorsConfig = Settings<typeof SENSORS_SECTION>;

/** Returns the areas in the configuration, each with its key, such as `sensors.devices.shed.area`. */
export function configuredAreas({ devices, serial, gpio }: SensorsConfig): readonly { readonly key: string; readonly area: string }[] {
  const sections = { devices, serial, 'gpio.inputs': gpio?.inputs ?? {}, 'gpio.outputs': gpio?.outputs ?? {} };
  return Object.entries(sections).flatMap(([section, entries]) =>
    Object.entries(entries).flatMap(([name, { area }]) => (area === undefined ? [] : [{ key: `sensors.${section}.${name}.area`, area }])),
  );
}
