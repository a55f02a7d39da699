import { quoted } from '../../core/foreign-text.ts';
import { defineTool } from '../../tools/definition/define-tool.ts';
import type { RegisteredTool } from '../../tools/definition/tool-definition.ts';
import { p } from '../../tools/schema/parameter-builder.ts';
import type { GpioOutputConfig } from './gpio-config.ts';
import type { OutputLine } from './output-line.ts';

const LONGEST_PULSE_MS = 10_000;
/** Over the longest pulse: a call that waits for nothing else. */
const TIMEOUT_MS = 15_000;

const RETURNS = {
  type: 'object',
  required: ['output', 'is_on'],
  additionalProperties: false,
  properties: { output: { type: 'string' }, is_on: { type: 'boolean', description: 'State after the call, as the chip tells it' } },
};

/**
 * `gpio:<name>_turn_on`, `_turn_off` and `_pulse`; what leads away from a dangerous output's safe state needs an approval. `area` of
 * the configuration is what the room is called today.
 */
export function outputTools(line: OutputLine, config: GpioOutputConfig): readonly RegisteredTool[] {
  return [setTool(line, config, 'on'), setTool(line, config, 'off'), pulseTool(line, config)].map((tool) => ({
    ...tool,
    isAvailable: () => line.problem === undefined,
  }));
}

function setTool(line: OutputLine, config: GpioOutputConfig, state: 'on' | 'off'): RegisteredTool {
  const isSafe = state === config.safe;
  const isOn = state === 'on';
  return defineTool(
    {
      ...common(line, config, { isOn, isSafe }),
      name: `${line.name}_turn_${state}`,
      title: `Turn ${quoted(line.sensor.title)} ${state}`,
      description: `Turns ${described(line, config)}, an output of this hub's board, ${state}.${isSafe ? ' This is its safe state.' : ''}`,
      isIdempotent: true,
      parameters: {
        ...(!isSafe && {
          for_seconds: p
            .number({
              description: 'Goes back to its safe state after this time; stays when absent',
              minimum: 0.05,
              maximum: 86_400,
              unit: 's',
            })
            .optional(),
        }),
      },
      examples: [{ description: `Turn it ${state}`, params: {} }],
    },
    async ({ for_seconds: seconds }) => {
      line.set(isOn, seconds);
      return { output: line.name, is_on: line.isOn() };
    },
  );
}

function pulseTool(line: OutputLine, config: GpioOutputConfig): RegisteredTool {
  const isOn = config.safe === 'off';
  return defineTool(
    {
      ...common(line, config, { isOn, isSafe: false }),
      name: `${line.name}_pulse`,
      title: `Pulse ${quoted(line.sensor.title)}`,
      description:
        `Turns ${described(line, config)}, an output of this hub's board, ${isOn ? 'on' : 'off'} for a moment and back again, as one presses ` +
        'a button. Use it for door openers and impulse relays.',
      isIdempotent: false,
      parameters: {
        duration_ms: p.integer({ description: 'How long', minimum: 10, maximum: LONGEST_PULSE_MS, default: 500, unit: 'ms' }),
      },
      examples: [{ description: 'Press it for half a second', params: { duration_ms: 500 } }],
    },
    async ({ duration_ms: durationMs }, { signal }) => {
      await line.pulse(durationMs, signal);
      return { output: line.name, is_on: line.isOn() };
    },
  );
}

function common(
  line: OutputLine,
  { risk, area }: GpioOutputConfig,
  { isOn, isSafe }: { readonly isOn: boolean; readonly isSafe: boolean },
) {
  const permission = `device:control:${line.name}`;
  const isDangerous = risk === 'dangerous' && !isSafe;
  return {
    namespace: 'gpio',
    category: 'acting',
    permissions: [permission],
    hasSideEffects: true,
    isDangerous,
    timeoutMs: TIMEOUT_MS,
    preferLocal: true,
    tags: ['gpio', 'output'],
    ...(area !== undefined && { area }),
    returns: RETURNS,
    effects: () => [{ permission, risk: isDangerous ? 'dangerous' : 'low', target: `gpio/${line.name}`, values: { is_on: isOn } }] as const,
  } as const;
}

function described({ name, sensor: { title } }: OutputLine, { area }: GpioOutputConfig): string {
  return `${quoted(title)} (${name})${area === undefined ? '' : ` in ${quoted(area)}`}`;
}
