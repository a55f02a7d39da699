import type { Clock } from '../clock.ts';
import type { DeviceId } from '../ids.ts';

/** Milliseconds for which a device has attention after somebody looked at it or called it. */
export const LOOK_MS = 60_000;

/** One device, or all devices of the hub. */
export type LookedAt = DeviceId | 'all';

/**
 * Says which devices matter to somebody at the moment: looked at or called within the last minute, shown on an open page, or used by an
 * automation. The hub asks only these often whether they are still there.
 */
export class DeviceAttention {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #lookedMs = new Map<LookedAt, number>();
  readonly #users: ((device: DeviceId) => boolean)[] = [];
  readonly #listeners = new Set<(devices: LookedAt) => void>();

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  /** Must be called when somebody calls a device. The call itself shows whether it is there, so no listener is called. */
  noteCall(device: DeviceId): void {
    this.#lookedMs.set(device, this.#clock.monotonic());
  }

  /** Must be called when somebody looks at a device. */
  look(devices: LookedAt): void {
    this.#lookedMs.set(devices, this.#clock.monotonic());
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
  isOn(...devices: readonly DeviceId[]): boolean {
    if (this.#isLookedAt('all') || devices.some((device) => this.#isLookedAt(device))) return true;
    return this.#users.some((uses) => devices.some(uses));
  }

  /** Calls `listener` each time that somebody looks at devices, or begins to use some. */
  onLook(listener: (devices: LookedAt) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #isLookedAt(devices: LookedAt): boolean {
    const atMs = this.#lookedMs.get(devices);
    if (atMs === undefined) return false;
    if (this.#clock.monotonic() - atMs < LOOK_MS) return true;
    this.#lookedMs.delete(devices);
    return false;
  }
}
