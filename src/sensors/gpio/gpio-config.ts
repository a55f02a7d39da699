import { optionalSection, type Settings } from '../../core/config/config-section.ts';
import { invalidConfig } from '../../core/errors.ts';
import type { JsonSchema } from '../../core/json.ts';
import { ID_PATTERN, mapOf, TITLE, UNIT } from '../device-config.ts';
import { GPIO_BIASES, GPIO_EDGES } from './gpio-chip.ts';

const STATES = ['on', 'off'] as const;

const LINE = {
  line: {
    type: ['integer', 'string'],
    minimum: 0,
    maximum: 1023,
    minLength: 1,
    maxLength: 31,
    description: "Offset within the chip, or the board's name for it such as GPIO17",
  },
  active_low: { type: 'boolean', default: false, description: 'On without voltage' },
  title: { ...TITLE, description: 'What people call it' },
  area: { ...TITLE, description: 'Where it is, such as Garden' },
} as const;

const INPUT = optionalSection(
  {
    ...LINE,
    bias: { enum: GPIO_BIASES, default: 'as-is', description: 'What holds the line that nobody drives' },
    debounce_ms: { type: 'number', minimum: 0, maximum: 60_000, default: 0, description: 'How long a new state has to last' },
    edge: { enum: GPIO_EDGES, description: 'Which changes are told, or counted; both for a state, rising for a meter when absent' },
    kind: { type: 'string', pattern: ID_PATTERN, default: 'input', description: 'What it tells: contact, occupancy, leak, energy …' },
    counts_per_unit: { type: 'number', exclusiveMinimum: 0, maximum: 1e9, description: 'Pulses of a meter for one of its unit' },
    unit: { ...UNIT, default: '', description: 'Unit of the meter, such as kWh' },
  },
  ['line'],
);

const OUTPUT = optionalSection(
  {
    ...LINE,
    risk: {
      enum: ['normal', 'dangerous'],
      default: 'normal',
      description: 'dangerous: a person has to approve what leads away from the safe state',
    },
    initial: { enum: STATES, description: 'State at the start; the safe one when absent' },
    safe: { enum: STATES, default: 'off', description: 'State when the hub stops, and whenever it cannot know better' },
    max_seconds: { type: 'number', minimum: 1, maximum: 86_400, description: 'Longest time away from the safe state' },
  },
  ['line'],
);

/** Returns the schema of named lines; a name is a part of tool names, such as `pump` in `gpio:pump_turn_on`. */
const namedLines = <const Line extends JsonSchema>(line: Line) =>
  ({ ...mapOf(line), maxProperties: 64, propertyNames: { pattern: '^[a-z][a-z0-9_]{0,39}$' } }) as const;

/** JSON Schema of `sensors.gpio` in the configuration file. */
export const GPIO_SECTION = optionalSection({
  backend: { enum: ['chardev', 'sysfs', 'sim'], default: 'chardev', description: "The kernel's interface; sim: none at all" },
  chip: { type: 'string', minLength: 1, maxLength: 64, description: 'Label such as pinctrl-rp1, or path such as /dev/gpiochip0' },
  inputs: namedLines(INPUT),
  outputs: namedLines(OUTPUT),
});

/** A line that the hub reads. */
export type GpioInputConfig = Settings<typeof INPUT>;

/** A line that the hub sets. */
export type GpioOutputConfig = Settings<typeof OUTPUT>;

/** Lines of one chip, by the names that people and tools use. */
export type GpioConfig = Settings<typeof GPIO_SECTION>;

/** Throws CONFIG_INVALID for contradictions that the schema cannot express, such as two names for one line. */
export function checkGpioConfig({ inputs, outputs }: GpioConfig): void {
  const seen = new Map<number | string, string>();
  const entries = [...named('inputs', inputs), ...named('outputs', outputs)];
  for (const { path, name, line } of entries) {
    const other = seen.get(line);
    if (other !== undefined) throw invalidConfig(`${path} and ${other} are both line ${line}`);
    seen.set(line, path);
    if (path.startsWith('sensors.gpio.outputs') && name in inputs)
      throw invalidConfig(`${name} is in inputs and in outputs; names are unique`);
  }
  for (const [name, { countsPerUnit, edge }] of Object.entries(inputs)) {
    if (countsPerUnit !== undefined && edge === 'both') {
      throw invalidConfig(`sensors.gpio.inputs.${name}: edge: both would count each pulse twice; set rising or falling`);
    }
  }
}

function named(part: string, lines: Readonly<Record<string, Pick<GpioInputConfig, 'line'>>>) {
  return Object.entries(lines).map(([name, { line }]) => ({ path: `sensors.gpio.${part}.${name}`, name, line }));
}
