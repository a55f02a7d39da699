import { type Clock, repeat } from '../../core/clock.ts';
import type { HubContext } from '../../core/context.ts';
import type { AreaChanges } from '../../core/devices/device-names.ts';
import { GPIO_DEVICE } from '../../core/devices/gpio-ids.ts';
import { attemptWrite } from '../../core/files/file-system.ts';
import type { Service } from '../../core/lifecycle.ts';
import type { RegisteredTool } from '../../tools/definition/tool-definition.ts';
import type { FoundSensor, ReadRequest, SampleListener, SensorSource } from '../sensor-source.ts';
import { type GpioChip, type GpioLine, offsetOf, problemOf } from './gpio-chip.ts';
import { checkGpioConfig, type GpioConfig, type GpioInputConfig } from './gpio-config.ts';
import { PulseInput, StateInput } from './gpio-inputs.ts';
import { OutputLine, outputTools } from './gpio-outputs.ts';

/** Collaborators of the board. `openChip` and `onExit` have defaults, which tests replace. */
type GpioCollaborators = Omit<GpioBoardCollaborators, 'openChip' | 'onExit'> & Partial<Pick<GpioBoardCollaborators, 'openChip' | 'onExit'>>;

/** The configured lines of a board. */
export interface OpenGpio {
  /** When it starts, requests the lines. When it ends, sets the outputs to their safe state. Must start before `source` is read. */
  readonly service: Service;
  readonly source: SensorSource;
  /** Returns the tools of the outputs, with the current names of their areas. */
  readonly tools: (areas: Pick<AreaChanges, 'areaToday'>) => readonly RegisteredTool[];
}

/** Returns the configured lines. The service opens their chip later. Throws CONFIG_INVALID if lines contradict each other. */
export function openGpio(parts: GpioCollaborators, config: GpioConfig): OpenGpio {
  checkGpioConfig(config);
  const { clock, logger, events, store, onExit = onProcessExit } = parts;
  const open = parts.openChip ?? (() => openChip(clock, config));
  const board = new GpioBoard({ openChip: open, onExit, clock, logger, events, store }, config);
  const tools = (areas: Pick<AreaChanges, 'areaToday'>) =>
    board.outputs.flatMap((line) => {
      const settings = config.outputs[line.name];
      if (!settings) return [];
      return outputTools(line, settings.area === undefined ? settings : { ...settings, area: areas.areaToday(settings.area) });
    });
  return { service: board, source: board, tools };
}

/** Opens the configured chip, and loads only its backend. Rejects with NOT_FOUND (no such chip) or NOT_CONFIGURED (package missing). */
export async function openChip(clock: Clock, { backend, chip, inputs, outputs }: GpioConfig): Promise<GpioChip> {
  if (backend === 'sim') {
    const { SimulatedChip } = await import('./simulated-chip.ts');
    const names = [...Object.values(inputs), ...Object.values(outputs)].flatMap(({ line }) => (typeof line === 'string' ? [line] : []));
    const offsets = Array.from({ length: 64 }, (_, offset) => `GPIO${offset}`);
    return new SimulatedChip(clock, { names: [...offsets, ...names.filter((name) => !offsets.includes(name))] });
  }
  if (backend === 'sysfs') {
    const { loadOnoff, SysfsChip } = await import('./sysfs-chip.ts');
    return new SysfsChip(await loadOnoff(), chip);
  }
  const [{ linuxGpioKernel }, { findChip }] = await Promise.all([import('./gpio-kernel.ts'), import('./chardev-chip.ts')]);
  return findChip(chip, { kernel: linuxGpioKernel });
}

/** Calls `callback` when the process ends, even after an uncaught exception, but not after SIGKILL. */
function onProcessExit(callback: () => void): () => void {
  process.on('exit', callback);
  return () => process.off('exit', callback);
}

/** Pause in milliseconds between attempts to get a missing chip or line. Some chips, such as expanders, are connected later. */
const RETRY_MS = 30_000;
/** Interval in milliseconds at which meter counts are saved. A power cut loses at most one interval. More writes wear out the SD card. */
const SAVE_MS = 300_000;
/** Minimum time in milliseconds between two warnings of the same kind about the same line. */
const WARNING_MS = 600_000;

interface GpioBoardCollaborators extends Pick<HubContext, 'clock' | 'logger' | 'events' | 'store'> {
  readonly openChip: () => Promise<GpioChip>;
  /** Calls `callback` at the end of the process, while code can still run. The returned function removes the callback. */
  readonly onExit: (callback: () => void) => () => void;
}

/** The named lines of a chip. Reads the inputs, and sets the outputs. At the end, leaves the outputs in their safe state. */
class GpioBoard implements Service, SensorSource {
  readonly name = GPIO_DEVICE;
  readonly outputs: readonly OutputLine[];
  readonly #parts: GpioBoardCollaborators;
  readonly #lines: ReadonlyMap<string, GpioLine>;
  readonly #meters: readonly PulseInput[];
  readonly #warnedMs = new Map<string, number>();
  #chip: GpioChip | undefined;
  #problem = '';
  #stops: (() => void)[] = [];
  #attaching: Promise<void> = Promise.resolve();

