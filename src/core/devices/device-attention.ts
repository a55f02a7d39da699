import type { Clock } from '../clock.ts';
import type { DeviceId } from '../ids.ts';

/** Milliseconds for which a device has attention after somebody read or called it. */
export const ATTENTION_MS = 60_000;

/** One device, or all devices of the hub. */
export type AttendedDevices = DeviceId | 'all';

/**
 * Says which devices matter to somebody at the moment: read or called within the last minute, shown on an open page, or used by an
 * automation. The hub asks only these often whether they are still there.
 */
export class DeviceAttention {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #notedMs = new Map<AttendedDevices, number>();
  readonly #users: ((device: DeviceId) => boolean)[] = [];
  readonly #listeners = new Set<(devices: AttendedDevices) => void>();

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  /** Must be called when somebody calls a device. The call itself shows whether it is there, so no listener is called. */
  noteCall(device: DeviceId): void {
    this.#notedMs.set(device, this.#clock.monotonic());
  }

  /** Must be called when somebody reads devices, or is shown their known values. */
  noteRead(devices: AttendedDevices): void {
    this.#notedMs.set(devices, this.#clock.monotonic());
    for (const listener of this.#listeners) listener(devices);
  }

  /** Adds a user of devices; `uses` returns whether it uses a device. It is asked often, so it must not take long. */
  addUser(uses: (device: DeviceId) => boolean): void {
    this.#users.push(uses);
  }

  /** Must be called when a user uses devices that it did not use before. */
  noteUse(): void {
    for (const listener of this.#listeners) listener('all');
  }

  /** Returns whether one of the devices matters to somebody. */
  isAttended(...devices: readonly DeviceId[]): boolean {
    if (this.#isNoted('all') || devices.some((device) => this.#isNoted(device))) return true;
    return this.#users.some((uses) => devices.some(uses));
  }

  /** Calls `listener` each time that somebody reads devices, or begins to use some. */
  onAttention(listener: (devices: AttendedDevices) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #isNoted(devices: AttendedDevices): boolean {
    const atMs = this.#notedMs.get(devices);
    if (atMs === undefined) return false;
    if (this.#clock.monotonic() - atMs < ATTENTION_MS) return true;
    this.#notedMs.delete(devices);
    return false;
  }
}
