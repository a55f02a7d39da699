import { type Clock, pause } from '../core/clock.ts';
import type { HubContext } from '../core/context.ts';
import type { AreaChanges } from '../core/devices/device-names.ts';
import type { ReadingStore, ReadingValue } from '../core/devices/sensor-readings.ts';
import type { DeviceId } from '../core/ids.ts';
import type { Service } from '../core/lifecycle.ts';
import { HwmonSource, ThermalSource } from './kernel/hwmon-thermal.ts';
import { IioSource } from './kernel/iio.ts';
import { W1Source } from './kernel/one-wire.ts';
import { Sysfs } from './kernel/sysfs.ts';
import type { SensorsConfig } from './sensor-config.ts';
import { type BoardDevices, type BoardSensor, sensorRegistryOf } from './sensor-registry.ts';
import type { SensorFault, SensorSample, SensorSource } from './sensor-source.ts';

interface BoardSensorsCollaborators extends SensorRecorderCollaborators {
  readonly sources: readonly SensorSource[];
  /** Returns a random number from 0 to 1, for the jitter of polling. */
  readonly random?: () => number;
}

/** Provides readings, history and events of the board's own sensors. Finds a new sensor within one poll interval. */
export class BoardSensors implements Service {
  readonly #pollers: readonly SourcePoller[];
  readonly #recorder: SensorRecorder;
  readonly #areas: AreaChanges;
  #stopListening: () => void = () => {};

  constructor(parts: BoardSensorsCollaborators, settings: SensorsConfig) {
    const { clock, logger, random = Math.random } = parts;
    const recorder = new SensorRecorder(parts);
    this.#recorder = recorder;
    this.#areas = parts.areas;
    this.#pollers = parts.sources.map((source) => new SourcePoller({ clock, logger, random, recorder, source }, settings));
  }

