import type { BleAdapter, GattLink } from '../../src/matter/ble/ble-central.ts';
import { DbusConnection } from '../../src/matter/ble/dbus-connection.ts';
import type { DbusMessage, DbusValue, DbusVariant } from '../../src/matter/ble/dbus-message.ts';

const ADAPTER_PATH = '/org/bluez/hci0';
const SERVICE_UUID = '0000fff6-0000-1000-8000-00805f9b34fb';
const C1 = 'service0001/char0002';
const C2 = 'service0001/char0004';

type Properties = Map<string, DbusVariant>;

const text = (value: string): DbusVariant => ({ signature: 's', value });
const flag = (value: boolean): DbusVariant => ({ signature: 'b', value });

/** What of BlueZ a test wants to be otherwise. */
export interface BluezBehaviour {
  readonly hasAdapter?: boolean;
  readonly hasMatterService?: boolean;
}

/** The D-Bus face of BlueZ 5.66 as far as a central uses it, in front of any radio. It refuses what BlueZ refuses. */
export class ScriptedBluez implements AsyncDisposable {
  /** Members that were called, in order. */
  readonly calls: string[] = [];
  readonly #bus: DbusConnection;
  readonly #radio: BleAdapter;
  readonly #behaviour: BluezBehaviour;
  readonly #addresses: string[] = [];
  readonly #links = new Map<string, GattLink>();
  #isWriting = false;
  #isDiscovering = false;

  private constructor(bus: DbusConnection, radio: BleAdapter, behaviour: BluezBehaviour) {
    this.#bus = bus;
    this.#radio = radio;
    this.#behaviour = behaviour;
  }

  static async start(busAddress: string, radio: BleAdapter, behaviour: BluezBehaviour = {}): Promise<ScriptedBluez> {
    const bus = await DbusConnection.open(busAddress);
    const bluez = new ScriptedBluez(bus, radio, behaviour);
    bus.onMessage((message) => message.type === 'call' && void bluez.#answer(message));
    const daemon = { destination: 'org.freedesktop.DBus', path: '/org/freedesktop/DBus', interface: 'org.freedesktop.DBus' };
    await bus.call({ ...daemon, member: 'RequestName', signature: 'su', body: ['org.bluez', 4] });
    return bluez;
  }

  /** The radio link to a device breaks. */
  async drop(): Promise<void> {
    for (const path of this.#links.keys()) await this.#disconnect(path);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#radio.stopScanning();
    await this.#bus[Symbol.asyncDispose]();
  }

  async #answer(call: DbusMessage): Promise<void> {
    this.calls.push(call.member);
    const reply = { replySerial: call.serial, destination: call.sender };
    try {
      const [signature, ...body] = await this.#perform(call);
      this.#bus.send({ ...reply, type: 'return', signature, body });
    } catch (error) {
      this.#bus.send({ ...reply, type: 'error', errorName: 'org.bluez.Error.Failed', signature: 's', body: [String(error)] });
    }
  }

  async #perform(call: DbusMessage): Promise<[string, ...DbusValue[]]> {
    const device = call.path.split('/').slice(0, 5).join('/');
    if (call.member === 'GetManagedObjects') return ['a{oa{sa{sv}}}', this.#objects()];
    if (call.member === 'StartDiscovery') await this.#startDiscovery();
    else if (call.member === 'StopDiscovery') await this.#stopDiscovery();
    else if (call.member === 'Connect') await this.#connect(device);
    else if (call.member === 'Disconnect') await this.#disconnect(device);
    else if (call.member === 'WriteValue') await this.#write(device, call.body[0] as Uint8Array);
    else if (call.member === 'StartNotify') await this.#links.get(device)?.subscribe((data) => this.#indicate(device, data));
    return [''];
  }

  async #startDiscovery(): Promise<void> {
    this.#isDiscovering = true;
    await this.#radio.startScanning(({ address, serviceData }) => this.#advertised(address, serviceData));
  }

