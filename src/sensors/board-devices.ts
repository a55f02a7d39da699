import type { DeviceChange, DeviceDirectory } from '../core/devices/device-directory.ts';
import type { Device, DeviceDescription, Reachability } from '../core/devices/device-model.ts';
import type { EventBus } from '../core/events.ts';
import type { DeviceId } from '../core/ids.ts';
import type { Clock } from '../core/time/clock.ts';

/** What is known of a chip, a probe or the board itself. */
export interface BoardDevice {
  readonly id: DeviceId;
  readonly name: string;
  readonly area?: string;
}

const NOBODY = { id: 0, name: '' } as const;

/** What has the board's own sensors and lines, as devices beside those of Matter. */
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

  /** Adds a device, unless it is there already. */
  admit({ id, name, area }: BoardDevice): void {
    if (this.#devices.has(id)) return;
    const nothing = { nodeId: '', vendor: NOBODY, product: NOBODY, deviceTypes: [], isSleepy: false } as const;
    const device: Device = {
      id,
      name,
      kind: 'board',
      reachability: 'unknown',
      lastSeenMs: 0,
      ...nothing,
      ...(area !== undefined && { area }),
    };
    this.#devices.set(id, device);
    this.#tell({ kind: 'added', device });
    this.#events.emit('device.added', id, { name, device_types: [] });
  }

  /** Puts a device in the room that it is in now. */
  relocate({ id, area }: Pick<BoardDevice, 'id' | 'area'>): void {
    const before = this.#devices.get(id);
    if (!before || before.area === area) return;
    const { area: _, ...rest } = before;
    const device: Device = { ...rest, ...(area !== undefined && { area }) };
    this.#devices.set(id, device);
    this.#tell({ kind: 'changed', device, before });
    this.#events.emit('device.changed', id, { name: device.name, device_types: [] });
  }

  /** It said something now. */
  hear(id: DeviceId): void {
    const device = this.#devices.get(id);
    if (device) this.#devices.set(id, { ...device, lastSeenMs: this.#clock.now() });
  }

  /** Told when it differs from before. */
  setReachability(id: DeviceId, reachability: Reachability): void {
    const before = this.#devices.get(id);
    if (!before || before.reachability === reachability) return;
    const device = { ...before, reachability };
    this.#devices.set(id, device);
    this.#tell({ kind: 'reachability', device });
    this.#events.emit('device.reachability', id, { reachability });
  }

  #tell(change: DeviceChange): void {
    for (const listener of this.#listeners) listener(change);
  }
}
