import type { Logger } from '../core/logger.ts';
import type { Service } from '../core/service.ts';
import type { Clock } from '../core/time/clock.ts';
import { pause } from '../core/time/pause.ts';
import type { SensorsConfig } from './sensor-config.ts';
import type { SensorFeed } from './sensor-feed.ts';
import { type BoardSensor, rosterOf } from './sensor-roster.ts';
import type { SensorSource } from './sensor-source.ts';

interface SourcePollPorts {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly random: () => number;
  readonly feed: SensorFeed;
  readonly source: SensorSource;
}

/** A slow bus with many probes needs its time; a driver that hangs has to end some day. */
const READ_LIMIT_MS = 60_000;
const SENSOR_LIMIT_MS = 3000;
/** Hubs and sensors that were switched on together need not speak together. */
const JITTER = 0.1;
const SHORTEST_PAUSE_MS = 50;

/** Looks for the sensors of one source and reads each when it is due, never two rounds at a time. */
export class SourcePoll implements Service {
  readonly #ports: SourcePollPorts;
  readonly #settings: SensorsConfig;
  readonly #stop = new AbortController();
  readonly #sensors = new Map<string, { readonly sensor: BoardSensor; dueMs: number }>();
  readonly #told = new Set<string>();
  #lookedAtMs = 0;
  #unlisten: () => void = () => {};
  #running: Promise<void> = Promise.resolve();

  constructor(ports: SourcePollPorts, settings: SensorsConfig) {
    this.#ports = ports;
    const own = Object.entries(settings.devices).filter(([, { source }]) => source.startsWith(`${ports.source.name}:`));
    this.#settings = { ...settings, devices: Object.fromEntries(own) };
  }

  async start(): Promise<void> {
    const { source, feed } = this.#ports;
    await this.#withstand(() => this.#look());
    this.#unlisten = source.listen?.((sample) => feed.take(sample)) ?? this.#unlisten;
    this.#running = this.#run(this.#stop.signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#unlisten();
    this.#stop.abort();
    await this.#running;
  }

  async #run(stop: AbortSignal): Promise<void> {
    while (!stop.aborted) {
      await this.#withstand(() => this.#readDue());
      await pause(this.#ports.clock, this.#untilNextMs(), stop);
      const isLookDue = this.#ports.clock.monotonic() >= this.#lookedAtMs + this.#lookMs;
      if (!stop.aborted && isLookDue) await this.#withstand(() => this.#look());
    }
  }

  /** One driver that is wrong must not end the others, nor the hub. */
  async #withstand(work: () => Promise<void>): Promise<void> {
    await work().catch((error: unknown) => this.#warn(error instanceof Error ? error.message : String(error)));
  }

  get #lookMs(): number {
    return this.#settings.pollSeconds * 1000;
  }

  async #look(): Promise<void> {
    const { source, feed, clock } = this.#ports;
    this.#lookedAtMs = clock.monotonic();
    const { sensors, problems } = rosterOf(await source.find(), this.#settings);
    for (const problem of problems) this.#warn(problem);
    for (const sensor of sensors) {
      if (this.#sensors.has(sensor.address)) continue;
      if (feed.admit(sensor)) this.#sensors.set(sensor.address, { sensor, dueMs: this.#lookedAtMs });
      else this.#warn(`${sensor.address} would be ${sensor.info.id}, which something else is; give it another name in sensors.devices`);
    }
  }

  async #readDue(): Promise<void> {
    const { source, feed, clock, random } = this.#ports;
    const nowMs = clock.monotonic();
    const due = [...this.#sensors.values()].filter(({ dueMs }) => dueMs <= nowMs);
    if (due.length === 0) return;
    for (const entry of due) entry.dueMs = nowMs + entry.sensor.periodMs * (1 + JITTER * (random() - 0.5));
    const limit = new AbortController();
    const cancel = clock.after(Math.max(READ_LIMIT_MS, due.length * SENSOR_LIMIT_MS), () => limit.abort());
    const signal = AbortSignal.any([limit.signal, this.#stop.signal]);
    const addresses = due.map(({ sensor }) => sensor.address);
    await source.read({ addresses, signal }, (sample) => feed.take(sample)).finally(cancel);
  }

  #untilNextMs(): number {
    const next = Math.min(this.#lookedAtMs + this.#lookMs, ...[...this.#sensors.values()].map(({ dueMs }) => dueMs));
    return Math.max(SHORTEST_PAUSE_MS, next - this.#ports.clock.monotonic());
  }

  #warn(problem: string): void {
    if (this.#told.has(problem)) return;
    this.#told.add(problem);
    this.#ports.logger.warn('sensors.problem', { source: this.#ports.source.name, problem });
  }
}
