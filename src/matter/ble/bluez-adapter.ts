import '../matter-platform.ts';
import { MatterBle } from '@matter/main/protocol';
import { AtmoError } from '../../core/errors.ts';
import { present } from '../../core/json.ts';
import type { Logger } from '../../core/logger.ts';
import { AdapterBle, type BleAdapter, type BleAdvertisement, type GattLink } from './ble-central.ts';
import { DbusConnection, MESSAGE_BUS } from './dbus-connection.ts';
import type { DbusValue, DbusVariant } from './dbus-message.ts';

/**
 * Opens this machine's Bluetooth for `MatterNodeOptions.ble`. If D-Bus, BlueZ or the adapter is missing, logs a warning that names the
 * missing part, and returns undefined. Without Bluetooth, the hub finds devices on the IP network only.
 */
export async function openBle(logger: Logger, options: BluezOptions = {}): Promise<AdapterBle | undefined> {
  try {
    return new AdapterBle(await BluezAdapter.open(options));
  } catch (error) {
    if (!(error instanceof AtmoError)) throw error;
    logger.warn('matter.ble_unavailable', { reason: error.message });
    return undefined;
  }
}

const BLUEZ = 'org.bluez';
const ADAPTER = 'org.bluez.Adapter1';
const DEVICE = 'org.bluez.Device1';
const CHARACTERISTIC = 'org.bluez.GattCharacteristic1';
const OBJECT_MANAGER = 'org.freedesktop.DBus.ObjectManager';
const PROPERTIES = 'org.freedesktop.DBus.Properties';

interface BluezOptions {
  /** Name of a Bluetooth adapter, such as `hci1`; the first adapter by default. */
  readonly adapterName?: string;
  /** D-Bus address of the message bus; the system bus by default. */
  readonly busAddress?: string;
}

/** Uses Bluetooth through BlueZ, the Bluetooth service of Linux, over D-Bus. Needs no rights except those that the D-Bus policy grants. */
export class BluezAdapter implements BleAdapter {
  readonly #bus: BluezBus;
  readonly #path: string;
  #stopListening: () => void = () => {};
  #isScanning = false;

  private constructor(bus: BluezBus, path: string) {
    this.#bus = bus;
    this.#path = path;
  }

  /** Opens the adapter and switches it on. If D-Bus, BlueZ or the adapter is missing, throws NOT_CONFIGURED and names the missing part. */
  static async open(options: BluezOptions = {}): Promise<BluezAdapter> {
    const bus = await BluezBus.open(options.busAddress);
    try {
      const path = adapterPath([...(await bus.objects())], options.adapterName);
      const powered = [ADAPTER, 'Powered', { signature: 'b', value: true }];
      await bus.call({ path, interface: PROPERTIES, member: 'Set' }, { signature: 'ssv', body: powered });
      return new BluezAdapter(bus, path);
    } catch (error) {
      await bus[Symbol.asyncDispose]();
      throw error;
    }
  }

