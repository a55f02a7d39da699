import type { DeviceAccess } from '../../core/devices/device-directory.ts';
import type { AttributeReading } from '../../core/devices/device-model.ts';
import { parseSensorId } from '../../core/devices/device-names.ts';
import type { ReadingStore, ReadingValue } from '../../core/devices/sensor-readings.ts';
import type { EventBus } from '../../core/events.ts';
import type { DeviceId, SensorId } from '../../core/ids.ts';
import type { Json } from '../../core/json.ts';
import { quoted } from '../../core/untrusted-text.ts';
import type { CompiledDevice, DeviceReading } from '../compile/compiled-device.ts';

interface RecordedSensor {
  readonly id: SensorId;
  readonly reading: DeviceReading;
}

interface RecorderPorts {
  readonly access: DeviceAccess;
  readonly readings: ReadingStore;
  readonly events: EventBus;
}

/** Records the reports of devices in the reading store, in human units. */
export class ReadingRecorder {
  readonly #ports: RecorderPorts;
  /** The sensors of each device by `endpoint/cluster/attribute`. */
  readonly #sensors = new Map<DeviceId, ReadonlyMap<string, readonly RecordedSensor[]>>();

  constructor(ports: RecorderPorts) {
    this.#ports = ports;
  }

  /** Replaces a device's sensors and records their cached values. `paths` maps the key of each reading to the path of its sensor. */
  set(compiled: CompiledDevice, paths: ReadonlyMap<string, string>): void {
    const { device } = compiled;
    const { access, readings } = this.#ports;
    const sensors = compiled.readings.map((reading) => {
      return { id: parseSensorId(`${device.id}/${paths.get(reading.key) ?? reading.path}`), reading };
    });
    const present = new Set(sensors.map(({ id }) => id));
    for (const { id } of this.#sensorsOf(device.id)) if (!present.has(id)) readings.describe(id, null);
    this.#sensors.set(
      device.id,
      Map.groupBy(sensors, ({ reading }) => keyOf(reading)),
    );
    for (const { id, reading } of sensors) this.#describe(compiled, id, reading);
    readings.setReachability(device.id, device.reachability);
    for (const { endpoint, cluster, attribute } of compiled.readings) {
      const known = access.cached({ device: device.id, endpoint, cluster, attribute });
      if (known) this.take(known);
    }
  }

  /** Returns the reading of a device that a sensor records. */
  readingOf(sensor: SensorId): DeviceReading | undefined {
    const [device = ''] = sensor.split('/');
    return this.#sensorsOf(device as DeviceId).find(({ id }) => id === sensor)?.reading;
  }

  /** Removes all sensors of a device; their history stays. */
  remove(device: DeviceId): void {
    for (const { id } of this.#sensorsOf(device)) this.#ports.readings.describe(id, null);
    this.#sensors.delete(device);
  }

  /** Records a report and emits it as `sensor.reading`. */
  take(report: AttributeReading): void {
    for (const { id, reading } of this.#sensors.get(report.path.device)?.get(keyOf(report.path)) ?? []) {
      const value = readingValue(reading.toHuman(report.value));
      this.#ports.readings.record(id, value, report.atMs);
      this.#ports.events.emit('sensor.reading', id, { value, unit: reading.unit, kind: reading.kind, at_ms: report.atMs || null });
    }
  }

  #describe({ device }: CompiledDevice, id: SensorId, reading: DeviceReading): void {
    this.#ports.readings.describe(id, {
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

/** Returns a title for use inside a sentence: in lower case, except abbreviations such as HEPA. */
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
