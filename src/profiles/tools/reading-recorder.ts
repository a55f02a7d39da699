import type { DeviceAccess } from '../../core/devices/device-directory.ts';
import type { AttributeReading } from '../../core/devices/device-model.ts';
import type { ReadingStore, ReadingValue } from '../../core/devices/sensor-readings.ts';
import type { EventBus } from '../../core/events.ts';
import { type DeviceId, parseSensorId, type SensorId } from '../../core/ids.ts';
import type { Json } from '../../core/json.ts';
import { quoted } from '../../core/untrusted-text.ts';
import type { CompiledDevice, DeviceReading } from '../compile/compiled-device.ts';

interface RecordedSensor {
  readonly id: SensorId;
  readonly reading: DeviceReading;
}

/** Keeps the reading store fed with what devices report, in human units. */
export class ReadingRecorder {
  readonly #access: DeviceAccess;
  readonly #store: ReadingStore;
  readonly #events: EventBus;
  /** `endpoint/cluster/attribute` → what is read from it, by device. */
  readonly #sensors = new Map<DeviceId, ReadonlyMap<string, readonly RecordedSensor[]>>();

  constructor(collaborators: { readonly access: DeviceAccess; readonly readings: ReadingStore; readonly events: EventBus }) {
    this.#access = collaborators.access;
    this.#store = collaborators.readings;
    this.#events = collaborators.events;
  }

  /** Announces a device's sensors under the paths that their keys have, takes back those that it lost, and records what is known already. */
  set(compiled: CompiledDevice, paths: ReadonlyMap<string, string>): void {
    const { device } = compiled;
    const sensors = compiled.readings.map((reading) => {
      return { id: parseSensorId(`${device.id}/${paths.get(reading.key) ?? reading.path}`), reading };
    });
    const kept = new Set(sensors.map(({ id }) => id));
    for (const { id } of this.#sensorsOf(device.id)) if (!kept.has(id)) this.#store.describe(id, null);
    this.#sensors.set(
      device.id,
      Map.groupBy(sensors, ({ reading }) => keyOf(reading)),
    );
    for (const { id, reading } of sensors) this.#describe(compiled, id, reading);
    this.#store.setReachability(device.id, device.reachability);
    for (const { reading } of sensors) {
      const known = this.#access.cached({
        device: device.id,
        endpoint: reading.endpoint,
        cluster: reading.cluster,
        attribute: reading.attribute,
      });
      if (known) this.take(known);
    }
  }

  /** Takes all sensors of a device away; their history stays. */
  remove(device: DeviceId): void {
    for (const { id } of this.#sensorsOf(device)) this.#store.describe(id, null);
    this.#sensors.delete(device);
  }

  /** Records a report and tells it. */
  take(report: AttributeReading): void {
    for (const { id, reading } of this.#sensors.get(report.path.device)?.get(keyOf(report.path)) ?? []) {
      const value = readingValue(reading.toHuman(report.value));
      this.#store.record(id, value, report.atMs);
      this.#events.emit('sensor.reading', id, { value, unit: reading.unit, kind: reading.kind, at_ms: report.atMs || null });
    }
  }

  #describe({ device }: CompiledDevice, id: SensorId, reading: DeviceReading): void {
    this.#store.describe(id, {
      id,
      device: device.id,
      name: reading.path.replace('/', '_'),
      kind: reading.kind,
      unit: reading.unit,
      ...(device.area !== undefined && { area: device.area }),
      title: `${quoted(device.name)} ${inSentence(reading.title)}`,
    });
  }

  #sensorsOf(device: DeviceId): readonly RecordedSensor[] {
    return [...(this.#sensors.get(device)?.values() ?? [])].flat();
  }
}

/** A title after other words; abbreviations such as HEPA stay as they are. */
function inSentence(title: string): string {
  return title.replace(/^\p{Lu}(?!\p{Lu})/u, (first) => first.toLowerCase());
}

function keyOf(path: { readonly endpoint: number; readonly cluster: string; readonly attribute: string }): string {
  return `${path.endpoint}/${path.cluster}/${path.attribute}`;
}

function readingValue(value: Json): ReadingValue | null {
  if (typeof value === 'number' || typeof value === 'boolean' || typeof value === 'string' || value === null) return value;
  return Array.isArray(value) ? value.join(',') : JSON.stringify(value);
}
