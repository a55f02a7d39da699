import type { Reachability } from '../../core/devices/device-model.ts';
import type { Reading, ReadingValue, SensorInfo } from '../../core/devices/reading-store.ts';
import type { DeviceId, SensorId } from '../../core/ids.ts';

interface Latest {
  readonly value: ReadingValue | null;
  readonly atMs: number;
}

/** What every sensor says now, in memory: a restart begins with nothing, and the devices tell it again. */
export class CurrentReadings {
  readonly #infos = new Map<SensorId, SensorInfo>();
  readonly #latest = new Map<SensorId, Latest>();
  readonly #reachability = new Map<DeviceId, Reachability>();

  describe(id: SensorId, info: SensorInfo | null): void {
    if (info) this.#infos.set(id, info);
    else {
      this.#infos.delete(id);
      this.#latest.delete(id);
    }
  }

  /** A value older than the one known changes nothing. */
  record(id: SensorId, value: ReadingValue | null, atMs: number): void {
    const known = this.#latest.get(id);
    if (known && known.atMs > atMs) return;
    this.#latest.set(id, { value, atMs });
  }

  setReachability(device: DeviceId, reachability: Reachability): void {
    this.#reachability.set(device, reachability);
  }

  /** Sorted by sensor id. */
  list(): readonly Reading[] {
    return [...this.#infos.values()].sort((a, b) => (a.id < b.id ? -1 : 1)).map((info) => this.#reading(info));
  }

  get(id: SensorId): Reading | undefined {
    const info = this.#infos.get(id);
    return info && this.#reading(info);
  }

  /** A sensor that never spoke has value null at time 0. */
  #reading(info: SensorInfo): Reading {
    const latest = this.#latest.get(info.id) ?? { value: null, atMs: 0 };
    return { sensor: info, ...latest, reachability: this.#reachability.get(info.device) ?? 'unknown' };
  }
}
