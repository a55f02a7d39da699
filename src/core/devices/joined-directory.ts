import type { DeviceId } from '../ids.ts';
import type { DeviceChange, DeviceDirectory } from './device-directory.ts';
import type { Device, DeviceDescription } from './device-model.ts';

/** The devices of several rooms as one home. Where two have a device of the same id, that of the first room is meant. */
export class JoinedDirectory implements DeviceDirectory {
  readonly #rooms: readonly DeviceDirectory[];

  constructor(rooms: readonly DeviceDirectory[]) {
    this.#rooms = rooms;
  }

  list(): readonly Device[] {
    const devices = new Map<DeviceId, Device>();
    for (const device of this.#rooms.flatMap((room) => room.list())) if (!devices.has(device.id)) devices.set(device.id, device);
    return [...devices.values()];
  }

  get(id: DeviceId): Device | undefined {
    return this.#roomOf(id)?.get(id);
  }

  describe(id: DeviceId): DeviceDescription | undefined {
    return this.#roomOf(id)?.describe(id);
  }

  onChange(listener: (change: DeviceChange) => void): () => void {
    const stops = this.#rooms.map((room) => room.onChange((change) => this.#isMeant(room, change) && listener(change)));
    return () => {
      for (const stop of stops) stop();
    };
  }

  #roomOf(id: DeviceId): DeviceDirectory | undefined {
    return this.#rooms.find((room) => room.get(id) !== undefined);
  }

  /** One that was removed is in no room any more. */
  #isMeant(room: DeviceDirectory, { device }: DeviceChange): boolean {
    const owner = this.#roomOf(device.id);
    return owner === undefined || owner === room;
  }
}
