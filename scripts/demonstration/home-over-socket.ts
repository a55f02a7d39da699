import { isJsonObject, type Json } from '../../src/core/json.ts';
import { control } from '../../test/home/home-control.ts';
import { fromJson } from '../../test/home/raw-value.ts';
import type { DemoHome, DevicePlace } from './demo-world.ts';

/** The virtual home through the control socket of scripts/virtual-home.ts. */
export class HomeOverSocket implements DemoHome {
  readonly #socketPath: string;

  constructor(socketPath: string) {
    this.#socketPath = socketPath;
  }

  async get({ device, endpoint, cluster, attribute }: DevicePlace): Promise<unknown> {
    return fromJson(await control(this.#socketPath, { method: 'get', device, args: [endpoint, cluster, attribute] }));
  }

  async set({ device, endpoint, cluster, attribute }: DevicePlace, value: Json): Promise<void> {
    await control(this.#socketPath, { method: 'set', device, args: [endpoint, cluster, attribute, value] });
  }

  async commands(device: string): Promise<readonly string[]> {
    const received = await control(this.#socketPath, { method: 'commands', device, args: [] });
    return Array.isArray(received) ? received.filter(isJsonObject).map(({ command }) => String(command)) : [];
  }

  async powerOff(device: string): Promise<void> {
    await control(this.#socketPath, { method: 'power-off', device, args: [] });
  }

  async powerOn(device: string): Promise<void> {
    await control(this.#socketPath, { method: 'power-on', device, args: [] });
  }
}
