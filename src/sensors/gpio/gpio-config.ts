import { AtmoError } from '../../core/errors.ts';
import { optionalSection } from '../../core/settings/config-section.ts';
import { ID_PATTERN, TITLE, UNIT } from '../device-config.ts';
import { GPIO_BIASES, GPIO_EDGES, type GpioBias, type GpioEdgeSelection } from './gpio-chip.ts';

/** What every line has, whichever way it points. */
interface LineConfig {
  /** Offset within the chip, or the board's name for the line such as `GPIO17`. */
  readonly line: number | string;
  readonly activeLow: boolean;
  readonly title?: string;
  readonly area?: string;
}

/** A line that the hub reads. */
export interface GpioInputConfig extends LineConfig {
  readonly bias: GpioBias;
  readonly debounceMs: number;
  /** What is told, and what a meter counts; both for a state, `rising` for a meter. */
  readonly edge?: GpioEdgeSelection;
  readonly kind: string;
  /** Pulses of a meter for one of `unit`; absent for a line that is a state. */
  readonly countsPerUnit?: number;
  readonly unit: string;
}

export type GpioState = 'on' | 'off';

/** A line that the hub sets. */
export interface GpioOutputConfig extends LineConfig {
  /** `dangerous`: what leads away from the safe state needs the approval of a person. */
  readonly risk: 'normal' | 'dangerous';
  /** From the start of the hub on; the safe state when absent. */
  readonly initial?: GpioState;
  /** When the hub stops, and whenever it cannot know better. */
  readonly safe: GpioState;
  /** The longest time away from the safe state. */
  readonly maxSeconds?: number;
}

/** Lines of one chip by the names that people and tools use. */
export interface GpioConfig {
  readonly backend: 'chardev' | 'sysfs' | 'sim';
  /** Label, name or path; the chip of the board's header when absent. */
  readonly chip?: string;
  readonly inputs: Readonly<Record<string, GpioInputConfig>>;
  readonly outputs: Readonly<Record<string, GpioOutputConfig>>;
}

const STATES = ['on', 'off'];
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
    edge: { enum: GPIO_EDGES, description: 'Which changes are told, or counted' },
    kind: { type: 'string', pattern: ID_PATTERN, default: 'input', description: 'What it tells: contact, occupancy, leak, energy …' },
    counts_per_unit: { type: 'number', exclusiveMinimum: 0, maximum: 1e9, description: 'Pulses of a meter for one of its unit' },
    unit: { ...UNIT, default: '', description: 'Unit of the meter, such as kWh' },
  },
  ['line'],
);

const OUTPUT = optionalSection(
  {
    ...LINE,
    risk: { enum: ['normal', 'dangerous'], default: 'normal', description: 'dangerous: a person has to approve' },
    initial: { enum: STATES, description: 'State at the start; the safe one when absent' },
    safe: { enum: STATES, default: 'off', description: 'State when the hub stops' },
    max_seconds: { type: 'number', minimum: 1, maximum: 86_400, description: 'Longest time away from the safe state' },
  },
  ['line'],
);

/** Names are parts of tools' names, such as `pump` of `gpio:pump_turn_on`. */
const namedLines = (line: object) =>
  ({
    type: 'object',
    default: {},
    maxProperties: 64,
    propertyNames: { pattern: '^[a-z][a-z0-9_]{0,39}$' },
    additionalProperties: line,
  }) as const;

/** JSON Schema of `sensors.gpio` in the configuration file. */
export const GPIO_SECTION = optionalSection({
  backend: { enum: ['chardev', 'sysfs', 'sim'], default: 'chardev', description: "The kernel's interface; sim: none at all" },
  chip: { type: 'string', minLength: 1, maxLength: 64, description: 'Label such as pinctrl-rp1, or path such as /dev/gpiochip0' },
  inputs: namedLines(INPUT),
  outputs: namedLines(OUTPUT),
});

/** CONFIG_INVALID for lines that contradict each other, which no schema can say. */
export function checkGpioConfig({ inputs, outputs }: GpioConfig): void {
  const seen = new Map<number | string, string>();
  const entries = [...named('inputs', inputs), ...named('outputs', outputs)];
  for (const { path, name, line } of entries) {
    const other = seen.get(line);
    if (other !== undefined) throw invalid(`${path} and ${other} are both line ${line}`);
    seen.set(line, path);
    if (path.startsWith('sensors.gpio.outputs') && name in inputs) throw invalid(`${name} is in inputs and in outputs; names are unique`);
  }
  for (const [name, { countsPerUnit, edge }] of Object.entries(inputs)) {
    if (countsPerUnit !== undefined && edge === 'both') {
      throw invalid(`sensors.gpio.inputs.${name}: edge: both would count each pulse twice; set rising or falling`);
    }
  }
}

function named(part: string, lines: Readonly<Record<string, LineConfig>>) {
  return Object.entries(lines).map(([name, { line }]) => ({ path: `sensors.gpio.${part}.${name}`, name, line }));
}

function invalid(message: string): AtmoError {
  return new AtmoError('CONFIG_INVALID', message);
}
