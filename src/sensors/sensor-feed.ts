import type { AreaChanges } from '../core/devices/home-names.ts';
import type { ReadingStore, ReadingValue } from '../core/devices/reading-store.ts';
import type { EventBus } from '../core/events.ts';
import type { DeviceId } from '../core/ids.ts';
import type { Logger } from '../core/logger.ts';
import type { Clock } from '../core/time/clock.ts';
import type { BoardDevices } from './board-devices.ts';
import type { BoardSensor } from './sensor-roster.ts';
import type { SensorFault, SensorSample } from './sensor-source.ts';

/** After so many reads without a value a sensor counts as silent. */
const MISSES = 3;

/** Where readings go, and who is told of them. */
export interface SensorFeedPorts {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly events: EventBus;
  readonly readings: ReadingStore;
  readonly devices: BoardDevices;
  /** What the rooms that the configuration names are called today. */
  readonly areas: AreaChanges;
}

interface Fed {
  readonly sensor: BoardSensor;
  misses: number;
  hasSpoken: boolean;
  /** When it measured what it told last, where it says so. */
  measuredAtMs?: number;
  /** What people were told of it. */
  told: SensorFault | undefined;
}

/** Makes readings of samples: calibrated, recorded, told; values that mean an error are told once and never recorded. */
export class SensorFeed {
  readonly #ports: SensorFeedPorts;
  readonly #fed = new Map<string, Fed>();

  constructor(ports: SensorFeedPorts) {
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
  take(sample: SensorSample): void {
    const fed = this.#fed.get(sample.address);
    if (!fed) return;
    if ('value' in sample) this.#hear(fed, sample);
    else this.#miss(fed, sample);
    this.#updateReachability(fed.sensor.info.device);
  }

  #located<T extends { readonly area?: string }>(thing: T): T {
    return thing.area === undefined ? thing : { ...thing, area: this.#ports.areas.areaToday(thing.area) };
  }

  #hear(fed: Fed, { value, atMs }: Extract<SensorSample, { readonly value: ReadingValue }>): void {
    if (fed.told) this.#ports.logger.info('sensor.speaks_again', { sensor: fed.sensor.info.id });
    const isNews = atMs === undefined || atMs !== fed.measuredAtMs || fed.misses >= MISSES;
    Object.assign(fed, { misses: 0, hasSpoken: true, told: undefined, measuredAtMs: atMs });
    if (isNews) this.#record(fed, value, atMs ?? this.#ports.clock.now());
  }

  #record(fed: Fed, said: ReadingValue, atMs: number): void {
    const { readings, events, devices } = this.#ports;
    const { id, device, unit, kind } = fed.sensor.info;
    const value = fed.sensor.calibrate(said);
    readings.record(id, value, atMs);
    devices.hear(device);
    events.emit('sensor.reading', id, { value, unit, kind, at_ms: atMs });
  }

  #miss(fed: Fed, { fault, detail }: { readonly fault: SensorFault; readonly detail: string }): void {
    const { readings, clock } = this.#ports;
    const { id } = fed.sensor.info;
    fed.misses += 1;
    // A wrong wire shows at once; a read that failed may be chance.
    if (fault === 'suspect' || fed.misses >= MISSES) this.#tell(fed, fault, detail);
    if (fed.misses === MISSES && fed.hasSpoken) readings.record(id, null, clock.now());
  }

  #tell(fed: Fed, fault: SensorFault, detail: string): void {
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
