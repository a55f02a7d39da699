import '../matter-platform.ts';
import { MatterBle } from '@matter/main/protocol';
import { AtmoError } from '../../core/errors.ts';
import type { BleAdapter, BleAdvertisement, GattLink } from './ble-adapter.ts';
import { BluezBus, type Properties } from './bluez-bus.ts';
import { BluezLink } from './bluez-link.ts';

const ADAPTER = 'org.bluez.Adapter1';
const DEVICE = 'org.bluez.Device1';

/** Bluetooth through BlueZ, the Linux Bluetooth service, over D-Bus. Needs no privilege beyond the bus's own policy. */
export class BluezAdapter implements BleAdapter {
  readonly #bus: BluezBus;
  readonly #path: string;
  #stopHearing: () => void = () => {};
  #isScanning = false;

  private constructor(bus: BluezBus, path: string) {
    this.#bus = bus;
    this.#path = path;
  }

  /** Takes the first adapter, or the one named such as `hci1`, and switches it on. NOT_CONFIGURED says what is missing. */
  static async open(options: { readonly adapterName?: string; readonly busAddress?: string } = {}): Promise<BluezAdapter> {
    const bus = await BluezBus.open(options.busAddress);
    try {
      const path = adapterPath([...(await bus.objects())], options.adapterName);
      await bus.setProperty(path, ADAPTER, ['Powered', { signature: 'b', value: true }]);
      return new BluezAdapter(bus, path);
    } catch (error) {
      await bus[Symbol.asyncDispose]();
      throw error;
    }
  }

  async startScanning(heard: (advertisement: BleAdvertisement) => void): Promise<void> {
    await this.stopScanning();
    this.#isScanning = true;
    this.#stopHearing = this.#bus.onProperties(DEVICE, (path, properties) => {
      const serviceData = matterServiceData(properties);
      const address = this.#addressOf(path);
      if (serviceData !== undefined && address !== undefined) heard({ address, serviceData });
    });
    await this.#discover();
  }

  async stopScanning(): Promise<void> {
    this.#isScanning = false;
    this.#stopHearing();
    this.#stopHearing = () => {};
    await this.#pauseDiscovery();
  }

  async connect(address: string, options: { readonly signal: AbortSignal }): Promise<GattLink> {
    // Many controllers cannot scan and connect at once.
    await this.#pauseDiscovery();
    try {
      return await BluezLink.open(this.#bus, { adapter: this.#path, device: this.#pathOf(address), signal: options.signal });
    } finally {
      if (this.#isScanning) await this.#discover();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stopScanning();
    await this.#bus[Symbol.asyncDispose]();
  }

  async #discover(): Promise<void> {
    const filter = new Map([
      ['Transport', { signature: 's', value: 'le' }],
      ['UUIDs', { signature: 'as', value: [MatterBle.SERVICE_UUID] }],
      // Else BlueZ tells a device once only, and a search that starts later hears nothing of it.
      ['DuplicateData', { signature: 'b', value: true }],
    ]);
    await this.#bus.call({ path: this.#path, interface: ADAPTER, member: 'SetDiscoveryFilter' }, { signature: 'a{sv}', body: [filter] });
    await this.#bus.call({ path: this.#path, interface: ADAPTER, member: 'StartDiscovery' });
  }

  /** BlueZ answers with an error when it does not scan, which is what is wanted. */
  async #pauseDiscovery(): Promise<void> {
    await this.#bus.call({ path: this.#path, interface: ADAPTER, member: 'StopDiscovery' }).catch(() => {});
  }

  #addressOf(path: string): string | undefined {
    const prefix = `${this.#path}/dev_`;
    return path.startsWith(prefix) ? path.slice(prefix.length).replaceAll('_', ':') : undefined;
  }

  #pathOf(address: string): string {
    return `${this.#path}/dev_${address.replaceAll(':', '_')}`;
  }
}

function adapterPath(objects: readonly (readonly [string, ReadonlyMap<string, Properties>])[], name: string | undefined): string {
  const paths = objects.filter(([, interfaces]) => interfaces.has(ADAPTER)).map(([path]) => path);
  const found = paths.find((path) => name === undefined || path.endsWith(`/${name}`));
  if (found !== undefined) return found;
  const known = paths.length === 0 ? 'there is none' : `there are ${paths.map((path) => path.split('/').at(-1)).join(', ')}`;
  throw new AtmoError('NOT_CONFIGURED', `No Bluetooth adapter${name === undefined ? '' : ` ${name}`} was found; ${known}`);
}

function matterServiceData(properties: Properties): Uint8Array | undefined {
  const serviceData = properties.get('ServiceData')?.value;
  const entry = serviceData instanceof Map ? [...(serviceData as Properties)].find(([uuid]) => MatterBle.isServiceUuid(uuid)) : undefined;
  return entry?.[1].value instanceof Uint8Array ? entry[1].value : undefined;
}
