import '../matter-platform.ts';
import { MatterBle } from '@matter/main/protocol';
import { AtmoError } from '../../core/errors.ts';
import type { GattLink } from './ble-adapter.ts';
import type { BluezBus } from './bluez-bus.ts';

const ADAPTER = 'org.bluez.Adapter1';
const DEVICE = 'org.bluez.Device1';
const CHARACTERISTIC = 'org.bluez.GattCharacteristic1';

interface LinkTarget {
  /** Object paths. */
  readonly adapter: string;
  readonly device: string;
  readonly signal: AbortSignal;
}

interface MatterCharacteristics {
  readonly c1: string;
  readonly c2: string;
  readonly mtuBytes: number | undefined;
}

/** A GATT connection that BlueZ holds. */
export class BluezLink implements GattLink {
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

  /** Connects and waits until BlueZ knows the device's services. DEVICE_UNREACHABLE when it has no Matter service. */
  static async open(bus: BluezBus, target: LinkTarget): Promise<BluezLink> {
    const resolved = servicesResolved(bus, target);
    try {
      await bus.call({ path: target.device, interface: DEVICE, member: 'Connect' }, { signal: target.signal });
      if (!(await isResolved(bus, target.device))) await resolved.promise;
      return new BluezLink(bus, target, await findCharacteristics(bus, target.device));
    } catch (error) {
      await forget(bus, target);
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

  async subscribe(indicated: (data: Uint8Array) => void): Promise<void> {
    const stopListening = this.#bus.onProperties(CHARACTERISTIC, (path, properties) => {
      const value = properties.get('Value')?.value;
      if (path === this.#characteristics.c2 && value instanceof Uint8Array) indicated(value);
    });
    this.onLost(stopListening);
    await this.#bus.call({ path: this.#characteristics.c2, interface: CHARACTERISTIC, member: 'StartNotify' });
  }

  onLost(listener: () => void): void {
    this.#lostListeners.add(listener);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ended();
    await forget(this.#bus, this.#target);
  }

  #ended(): void {
    if (this.#isLost) return;
    this.#isLost = true;
    this.#stopListening();
    for (const listener of this.#lostListeners) listener();
  }
}

/** Waits for what BlueZ tells some time after `Connect` has answered. */
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

async function isResolved(bus: BluezBus, device: string): Promise<boolean> {
  return (await bus.objects()).get(device)?.get(DEVICE)?.get('ServicesResolved')?.value === true;
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

/** Disconnects and forgets: a device takes another address each time, and BlueZ would keep them all. */
async function forget(bus: BluezBus, { adapter, device }: LinkTarget): Promise<void> {
  await bus.call({ path: device, interface: DEVICE, member: 'Disconnect' }).catch(() => {});
  await bus.call({ path: adapter, interface: ADAPTER, member: 'RemoveDevice' }, { signature: 'o', body: [device] }).catch(() => {});
}