  /** Starts to search and read. Resolves when the present sensors are listed. Their first values follow later. */
  async start(): Promise<void> {
    this.#stopListening = this.#areas.onAreaRenamed(() => this.#recorder.relocate());
    await Promise.all(this.#pollers.map((poller) => poller.start()));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopListening();
    await Promise.all(this.#pollers.map((poller) => poller[Symbol.asyncDispose]()));
  }
}

interface SourcePollerCollaborators extends Pick<SensorRecorderCollaborators, 'clock' | 'logger'> {
  readonly random: () => number;
  readonly recorder: SensorRecorder;
  readonly source: SensorSource;
}

/** Shortest time limit of a round of reads, in milliseconds. Without a limit, a driver that hangs would stop all further rounds. */
const READ_LIMIT_MS = 60_000;
const SENSOR_LIMIT_MS = 3000;
/** Random part of the interval. It prevents hubs and sensors that were switched on together from reading at the same moment. */
const JITTER = 0.1;
const SHORTEST_PAUSE_MS = 50;

/** Searches for the sensors of one source, and reads each sensor when it is due. Only one round of reads runs at a time. */
class SourcePoller implements Service {
  readonly #parts: SourcePollerCollaborators;
  readonly #settings: SensorsConfig;
  readonly #stop = new AbortController();
  readonly #sensors = new Map<string, { readonly sensor: BoardSensor; dueMs: number }>();
  readonly #logged = new Set<string>();
  #searchedAtMs = 0;
  #unlisten: () => void = () => {};
  #running: Promise<void> = Promise.resolve();

  constructor(parts: SourcePollerCollaborators, settings: SensorsConfig) {
    this.#parts = parts;
    const own = Object.entries(settings.devices).filter(([, { source }]) => source.startsWith(`${parts.source.name}:`));
    this.#settings = { ...settings, devices: Object.fromEntries(own) };
  }

  async start(): Promise<void> {
    const { source, recorder } = this.#parts;
    await this.#logErrors(() => this.#search());
    this.#unlisten = source.listen?.((sample) => recorder.record(sample)) ?? this.#unlisten;
    this.#running = this.#run(this.#stop.signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#unlisten();
    this.#stop.abort();
    await this.#running;
  }

  async #run(stop: AbortSignal): Promise<void> {
    while (!stop.aborted) {
      await this.#logErrors(() => this.#readDue());
      await pause(this.#parts.clock, this.#untilNextMs(), stop);
      const isSearchDue = this.#parts.clock.monotonic() >= this.#nextSearchMs;
      if (!stop.aborted && isSearchDue) await this.#logErrors(() => this.#search());
    }
  }

  /** Runs work and logs its errors, because a faulty driver must not stop other sources or the hub. */
  async #logErrors(work: () => Promise<void>): Promise<void> {
    await work().catch((error: unknown) => this.#warn(error instanceof Error ? error.message : String(error)));
  }

  get #nextSearchMs(): number {
    return this.#searchedAtMs + this.#settings.pollSeconds * 1000;
  }

  async #search(): Promise<void> {
    const { source, recorder, clock } = this.#parts;
    this.#searchedAtMs = clock.monotonic();
    const { sensors, problems } = sensorRegistryOf(await source.find(), this.#settings);
    for (const problem of problems) this.#warn(problem);
    for (const sensor of sensors) {
      if (this.#sensors.has(sensor.address)) continue;
      if (recorder.add(sensor)) this.#sensors.set(sensor.address, { sensor, dueMs: this.#searchedAtMs });
      else this.#warn(`${sensor.address} would be ${sensor.info.id}, which something else is; give it another name in sensors.devices`);
    }
  }

  async #readDue(): Promise<void> {
    const { source, recorder, clock, random } = this.#parts;
    const nowMs = clock.monotonic();
    const due = [...this.#sensors.values()].filter(({ dueMs }) => dueMs <= nowMs);
    if (due.length === 0) return;
    for (const entry of due) entry.dueMs = nowMs + entry.sensor.periodMs * (1 + JITTER * (random() - 0.5));
    const limit = new AbortController();
    const cancel = clock.after(Math.max(READ_LIMIT_MS, due.length * SENSOR_LIMIT_MS), () => limit.abort());
    const signal = AbortSignal.any([limit.signal, this.#stop.signal]);
    const addresses = due.map(({ sensor }) => sensor.address);
    await source.read({ addresses, signal }, (sample) => recorder.record(sample)).finally(cancel);
  }

  #untilNextMs(): number {
    const next = Math.min(this.#nextSearchMs, ...[...this.#sensors.values()].map(({ dueMs }) => dueMs));
    return Math.max(SHORTEST_PAUSE_MS, next - this.#parts.clock.monotonic());
  }

  #warn(problem: string): void {
    if (this.#logged.has(problem)) return;
    this.#logged.add(problem);
    this.#parts.logger.warn('sensors.problem', { source: this.#parts.source.name, problem });
  }
}

/** Number of successive reads without a value after which a sensor counts as silent. */
const MISSES = 3;

interface SensorRecorderCollaborators extends Pick<HubContext, 'clock' | 'logger' | 'events'> {
  readonly readings: ReadingStore;
  readonly devices: BoardDevices;
  /** The current names of the configured areas, which people can rename. */
  readonly areas: AreaChanges;
}

interface RecordedSensor {
  readonly sensor: BoardSensor;
  misses: number;
  hasValue: boolean;
  /** Time of the last measurement, if the sensor reports it. */
  measuredAtMs?: number;
  /** The last fault about which a warning was emitted. */
  warned: SensorFault | undefined;
}

/** Calibrates and records samples, and emits events. A sample with a fault is not recorded as a value, but causes one warning. */
class SensorRecorder {
  readonly #parts: SensorRecorderCollaborators;
  readonly #sensors = new Map<string, RecordedSensor>();

  constructor(parts: SensorRecorderCollaborators) {
    this.#parts = parts;
  }

  /** Adds a sensor. Returns false if the id already exists on this hub. */
  add(sensor: BoardSensor): boolean {
    const { readings, devices, logger } = this.#parts;
    if (readings.current(sensor.info.id)) return false;
    devices.add(this.#located(sensor.device));
    readings.describe(sensor.info.id, this.#located(sensor.info));
    this.#sensors.set(sensor.address, { sensor, misses: 0, hasValue: false, warned: undefined });
    // The owner needs this address to configure the sensor.
    logger.info('sensor.found', { sensor: sensor.info.id, address: sensor.address });
    return true;
  }

  /** Updates the areas of all sensors and devices after areas were renamed. */
  relocate(): void {
    const { readings, devices } = this.#parts;
    for (const { sensor } of this.#sensors.values()) {
      readings.describe(sensor.info.id, this.#located(sensor.info));
      devices.relocate(this.#located(sensor.device));
    }
  }

  /** Records a sample of an added sensor; ignores other sensors. */
  record(sample: SensorSample): void {
    const recorded = this.#sensors.get(sample.address);
    if (!recorded) return;
    if ('value' in sample) this.#onValue(recorded, sample);
    else this.#onFault(recorded, sample);
    this.#updateReachability(recorded.sensor.info.device);
  }

  #located<T extends { readonly area?: string }>(thing: T): T {
    return thing.area === undefined ? thing : { ...thing, area: this.#parts.areas.areaToday(thing.area) };
  }

  #onValue(recorded: RecordedSensor, sample: Extract<SensorSample, { readonly value: ReadingValue }>): void {
    const { readings, events, devices, logger, clock } = this.#parts;
    const { sensor, warned, measuredAtMs, misses } = recorded;
    const { id, device, unit, kind } = sensor.info;
    const { atMs = clock.now() } = sample;
    if (warned) logger.info('sensor.value_restored', { sensor: id });
    const isNews = sample.atMs === undefined || sample.atMs !== measuredAtMs || misses >= MISSES;
    Object.assign(recorded, { misses: 0, hasValue: true, warned: undefined, measuredAtMs: sample.atMs });
    if (!isNews) return;
    const value = sensor.calibrate(sample.value);
    readings.record(id, value, atMs);
    devices.markSeen(device);
    events.emit('sensor.reading', id, { value, unit, kind, at_ms: atMs });
  }

  #onFault(recorded: RecordedSensor, { fault, detail }: Extract<SensorSample, { readonly fault: SensorFault }>): void {
    const { readings, clock } = this.#parts;
    recorded.misses += 1;
    // A suspect value, such as from a wrong wire, causes a warning at once. Any other fault may be chance, so it must repeat.
    if (fault === 'suspect' || recorded.misses >= MISSES) this.#warn(recorded, fault, detail);
    if (recorded.misses === MISSES && recorded.hasValue) readings.record(recorded.sensor.info.id, null, clock.now());
  }

  #warn(recorded: RecordedSensor, fault: SensorFault, detail: string): void {
    if (recorded.warned === fault) return;
    const { logger, events } = this.#parts;
    const { address, info } = recorded.sensor;
    recorded.warned = fault;
    logger.warn('sensor.no_value', { sensor: info.id, address, fault, detail });
    events.emit('hub.warning', info.id, { warning: `sensor.${fault}`, message: `${info.id}: ${detail}` });
  }

  /** Updates a device's reachability: reachable if any of its sensors gives values, unreachable if all are silent, else unchanged. */
  #updateReachability(device: DeviceId): void {
    const { readings, devices } = this.#parts;
    const ofDevice = [...this.#sensors.values()].filter(({ sensor }) => sensor.info.device === device);
    const isReachable = ofDevice.some(({ hasValue, misses }) => hasValue && misses < MISSES);
    const isSilent = ofDevice.every(({ misses }) => misses >= MISSES);
    if (!isReachable && !isSilent) return;
    const reachability = isReachable ? 'reachable' : 'unreachable';
    readings.setReachability(device, reachability);
    devices.setReachability(device, reachability);
  }
}

/** Returns the sources for all sensors of the kernel's drivers below `sysfs`. */
export function kernelSources(clock: Clock, sysfs: string): readonly SensorSource[] {
  const kernel = new Sysfs(sysfs);
  return [new ThermalSource({ kernel }), new HwmonSource({ kernel }), new IioSource({ kernel }), new W1Source({ kernel, clock })];
}
