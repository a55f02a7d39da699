import { type Clock, pause } from '../core/clock.ts';
import type { AreaChanges } from '../core/devices/device-names.ts';
import type { ReadingStore, ReadingValue } from '../core/devices/sensor-readings.ts';
import type { EventBus } from '../core/events.ts';
import type { DeviceId } from '../core/ids.ts';
import type { Service } from '../core/lifecycle.ts';
import type { Logger } from '../core/logger.ts';
import { HwmonSource, ThermalSource } from './kernel/hwmon-thermal.ts';
import { IioSource } from './kernel/iio.ts';
import { W1Source } from './kernel/one-wire.ts';
import { Sysfs } from './kernel/sysfs.ts';
import type { SensorsConfig } from './sensor-config.ts';
import { type BoardDevices, type BoardSensor, sensorRegistryOf } from './sensor-registry.ts';
import type { SensorFault, SensorSample, SensorSource } from './sensor-source.ts';

interface BoardSensorsCollaborators extends SensorRecorderCollaborators {
  readonly sources: readonly SensorSource[];
  /** From 0 to 1, for the jitter of polling. */
  readonly random?: () => number;
}

/** Makes readings, history and events of the board's own sensors; those that come later are there within a poll interval. */
export class BoardSensors implements Service {
  readonly #polls: readonly SourcePoller[];
  readonly #feed: SensorRecorder;
  readonly #areas: SensorRecorderCollaborators['areas'];
  #stopHearing: () => void = () => {};

  constructor(ports: BoardSensorsCollaborators, settings: SensorsConfig) {
    const feed = new SensorRecorder(ports);
    this.#feed = feed;
    this.#areas = ports.areas;
    const { clock, logger, random = Math.random } = ports;
    this.#polls = ports.sources.map((source) => new SourcePoller({ clock, logger, random, feed, source }, settings));
  }

