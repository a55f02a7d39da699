import { AtmoError } from '../../core/errors.ts';
import { DbusConnection } from './dbus-connection.ts';
import type { DbusMessage } from './dbus-message.ts';
import type { DbusValue, DbusVariant } from './dbus-value.ts';

const BLUEZ = 'org.bluez';
const OBJECT_MANAGER = 'org.freedesktop.DBus.ObjectManager';
const PROPERTIES = 'org.freedesktop.DBus.Properties';

export type Properties = ReadonlyMap<string, DbusVariant>;
/** Properties by object path and interface. */
export type Objects = ReadonlyMap<string, ReadonlyMap<string, Properties>>;

/** BlueZ on the bus: its objects, their methods, and what changes in their properties. */
export class BluezBus implements AsyncDisposable {
  readonly #connection: DbusConnection;

  private constructor(connection: DbusConnection) {
    this.#connection = connection;
  }

  /** NOT_CONFIGURED when there is no bus. `busAddress` as in D-Bus; the system bus by default. */
  static async open(busAddress?: string): Promise<BluezBus> {
    const connection = await DbusConnection.open(busAddress);
    const bus = { destination: 'org.freedesktop.DBus', path: '/org/freedesktop/DBus', interface: 'org.freedesktop.DBus' };
    await connection.call({ ...bus, member: 'AddMatch', signature: 's', body: [`type='signal',sender='${BLUEZ}'`] });
    return new BluezBus(connection);
  }

  /** NOT_CONFIGURED when BlueZ does not run. */
  async objects(): Promise<Objects> {
    try {
      const [objects] = await this.#connection.call({
        destination: BLUEZ,
        path: '/',
        interface: OBJECT_MANAGER,
        member: 'GetManagedObjects',
      });
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
    await this.#connection.call({ ...target, destination: BLUEZ, signature, body }, signal === undefined ? {} : { signal });
  }

  async setProperty(path: string, iface: string, [name, value]: readonly [string, DbusVariant]): Promise<void> {
    await this.call({ path, interface: PROPERTIES, member: 'Set' }, { signature: 'ssv', body: [iface, name, value] });
  }

  /** Hears properties of an interface wherever they appear or change. */
  onProperties(iface: string, heard: (path: string, properties: Properties) => void): () => void {
    return this.#connection.onMessage((message) => {
      if (message.type !== 'signal') return;
      const found = message.member === 'InterfacesAdded' ? addedProperties(message, iface) : changedProperties(message, iface);
      if (found !== undefined) heard(found.path, found.properties);
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#connection[Symbol.asyncDispose]();
  }
}

function addedProperties({ body }: DbusMessage, iface: string): { readonly path: string; readonly properties: Properties } | undefined {
  const [path, interfaces] = body as unknown as [string, ReadonlyMap<string, Properties>];
  const properties = interfaces.get(iface);
  return properties && { path, properties };
}

function changedProperties(message: DbusMessage, iface: string): { readonly path: string; readonly properties: Properties } | undefined {
  if (message.member !== 'PropertiesChanged' || message.body[0] !== iface) return undefined;
  return { path: message.path, properties: message.body[1] as unknown as Properties };
}