  async startScanning(onAdvertisement: (advertisement: BleAdvertisement) => void): Promise<void> {
    await this.stopScanning();
    this.#isScanning = true;
    const prefix = `${this.#path}/dev_`;
    this.#stopListening = this.#bus.onProperties(DEVICE, (path, properties) => {
      const serviceData = matterServiceData(properties);
      if (serviceData === undefined || !path.startsWith(prefix)) return;
      onAdvertisement({ address: path.slice(prefix.length).replaceAll('_', ':'), serviceData });
    });
    await this.#discover();
  }

  async stopScanning(): Promise<void> {
    this.#isScanning = false;
    this.#stopListening();
    this.#stopListening = () => {};
    await this.#pauseDiscovery();
  }

  async connect(address: string, { signal }: { readonly signal: AbortSignal }): Promise<GattLink> {
    // The scan is paused because many controllers cannot scan and connect at the same time.
    await this.#pauseDiscovery();
    try {
      const device = `${this.#path}/dev_${address.replaceAll(':', '_')}`;
      return await BluezGattLink.open(this.#bus, { adapter: this.#path, device, signal });
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
      // Without DuplicateData, BlueZ reports each device only once. A second search would miss the devices that the first one found.
      ['DuplicateData', { signature: 'b', value: true }],
    ]);
    const adapter = { path: this.#path, interface: ADAPTER };
    await this.#bus.call({ ...adapter, member: 'SetDiscoveryFilter' }, { signature: 'a{sv}', body: [filter] });
    await this.#bus.call({ ...adapter, member: 'StartDiscovery' });
  }

  /** Pauses the scan. BlueZ returns an error if no scan runs; this error is ignored. */
  async #pauseDiscovery(): Promise<void> {
    await this.#bus.call({ path: this.#path, interface: ADAPTER, member: 'StopDiscovery' }).catch(() => {});
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

interface LinkTarget {
  /** D-Bus object path of the adapter. */
  readonly adapter: string;
  readonly device: string;
  readonly signal: AbortSignal;
}

interface MatterCharacteristics {
  readonly c1: string;
  readonly c2: string;
  readonly mtuBytes: number | undefined;
}

class BluezGattLink implements GattLink {
  readonly mtuBytes: number | undefined;
  readonly #bus: BluezBus;
  readonly #target: LinkTarget;
  readonly #characteristics: MatterCharacteristics;
  readonly #lostListeners = new Set<() => void>();
  #stopListening: () => void = () => {};
  #isLost = false;

  private constructor(bus: BluezBus, target: LinkTarget, characteristics: MatterCharacteristics) {
    this.#bus = bus;
    this.#target = target;
    this.#characteristics = characteristics;
    this.mtuBytes = characteristics.mtuBytes;
    this.#stopListening = bus.onProperties(DEVICE, (path, properties) => {
      if (path === target.device && properties.get('Connected')?.value === false) this.#ended();
    });
  }

  /** Connects and waits until BlueZ has resolved the GATT services. Throws DEVICE_UNREACHABLE if the device has no Matter service. */
  static async open(bus: BluezBus, target: LinkTarget): Promise<BluezGattLink> {
    const resolved = servicesResolved(bus, target);
    try {
      await bus.call({ path: target.device, interface: DEVICE, member: 'Connect' }, { signal: target.signal });
      const device = (await bus.objects()).get(target.device)?.get(DEVICE);
      if (device?.get('ServicesResolved')?.value !== true) await resolved.promise;
      return new BluezGattLink(bus, target, await findCharacteristics(bus, target.device));
    } catch (error) {
      await disconnect(bus, target);
      throw error;
    } finally {
      resolved.stop();
    }
  }

  async write(data: Uint8Array): Promise<void> {
    const options = new Map([['type', { signature: 's', value: 'request' }]]);
    await this.#bus.call(
      { path: this.#characteristics.c1, interface: CHARACTERISTIC, member: 'WriteValue' },
      { signature: 'aya{sv}', body: [data, options] },
    );
  }

  async subscribe(onIndication: (data: Uint8Array) => void): Promise<void> {
    const stopListening = this.#bus.onProperties(CHARACTERISTIC, (path, properties) => {
      const value = properties.get('Value')?.value;
      if (path === this.#characteristics.c2 && value instanceof Uint8Array) onIndication(value);
    });
    this.onLost(stopListening);
    await this.#bus.call({ path: this.#characteristics.c2, interface: CHARACTERISTIC, member: 'StartNotify' });
  }

  onLost(listener: () => void): void {
    this.#lostListeners.add(listener);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ended();
    await disconnect(this.#bus, this.#target);
  }

  #ended(): void {
    if (this.#isLost) return;
    this.#isLost = true;
    this.#stopListening();
    for (const listener of this.#lostListeners) listener();
  }
}

/** Waits until BlueZ has resolved the GATT services. BlueZ may reply to `Connect` before that. */
function servicesResolved(bus: BluezBus, { device, signal }: LinkTarget): { readonly promise: Promise<void>; stop(): void } {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  promise.catch(() => {});
  const stopListening = bus.onProperties(DEVICE, (path, properties) => {
    if (path !== device) return;
    if (properties.get('ServicesResolved')?.value === true) resolve();
    if (properties.get('Connected')?.value === false) reject(new AtmoError('DEVICE_UNREACHABLE', 'The Bluetooth connection broke off'));
  });
  const abort = (): void => reject(new AtmoError('DEVICE_UNREACHABLE', 'The Bluetooth connection took too long'));
  signal.addEventListener('abort', abort, { once: true });
  if (signal.aborted) abort();
  return {
    promise,
    stop() {
      stopListening();
      signal.removeEventListener('abort', abort);
    },
  };
}

async function findCharacteristics(bus: BluezBus, device: string): Promise<MatterCharacteristics> {
  const found = new Map<string, readonly [path: string, mtuBytes: unknown]>();
  for (const [path, interfaces] of await bus.objects()) {
    const properties = interfaces.get(CHARACTERISTIC);
    if (properties === undefined || !path.startsWith(`${device}/`)) continue;
    found.set(String(properties.get('UUID')?.value).toUpperCase(), [path, properties.get('MTU')?.value]);
  }
  const c1 = found.get(MatterBle.C1_CHARACTERISTIC_UUID);
  const c2 = found.get(MatterBle.C2_CHARACTERISTIC_UUID);
  if (c1 === undefined || c2 === undefined) throw new AtmoError('DEVICE_UNREACHABLE', 'The device has no Matter service over Bluetooth');
  return { c1: c1[0], c2: c2[0], mtuBytes: typeof c1[1] === 'number' ? c1[1] : undefined };
}

/** Disconnects the device and removes it from BlueZ. Otherwise BlueZ would store the device forever, each time under a new address. */
async function disconnect(bus: BluezBus, { adapter, device }: LinkTarget): Promise<void> {
  await bus.call({ path: device, interface: DEVICE, member: 'Disconnect' }).catch(() => {});
  await bus.call({ path: adapter, interface: ADAPTER, member: 'RemoveDevice' }, { signature: 'o', body: [device] }).catch(() => {});
}

type Properties = ReadonlyMap<string, DbusVariant>;
/** Properties of the BlueZ objects, by object path and D-Bus interface. */
type Objects = ReadonlyMap<string, ReadonlyMap<string, Properties>>;

/** Calls the methods of BlueZ's D-Bus objects and watches their properties. */
class BluezBus implements AsyncDisposable {
  readonly #connection: DbusConnection;

  private constructor(connection: DbusConnection) {
    this.#connection = connection;
  }

  /** Connects to the bus. Throws NOT_CONFIGURED if there is no bus. */
  static async open(busAddress?: string): Promise<BluezBus> {
    const connection = await DbusConnection.open(busAddress);
    await connection.call({ ...MESSAGE_BUS, member: 'AddMatch', signature: 's', body: [`type='signal',sender='${BLUEZ}'`] });
    return new BluezBus(connection);
  }

  /** Returns all objects of BlueZ. Throws NOT_CONFIGURED if BlueZ does not run. */
  async objects(): Promise<Objects> {
    const call = { destination: BLUEZ, path: '/', interface: OBJECT_MANAGER, member: 'GetManagedObjects' };
    try {
      const [objects] = await this.#connection.call(call);
      return (objects ?? new Map()) as unknown as Objects;
    } catch (cause) {
      throw new AtmoError('NOT_CONFIGURED', 'BlueZ does not answer; install the package bluez and start bluetooth.service', {}, { cause });
    }
  }

  async call(
    target: { readonly path: string; readonly interface: string; readonly member: string },
    options: { readonly signature?: string; readonly body?: readonly DbusValue[]; readonly signal?: AbortSignal } = {},
  ): Promise<void> {
    const { signature = '', body = [], signal } = options;
    await this.#connection.call({ ...target, destination: BLUEZ, signature, body }, present({ signal }));
  }

  /** Calls `listener` for each object that gets the D-Bus interface, and for each change of the interface's properties. */
  onProperties(iface: string, listener: (path: string, properties: Properties) => void): () => void {
    return this.#connection.onMessage(({ type, member, path, body }) => {
      if (type !== 'signal') return;
      if (member === 'InterfacesAdded') {
        const [added, interfaces] = body as unknown as [string, ReadonlyMap<string, Properties>];
        const properties = interfaces.get(iface);
        if (properties) listener(added, properties);
      } else if (member === 'PropertiesChanged' && body[0] === iface) {
        listener(path, body[1] as unknown as Properties);
      }
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#connection[Symbol.asyncDispose]();
  }
}