  /** Resolves when what is there is listed; the first values follow. */
  async start(): Promise<void> {
    this.#stopHearing = this.#areas.onAreaRenamed(() => this.#feed.relocate());
    await Promise.all(this.#polls.map((poll) => poll.start()));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopHearing();
    await Promise.all(this.#polls.map((poll) => poll[Symbol.asyncDispose]()));
  }
}

interface SourcePollerCollaborators {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly random: () => number;
  readonly feed: SensorRecorder;
  readonly source: SensorSource;
}

/** A slow bus with many probes needs its time; a driver that hangs has to end some day. */
const READ_LIMIT_MS = 60_000;
const SENSOR_LIMIT_MS = 3000;
/** Hubs and sensors that were switched on together need not speak together. */
const JITTER = 0.1;
const SHORTEST_PAUSE_MS = 50;

/** Looks for the sensors of one source and reads each when it is due, never two rounds at a time. */
class SourcePoller implements Service {
  readonly #ports: SourcePollerCollaborators;
  readonly #settings: SensorsConfig;
  readonly #stop = new AbortController();
  readonly #sensors = new Map<string, { readonly sensor: BoardSensor; dueMs: number }>();
  readonly #told = new Set<string>();
  #lookedAtMs = 0;
  #unlisten: () => void = () => {};
  #running: Promise<void> = Promise.resolve();

  constructor(ports: SourcePollerCollaborators, settings: SensorsConfig) {
    this.#ports = ports;
    const own = Object.entries(settings.devices).filter(([, { source }]) => source.startsWith(`${ports.source.name}:`));
    this.#settings = { ...settings, devices: Object.fromEntries(own) };
  }

  async start(): Promise<void> {
    const { source, feed } = this.#ports;
    await this.#withstand(() => this.#look());
    this.#unlisten = source.listen?.((sample) => feed.record(sample)) ?? this.#unlisten;
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
    const { sensors, problems } = sensorRegistryOf(await source.find(), this.#settings);
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
    await source.read({ addresses, signal }, (sample) => feed.record(sample)).finally(cancel);
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

/** After so many reads without a value a sensor counts as silent. */
const MISSES = 3;

/** Where readings go, and who is told of them. */
interface SensorRecorderCollaborators {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly events: EventBus;
  readonly readings: ReadingStore;
  readonly devices: BoardDevices;
  /** What the rooms that the configuration names are called today. */
  readonly areas: AreaChanges;
}

interface RecordedSensor {
  readonly sensor: BoardSensor;
  misses: number;
  hasSpoken: boolean;
  /** When it measured what it told last, where it says so. */
  measuredAtMs?: number;
  /** What people were told of it. */
  told: SensorFault | undefined;
}

/** Makes readings of samples: calibrated, recorded, told; values that mean an error are told once and never recorded. */
class SensorRecorder {
  readonly #ports: SensorRecorderCollaborators;
  readonly #fed = new Map<string, RecordedSensor>();

  constructor(ports: SensorRecorderCollaborators) {
    this.#ports = ports;
  }

  /** Announces a sensor; false for an id that something else on this hub has. */
  admit(sensor: BoardSensor): boolean {
    const { readings, devices, logger } = this.#ports;
    if (readings.current(sensor.info.id)) return false;
    devices.admit(this.#located(sensor.device));
    readings.describe(sensor.info.id, this.#located(sensor.info));
    this.#fed.set(sensor.address, { sensor, misses: 0, hasSpoken: false, told: undefined });
    // The address is what an entry of the configuration needs.
    logger.info('sensor.found', { sensor: sensor.info.id, address: sensor.address });
    return true;
  }

  /** Describes everything anew after rooms got other names. */
  relocate(): void {
    const { readings, devices } = this.#ports;
    for (const { sensor } of this.#fed.values()) {
      readings.describe(sensor.info.id, this.#located(sensor.info));
      devices.relocate(this.#located(sensor.device));
    }
  }

  /** What a sensor said; nothing where it was not admitted. */
  record(sample: SensorSample): void {
    const fed = this.#fed.get(sample.address);
    if (!fed) return;
    if ('value' in sample) this.#hear(fed, sample);
    else this.#miss(fed, sample);
    this.#updateReachability(fed.sensor.info.device);
  }

  #located<T extends { readonly area?: string }>(thing: T): T {
    return thing.area === undefined ? thing : { ...thing, area: this.#ports.areas.areaToday(thing.area) };
  }

  #hear(fed: RecordedSensor, { value, atMs }: Extract<SensorSample, { readonly value: ReadingValue }>): void {
    if (fed.told) this.#ports.logger.info('sensor.speaks_again', { sensor: fed.sensor.info.id });
    const isNews = atMs === undefined || atMs !== fed.measuredAtMs || fed.misses >= MISSES;
    Object.assign(fed, { misses: 0, hasSpoken: true, told: undefined, measuredAtMs: atMs });
    if (isNews) this.#record(fed, value, atMs ?? this.#ports.clock.now());
  }

  #record(fed: RecordedSensor, said: ReadingValue, atMs: number): void {
    const { readings, events, devices } = this.#ports;
    const { id, device, unit, kind } = fed.sensor.info;
    const value = fed.sensor.calibrate(said);
    readings.record(id, value, atMs);
    devices.hear(device);
    events.emit('sensor.reading', id, { value, unit, kind, at_ms: atMs });
  }

  #miss(fed: RecordedSensor, { fault, detail }: { readonly fault: SensorFault; readonly detail: string }): void {
    const { readings, clock } = this.#ports;
    const { id } = fed.sensor.info;
    fed.misses += 1;
    // A wrong wire shows at once; a read that failed may be chance.
    if (fault === 'suspect' || fed.misses >= MISSES) this.#tell(fed, fault, detail);
    if (fed.misses === MISSES && fed.hasSpoken) readings.record(id, null, clock.now());
  }

  #tell(fed: RecordedSensor, fault: SensorFault, detail: string): void {
    if (fed.told === fault) return;
    const { logger, events } = this.#ports;
    const { id } = fed.sensor.info;
    fed.told = fault;
    logger.warn('sensor.no_value', { sensor: id, address: fed.sensor.address, fault, detail });
    events.emit('hub.warning', id, { warning: `sensor.${fault}`, message: `${id}: ${detail}` });
  }

  /** A device answers while one of its sensors does. */
  #updateReachability(device: DeviceId): void {
    const { readings, devices } = this.#ports;
    const ofDevice = [...this.#fed.values()].filter(({ sensor }) => sensor.info.device === device);
    const isHeard = ofDevice.some(({ hasSpoken, misses }) => hasSpoken && misses < MISSES);
    const isSilent = ofDevice.every(({ misses }) => misses >= MISSES);
    if (!isHeard && !isSilent) return;
    const reachability = isHeard ? 'reachable' : 'unreachable';
    readings.setReachability(device, reachability);
    devices.setReachability(device, reachability);
  }
}

/** Everything that the kernel's drivers show below `sysfs`. */
export function kernelSources(clock: Clock, sysfs: string): readonly SensorSource[] {
  const kernel = new Sysfs(sysfs);
  return [new ThermalSource({ kernel }), new HwmonSource({ kernel }), new IioSource({ kernel }), new W1Source({ kernel, clock })];
}
