import type { EventBus } from '../../core/events.ts';
import type { Logger } from '../../core/logger.ts';
import type { Service } from '../../core/service.ts';
import { attemptWrite } from '../../core/storage/durable-file.ts';
import type { KeyValueStore } from '../../core/storage/key-value-store.ts';
import type { Clock } from '../../core/time/clock.ts';
import { repeat } from '../../core/time/repeat.ts';
import type { FoundSensor, ReadRequest, SampleListener, SensorSource } from '../sensor-source.ts';
import type { GpioChip } from './gpio-chip.ts';
import type { GpioConfig, GpioInputConfig } from './gpio-config.ts';
import { GPIO_DEVICE, type GpioLine, problemOf } from './gpio-line.ts';
import { OutputLine } from './output-line.ts';
import { PulseInput } from './pulse-input.ts';
import { StateInput } from './state-input.ts';

/** A chip that is not there may come, such as one of an expander. */
const RETRY_MS = 30_000;
/** What a cut of power may cost a meter; more often would wear the card. */
const SAVE_MS = 300_000;
/** About one line people hear once in this time. */
const WARNING_MS = 600_000;

/** What the lines of a board are made from. */
export interface GpioPorts {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly events: EventBus;
  readonly store: KeyValueStore;
  readonly openChip: () => Promise<GpioChip>;
  /** Calls back when the process ends in whatever way it can still run code; the answer stops it. */
  readonly onExit: (callback: () => void) => () => void;
}

/** The named lines of the board's chip: sensors that are read, outputs that are set and left safe. */
export class GpioBoard implements Service, SensorSource {
  readonly name = GPIO_DEVICE;
  readonly outputs: readonly OutputLine[];
  readonly #ports: GpioPorts;
  readonly #lines: ReadonlyMap<string, GpioLine>;
  readonly #meters: readonly PulseInput[];
  readonly #warnedMs = new Map<string, number>();
  #chip: GpioChip | undefined;
  #problem = '';
  #stops: (() => void)[] = [];
  #attaching: Promise<void> = Promise.resolve();

  constructor(ports: GpioPorts, { inputs, outputs }: GpioConfig) {
    this.#ports = ports;
    const warn = (event: string, line: string, message: string) => this.#warn(event, line, message);
    const states = Object.entries(inputs).filter(([, config]) => !isMeter(config));
    this.#meters = Object.entries(inputs).flatMap(([name, config]) => (isMeter(config) ? [new PulseInput(ports, name, config)] : []));
    this.outputs = Object.entries(outputs).map(([name, config]) => new OutputLine(ports.clock, name, config));
    const inputLines = states.map(([name, config]) => new StateInput({ clock: ports.clock, warn }, name, config));
    this.#lines = new Map([...inputLines, ...this.#meters, ...this.outputs].map((line) => [line.sensor.address, line]));
  }

  /** A chip or a line that cannot be had is told, and tried again: the rest of the hub works without. */
  async start(): Promise<void> {
    const { clock, onExit } = this.#ports;
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

  async read({ addresses, signal }: ReadRequest, hear: SampleListener): Promise<void> {
    for (const address of addresses) {
      if (signal.aborted) return;
      hear(this.#lines.get(address)?.sample() ?? { address, fault: 'gone', detail: 'the configuration has no such line' });
    }
  }

  listen(hear: SampleListener): () => void {
    const stops = [...this.#lines.values()].map((line) => line.listen(hear));
    return () => {
      for (const stop of stops) stop();
    };
  }

  async #attach(): Promise<void> {
    try {
      this.#dropLostChip();
      this.#chip ??= await this.#ports.openChip();
    } catch (error) {
      this.#chipIsAway(problemOf(error));
      return;
    }
    const chip = this.#chip;
    this.#problem = '';
    for (const line of this.#lines.values()) {
      line.attach(chip);
      if (line.problem !== undefined) this.#warn('gpio.line_unusable', line.name, `${line.name}: ${line.problem}`);
    }
  }

  /** A chip that was unplugged answers nothing; its successor is another file. */
  #dropLostChip(): void {
    try {
      this.#chip?.lines();
    } catch (error) {
      this.#detach(problemOf(error));
      throw error;
    }
  }

  #chipIsAway(problem: string): void {
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
        (problem) => this.#ports.logger.error('gpio.count_not_kept', { line: meter.name, problem }),
      );
    }
  }

  #warn(event: string, line: string, message: string): void {
    const { clock, logger, events } = this.#ports;
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