  async #stopDiscovery(): Promise<void> {
    if (!this.#isDiscovering) throw new Error('No discovery started');
    this.#isDiscovering = false;
    await this.#radio.stopScanning();
  }

  #advertised(address: string, data: Uint8Array): void {
    const serviceData = { signature: 'a{sv}', value: new Map([[SERVICE_UUID, { signature: 'ay', value: data }]]) };
    if (this.#addresses.includes(address)) {
      this.#changed(this.#pathOf(address), 'org.bluez.Device1', new Map([['ServiceData', serviceData]]));
      return;
    }
    this.#addresses.push(address);
    const interfaces = new Map([['org.bluez.Device1', new Map([['ServiceData', serviceData]])]]);
    this.#signal('/', 'org.freedesktop.DBus.ObjectManager', ['InterfacesAdded', 'oa{sa{sv}}', this.#pathOf(address), interfaces]);
  }

  async #connect(path: string): Promise<void> {
    if (this.#isDiscovering) throw new Error('br-connection-busy');
    const address = this.#addresses.find((known) => this.#pathOf(known) === path);
    if (address === undefined) throw new Error('Does Not Exist');
    const link = await this.#radio.connect(address, { signal: new AbortController().signal });
    this.#links.set(path, link);
    link.onLost(() => void this.#disconnect(path));
    this.#changed(path, 'org.bluez.Device1', new Map([['Connected', flag(true)]]));
    setTimeout(() => this.#changed(path, 'org.bluez.Device1', new Map([['ServicesResolved', flag(true)]])), 20);
  }

  async #disconnect(path: string): Promise<void> {
    const link = this.#links.get(path);
    if (!this.#links.delete(path)) return;
    this.#changed(path, 'org.bluez.Device1', new Map([['Connected', flag(false)]]));
    await link?.[Symbol.asyncDispose]();
  }

  async #write(path: string, data: Uint8Array): Promise<void> {
    if (this.#isWriting) throw new Error('In Progress');
    this.#isWriting = true;
    await this.#links
      .get(path)
      ?.write(data)
      .finally(() => {
        this.#isWriting = false;
      });
  }

  #indicate(path: string, data: Uint8Array): void {
    this.#changed(`${path}/${C2}`, 'org.bluez.GattCharacteristic1', new Map([['Value', { signature: 'ay', value: data }]]));
  }

  #objects(): Map<string, Map<string, Properties>> {
    const objects = new Map<string, Map<string, Properties>>();
    if (this.#behaviour.hasAdapter !== false)
      objects.set(ADAPTER_PATH, new Map([['org.bluez.Adapter1', new Map([['Powered', flag(true)]])]]));
    for (const path of this.#links.keys()) {
      objects.set(path, new Map([['org.bluez.Device1', new Map([['Connected', flag(true)]])]]));
      if (this.#behaviour.hasMatterService === false) continue;
      objects.set(`${path}/${C1}`, characteristic('18ee2ef5-263d-4559-959f-4f9c429f9d11'));
      objects.set(`${path}/${C2}`, characteristic('18ee2ef5-263d-4559-959f-4f9c429f9d12'));
    }
    return objects;
  }

  #changed(path: string, iface: string, properties: Properties): void {
    this.#signal(path, 'org.freedesktop.DBus.Properties', ['PropertiesChanged', 'sa{sv}as', iface, properties, []]);
  }

  #signal(path: string, iface: string, [member, signature, ...body]: [string, string, ...DbusValue[]]): void {
    this.#bus.send({ type: 'signal', path, interface: iface, member, signature, body });
  }

  #pathOf(address: string): string {
    return `${ADAPTER_PATH}/dev_AA_BB_CC_00_00_0${this.#addresses.indexOf(address)}`;
  }
}

function characteristic(uuid: string): Map<string, Properties> {
  return new Map([
    [
      'org.bluez.GattCharacteristic1',
      new Map<string, DbusVariant>([
        ['UUID', text(uuid)],
        ['MTU', { signature: 'q', value: 100 }],
      ]),
    ],
  ]);
}
