import { type Clock, pause } from '../../core/clock.ts';
import { GPIO_DEVICE, gpioIds } from '../../core/devices/gpio-ids.ts';
import { AtmoError } from '../../core/errors.ts';
import { quoted } from '../../core/untrusted-text.ts';
import { defineTool, p } from '../../tools/definition/define-tool.ts';
import type { RegisteredTool } from '../../tools/definition/tool-definition.ts';
import { type GpioChip, GpioLine, type GpioOutput, offsetOf } from './gpio-chip.ts';
import type { GpioOutputConfig } from './gpio-config.ts';

/** An output that tools set. It returns to its safe state when the hub stops, or after its time limit. */
export class OutputLine extends GpioLine<GpioOutput> {
  readonly #clock: Clock;
  readonly #config: GpioOutputConfig;
  #isFirst = true;
  /** Whether the output returns to its safe state by itself. */
  #isTimed = false;
  /** Aborts the timer or pulse that the last change of the output started. */
  #turn = new AbortController();

  constructor(clock: Clock, name: string, config: GpioOutputConfig) {
    super(name, { ...config, kind: 'switch', unit: '' });
    this.#clock = clock;
    this.#config = config;
  }

  override detach(problem: string): void {
    this.makeSafe();
    super.detach(problem);
  }

  /** Requests the line. The first request sets the initial state. A later request, after the chip was missing, sets the safe state. */
  protected take(chip: GpioChip): GpioOutput {
    const { line, activeLow: isActiveLow, initial, safe } = this.#config;
    const state = this.#isFirst ? (initial ?? safe) : safe;
    const output = chip.requestOutput({ offset: offsetOf(chip, line), isActiveLow, isActive: state === 'on' });
    this.#isFirst = false;
    if (state !== safe) this.#limit(undefined);
    return output;
  }

  /** Sets the safe state synchronously, and never throws. */
  makeSafe(): void {
    this.#turn.abort();
    try {
      this.held?.set(this.#config.safe === 'on');
    } catch {
      // The chip is lost, so it drives no output.
    }
  }

  /**
   * Sets the output. With `seconds`, the output returns to the safe state after that time. Cancels the timer or pulse of an earlier call.
   * Throws DEVICE_UNREACHABLE while the chip is missing.
   */
  set(isOn: boolean, seconds?: number): void {
    const output = this.#taken();
    this.#turn.abort();
    output.set(isOn);
    this.emit();
    if (isOn !== this.#isSafeOn) this.#limit(seconds);
  }

  /** Leaves the safe state for `durationMs`. An abort ends this early and rejects. Returns false if another call changes the output. */
  async pulse(durationMs: number, signal: AbortSignal): Promise<boolean> {
    this.set(!this.#isSafeOn);
    const turn = this.#turn.signal;
    await pause(this.#clock, durationMs, AbortSignal.any([turn, signal]));
    if (turn.aborted) return false;
    this.set(this.#isSafeOn);
    signal.throwIfAborted();
    return true;
  }

  isOn(): boolean {
    return this.#taken().isActive();
  }

  /** Returns the state if it stays; null if the output returns to its safe state by itself; undefined while the chip is missing. */
  lastingState(): 'on' | 'off' | null | undefined {
    if (!this.held) return undefined;
    const isOn = this.held.isActive();
    if (isOn !== this.#isSafeOn && this.#isTimed) return null;
    return isOn ? 'on' : 'off';
  }

  get #isSafeOn(): boolean {
    return this.#config.safe === 'on';
  }

  /** Starts the timer that returns the output to its safe state, after `seconds` or the configured maximum, whichever is shorter. */
  #limit(seconds = Number.POSITIVE_INFINITY): void {
    const turn = new AbortController();
    this.#turn = turn;
    const limitMs = Math.min(seconds, this.#config.maxSeconds ?? Number.POSITIVE_INFINITY) * 1000;
    this.#isTimed = limitMs !== Number.POSITIVE_INFINITY;
    if (!this.#isTimed) return;
    const cancel = this.#clock.after(limitMs, () => {
      this.makeSafe();
      this.emit();
    });
    turn.signal.addEventListener('abort', cancel, { once: true });
  }

  #taken(): GpioOutput {
    if (this.held) return this.held;
    throw new AtmoError('DEVICE_UNREACHABLE', `The output ${this.name} cannot be reached: ${this.problem}`, { output: this.name });
  }
}

const LONGEST_PULSE_MS = 10_000;
/** Time limit of a call in milliseconds. A call waits only for its pulse, and the longest pulse is shorter than this limit. */
const TIMEOUT_MS = 15_000;

const RETURNS = {
  type: 'object',
  required: ['output', 'is_on'],
  additionalProperties: false,
  properties: { output: { type: 'string' }, is_on: { type: 'boolean', description: 'State after the call, as the chip tells it' } },
};

/**
 * Returns `gpio:<name>_turn_on`, `gpio:<name>_turn_off` and `gpio:<name>_pulse`. If the output is dangerous, a call that leaves the safe
 * state needs an approval. `config.area` must be the current name of the area.
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
      name: gpioIds(line.name).toolName(`turn_${state}`),
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
      restorable: () => ({
        path: `gpio/${line.name}`,
        now: () => line.lastingState(),
        restore: (before) => (before === null ? undefined : { tool: `gpio:${gpioIds(line.name).toolName(`turn_${before}`)}`, params: {} }),
      }),
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
      name: gpioIds(line.name).toolName('pulse'),
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
  const { permission, sensor } = gpioIds(line.name);
  const isDangerous = risk === 'dangerous' && !isSafe;
  return {
    namespace: GPIO_DEVICE,
    category: 'acting',
    permissions: [permission],
    hasSideEffects: true,
    isDangerous,
    timeoutMs: TIMEOUT_MS,
    preferLocal: true,
    tags: ['gpio', 'output'],
    ...(area !== undefined && { area }),
    returns: RETURNS,
    effects: () => [{ permission, risk: isDangerous ? 'dangerous' : 'low', target: sensor, values: { is_on: isOn } }] as const,
  } as const;
}

function described({ name, sensor: { title } }: OutputLine, { area }: GpioOutputConfig): string {
  return `${quoted(title)} (${name})${area === undefined ? '' : ` in ${quoted(area)}`}`;
}
