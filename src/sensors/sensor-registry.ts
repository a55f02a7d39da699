import type { Clock } from '../core/clock.ts';
import type { DeviceChange, DeviceDirectory } from '../core/devices/device-directory.ts';
import type { Device, DeviceDescription, Reachability } from '../core/devices/device-model.ts';
import { parseDeviceId, parseSensorId } from '../core/devices/device-names.ts';
import type { ReadingValue, SensorInfo } from '../core/devices/sensor-readings.ts';
import type { EventBus } from '../core/events.ts';
import type { DeviceId, SensorId } from '../core/ids.ts';
import { present } from '../core/json.ts';
import { givenName } from '../core/untrusted-text.ts';
import type { BoardDeviceConfig, ReadingConfig } from './device-config.ts';
import type { SensorsConfig } from './sensor-config.ts';
import { calibrated, type FoundSensor } from './sensor-source.ts';

/** A sensor with its id, titles and calibration. */
export interface BoardSensor {
  readonly address: string;
  readonly device: BoardDevice;
  readonly info: SensorInfo;
  readonly periodMs: number;
  /** Converts a value of the sensor to the value that is stored. */
  readonly calibrate: (value: ReadingValue) => ReadingValue;
}

/** The listed sensors, and texts about problems: a setting that matches no chip or several chips, or a sensor whose id is taken. */
interface SensorRegistry {
  readonly sensors: readonly BoardSensor[];
  readonly problems: readonly string[];
}

type SensorRegistrySettings = Pick<SensorsConfig, 'devices' | 'discover' | 'pollSeconds'>;
type NamedDevice = readonly [id: string, config: BoardDeviceConfig];

const UNCALIBRATED: ReadingConfig = { factor: 1, offset: 0 };
const MAX_TITLE = 128;
const MAX_NAME = 64;

/**
 * Assigns ids and titles to sensors. A sensor gets those of its entry in `devices`. If several entries match, the one with the most
 * specific source counts. If none matches, the id and title are generated, but only if discovery is on or the sensor is configured. A
 * sensor has the same id after every start.
 */
export function sensorRegistryOf(found: readonly FoundSensor[], settings: SensorRegistrySettings): SensorRegistry {
  const chips = new Set(found.map(({ address }) => chipOf(address)));
  const { usable, problems } = unambiguous(Object.entries(settings.devices), [...chips]);
  const sensors = new Map<SensorId, BoardSensor>();
  for (const sensor of found) {
    const named = usable.filter(([, { source }]) => isNamedBy(sensor.address, source));
    const entry = named.toSorted(([, a], [, b]) => b.source.length - a.source.length)[0];
    if (!entry && !settings.discover && !sensor.isConfigured) continue;
    const placed = boardSensor(sensor, entry, settings.pollSeconds);
    const taken = sensors.get(placed.info.id);
    if (taken) problems.push(`${sensor.address} would be ${placed.info.id}, which ${taken.address} is; name it in sensors.devices`);
    else sensors.set(placed.info.id, placed);
  }
  return { sensors: [...sensors.values()], problems };
}

/** Returns the usable entries. A source without a bus address is usable only if exactly one chip has its name. */
function unambiguous(entries: readonly NamedDevice[], chips: readonly string[]): { usable: NamedDevice[]; problems: string[] } {
  const problems: string[] = [];
  const usable = entries.filter(([id, { source }]) => {
    const wanted = chipOf(source);
    const meant = chips.filter((chip) => chip === wanted || withoutPlace(chip) === wanted);
    if (meant.length === 1 || meant.includes(wanted)) return true;
    const there =
      meant.length === 0
        ? `was not found; there is ${chips.join(', ') || 'no sensor of this kind'}`
        : `may be ${meant.join(' or ')}; write which`;
    problems.push(`sensors.devices.${id}: ${source} ${there}`);
    return false;
  });
  return { usable, problems };
}

function isNamedBy(address: string, source: string): boolean {
  return [address, withoutPlace(address)].some((form) => form === source || form.startsWith(`${source}/`));
}

const chipOf = (address: string): string => address.split('/')[0] ?? address;
const withoutPlace = (address: string): string => address.replace(/@[^/]*/, '');

