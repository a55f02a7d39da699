import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { LabHost } from '../../scripts/network-lab/lab-host.ts';
import { AtmoError } from '../../src/core/errors.ts';
import { deviceProgram } from './device-bundle.ts';
import { DevicePlace } from './device-place.ts';
import { type DeviceSpec, type HomeSpec, slug } from './home-spec.ts';
import { VirtualDevice } from './virtual-device.ts';

/** Host numbers below are free for tests' own machines; 1 is the hub. Each home of a process takes the next ones. */
let nextHostNumber = 0x100;

export interface HomeOptions {
  readonly spec: HomeSpec;
  /** Where the devices keep their storage and logs; a home started again with it is the same home. */
  readonly dir: string;
}

/** Real Matter devices in processes and hosts of their own, inside the private network of scripts/in-netns. */
export class VirtualHome implements AsyncDisposable {
  readonly #places: readonly DevicePlace[];
  readonly #devices: ReadonlyMap<string, VirtualDevice>;

  private constructor(places: readonly DevicePlace[]) {
    this.#places = places;
    this.#devices = new Map(places.flatMap((place) => place.devices.map((spec) => [spec.name, new VirtualDevice(spec, place)] as const)));
  }

  /** Answers when every device can be commissioned. */
  static async start({ spec, dir }: HomeOptions): Promise<VirtualHome> {
    await mkdir(dir, { recursive: true });
    const program = await deviceProgram();
    const places = [...groups(spec)].map(([name, devices]) => {
      const host = new LabHost(`device-${nextHostNumber}`, nextHostNumber);
      nextHostNumber += 1;
      return new DevicePlace({ devices, host, program, dir: join(dir, name) });
    });
    const home = new VirtualHome(places);
    try {
      await Promise.all(places.map((place) => place.start()));
      await Promise.all([...home.#devices.values()].map((device) => device.readPairing()));
    } catch (error) {
      await home[Symbol.asyncDispose]();
      throw error;
    }
    return home;
  }

  get devices(): readonly VirtualDevice[] {
    return [...this.#devices.values()];
  }

  device(name: string): VirtualDevice {
    const device = this.#devices.get(name);
    if (!device)
      throw new AtmoError('DEVICE_NOT_FOUND', `No device ${name} in the home; there are ${[...this.#devices.keys()].join(', ')}`);
    return device;
  }

  /** Resident memory of all device processes in bytes. */
  async memoryBytes(): Promise<number> {
    const sizes = await Promise.all(this.#places.map((place) => place.memoryBytes()));
    return sizes.reduce((sum, size) => sum + size, 0);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#places.map((place) => place[Symbol.asyncDispose]()));
  }
}

function groups(spec: HomeSpec): ReadonlyMap<string, readonly DeviceSpec[]> {
  return Map.groupBy(spec.devices, ({ group, name }) => group ?? slug(name));
}