  constructor(parts: GpioBoardCollaborators, { inputs, outputs }: GpioConfig) {
    this.#parts = parts;
    const { clock } = parts;
    const warn = (event: string, line: string, message: string) => this.#warn(event, line, message);
    const states = Object.entries(inputs).filter(([, config]) => !isMeter(config));
    this.#meters = Object.entries(inputs).flatMap(([name, config]) => (isMeter(config) ? [new PulseInput(parts, name, config)] : []));
    this.outputs = Object.entries(outputs).map(([name, config]) => new OutputLine(clock, name, config));
    const inputLines = states.map(([name, config]) => new StateInput({ clock, warn }, name, config));
    this.#lines = new Map([...inputLines, ...this.#meters, ...this.outputs].map((line) => [line.sensor.address, line]));
  }

  /** Requests the lines. If the chip or a line is missing, warns, works without it and tries again later; the start does not fail. */
  async start(): Promise<void> {
    const { clock, onExit } = this.#parts;
    await this.#attach();
    this.#stops = [
      onExit(() => this.#makeSafe()),
      repeat(clock, RETRY_MS, () => {
        this.#attaching = this.#attaching.then(() => this.#attach());
      }),
      repeat(clock, SAVE_MS, () => this.#saveMeters()),
    ];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const stop of this.#stops.splice(0)) stop();
    await this.#attaching;
    this.#detach('the hub stops');
  }

  async find(): Promise<readonly FoundSensor[]> {
    return [...this.#lines.values()].map(({ sensor }) => sensor);
  }

  async read({ addresses, signal }: ReadRequest, onSample: SampleListener): Promise<void> {
    for (const address of addresses) {
      if (signal.aborted) return;
      onSample(this.#lines.get(address)?.sample() ?? { address, fault: 'gone', detail: 'the configuration has no such line' });
    }
  }

  listen(onSample: SampleListener): () => void {
    const stops = [...this.#lines.values()].map((line) => line.listen(onSample));
    return () => {
      for (const stop of stops) stop();
    };
  }

  async #attach(): Promise<void> {
    try {
      this.#dropLostChip();
      this.#chip ??= await this.#parts.openChip();
    } catch (error) {
      this.#onChipMissing(problemOf(error));
      return;
    }
    const chip = this.#chip;
    this.#problem = '';
    for (const line of this.#lines.values()) {
      line.attach(chip);
      if (line.problem !== undefined) this.#warn('gpio.line_unusable', line.name, `${line.name}: ${line.problem}`);
    }
  }

  /** Closes the chip and throws if the chip was unplugged. Its open file stays unusable, even if the chip is plugged in again. */
  #dropLostChip(): void {
    try {
      this.#chip?.lines();
    } catch (error) {
      this.#detach(problemOf(error));
      throw error;
    }
  }

  #onChipMissing(problem: string): void {
    this.#detach(problem);
    if (problem !== this.#problem) this.#warn('gpio.chip_unusable', GPIO_DEVICE, problem);
    this.#problem = problem;
  }

  #detach(problem: string): void {
    for (const line of this.#lines.values()) line.detach(problem);
    this.#chip?.[Symbol.dispose]();
    this.#chip = undefined;
  }

  #makeSafe(): void {
    for (const output of this.outputs) output.makeSafe();
    this.#saveMeters();
  }

  #saveMeters(): void {
    for (const meter of this.#meters) {
      attemptWrite(
        () => meter.save(),
        (problem) => this.#parts.logger.error('gpio.count_not_kept', { line: meter.name, problem }),
      );
    }
  }

  #warn(event: string, line: string, message: string): void {
    const { clock, logger, events } = this.#parts;
    const key = `${event} ${line}`;
    const lastMs = this.#warnedMs.get(key);
    if (lastMs !== undefined && clock.monotonic() - lastMs < WARNING_MS) return;
    this.#warnedMs.set(key, clock.monotonic());
    logger.warn(event, { line, message });
    events.emit('hub.warning', line, { warning: event, message });
  }
}

function isMeter(config: GpioInputConfig): config is GpioInputConfig & { readonly countsPerUnit: number } {
  return config.countsPerUnit !== undefined;
}

/** The result of `makeOutputsSafe`, with one text for people about each output. */
export interface SafeOutputs {
  /** Outputs in their safe state, such as `garden_pump off`. */
  readonly safe: readonly string[];
  /** Outputs that could not be set, with the reason. */
  readonly missed: readonly string[];
}

/** Sets each output to its safe state and releases its line. Skips a line that another program uses. Never throws. */
export function makeOutputsSafe(chip: GpioChip, outputs: GpioConfig['outputs']): SafeOutputs {
  const [safe, missed]: [string[], string[]] = [[], []];
  for (const [name, { line, activeLow: isActiveLow, safe: state }] of Object.entries(outputs)) {
    try {
      chip.requestOutput({ offset: offsetOf(chip, line), isActiveLow, isActive: state === 'on' })[Symbol.dispose]();
      safe.push(`${name} ${state}`);
    } catch (error) {
      missed.push(`${name} (${problemOf(error)})`);
    }
  }
  return { safe, missed };
}