function boardSensor(found: FoundSensor, entry: NamedDevice | undefined, pollSeconds: number): BoardSensor {
  const [device, config] = entry ?? [found.device, undefined];
  const { title, kind = found.kind, factor, offset } = config?.readings[found.reading] ?? UNCALIBRATED;
  const area = oneLine(config?.area ?? found.area ?? '');
  const where = area === '' ? {} : { area };
  const name = oneLine(config?.title ?? found.deviceTitle ?? words(device)).slice(0, MAX_NAME);
  const info: SensorInfo = {
    id: parseSensorId(`${device.slice(0, 64)}/${found.reading.slice(0, 64)}`),
    device: parseDeviceId(device.slice(0, 64)),
    name: found.reading,
    kind,
    unit: found.unit,
    title: oneLine(title ?? (config ? `${config.title ?? words(device)} ${words(found.reading)}` : found.title)),
    ...where,
  };
  const calibrate = (value: ReadingValue) => (typeof value === 'number' ? calibrated(value, { factor, offset }) : value);
  return {
    address: found.address,
    device: { id: info.device, name, ...where },
    info,
    periodMs: (config?.pollSeconds ?? pollSeconds) * 1000,
    calibrate,
  };
}

const words = (id: string): string => id.replaceAll(/[-_]+/g, ' ');

const oneLine = (text: string): string => givenName(text, MAX_TITLE);

interface BoardDevice {
  readonly id: DeviceId;
  readonly name: string;
  readonly area?: string;
}

const NOBODY = { id: 0, name: '' } as const;

/** The devices of the board's own sensors and lines. */
export class BoardDevices implements DeviceDirectory {
  readonly #clock: Clock;
  readonly #events: EventBus;
  readonly #devices = new Map<DeviceId, Device>();
  readonly #listeners = new Set<(change: DeviceChange) => void>();

  constructor({ clock, events }: { readonly clock: Clock; readonly events: EventBus }) {
    this.#clock = clock;
    this.#events = events;
  }

  list(): readonly Device[] {
    return [...this.#devices.values()];
  }

  get(id: DeviceId): Device | undefined {
    return this.#devices.get(id);
  }

  describe(id: DeviceId): DeviceDescription | undefined {
    const device = this.#devices.get(id);
    return device && { device, endpoints: [] };
  }

  onChange(listener: (change: DeviceChange) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Adds a device, unless it exists already. */
  add({ id, name, area }: BoardDevice): void {
    if (this.#devices.has(id)) return;
    const empty = { nodeId: '', vendor: NOBODY, product: NOBODY, deviceTypes: [], isSleepy: false } as const;
    const device: Device = { id, name, kind: 'board', reachability: 'unknown', lastSeenMs: 0, ...empty, ...present({ area }) };
    this.#devices.set(id, device);
    this.#notify({ kind: 'added', device });
    this.#events.emit('device.added', id, { name, device_types: [] });
  }

  /** Sets the current name of a device's area. */
  relocate({ id, area }: Pick<BoardDevice, 'id' | 'area'>): void {
    const before = this.#devices.get(id);
    if (!before || before.area === area) return;
    const { area: _, ...rest } = before;
    const device: Device = { ...rest, ...present({ area }) };
    this.#devices.set(id, device);
    this.#notify({ kind: 'changed', device, before });
    this.#events.emit('device.changed', id, { name: device.name, device_types: [] });
  }

  /** Sets the time of a device's last value to the current time. */
  markSeen(id: DeviceId): void {
    const device = this.#devices.get(id);
    if (device) this.#devices.set(id, { ...device, lastSeenMs: this.#clock.now() });
  }

  /** Sets the reachability of a device, and emits an event if it has changed. */
  setReachability(id: DeviceId, reachability: Reachability): void {
    const before = this.#devices.get(id);
    if (!before || before.reachability === reachability) return;
    const device = { ...before, reachability };
    this.#devices.set(id, device);
    this.#notify({ kind: 'reachability', device });
    this.#events.emit('device.reachability', id, { reachability });
  }

  #notify(change: DeviceChange): void {
    for (const listener of this.#listeners) listener(change);
  }
}
