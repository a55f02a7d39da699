import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { AtmoError } from '../../core/errors.ts';
import { type DbusMessage, type DbusValue, decodeMessage, encodeMessage } from './dbus-message.ts';

/** Destination, path and interface of the message bus itself. The bus is called like any other D-Bus object. */
export const MESSAGE_BUS = { destination: 'org.freedesktop.DBus', path: '/org/freedesktop/DBus', interface: 'org.freedesktop.DBus' };
const SYSTEM_BUS = 'unix:path=/run/dbus/system_bus_socket';
const CALL_TIMEOUT_MS = 25_000;

interface DbusCall {
  readonly destination: string;
  readonly path: string;
  readonly interface: string;
  readonly member: string;
  readonly signature?: string;
  readonly body?: readonly DbusValue[];
}

/** A client's connection to a D-Bus message bus over its Unix socket. It cannot pass file descriptors. */
export class DbusConnection implements AsyncDisposable {
  readonly #socket: Socket;
  readonly #pending = new Map<number, { resolve(body: readonly DbusValue[]): void; reject(error: AtmoError): void }>();
  readonly #listeners = new Set<(message: DbusMessage) => void>();
  #buffered = new Uint8Array();
  #lastSerial = 0;

  private constructor(socket: Socket) {
    this.#socket = socket;
  }

  /** Connects to a bus address such as `unix:path=/run/dbus/system_bus_socket`. Throws NOT_CONFIGURED if no bus answers there. */
  static async open(address = process.env.DBUS_SYSTEM_BUS_ADDRESS ?? SYSTEM_BUS): Promise<DbusConnection> {
    const path = /^unix:(?:.*,)?path=([^,;]+)/.exec(address)?.[1];
    if (path === undefined) throw new AtmoError('NOT_CONFIGURED', `The D-Bus address ${address} is not of the form unix:path=…`);
    const socket = connect(path);
    try {
      await once(socket, 'connect');
      await authenticate(socket);
    } catch (cause) {
      socket.destroy();
      throw new AtmoError('NOT_CONFIGURED', `No D-Bus answers at ${path}; is the package dbus installed and running?`, {}, { cause });
    }
    const connection = new DbusConnection(socket);
    connection.#listen();
    await connection.call({ ...MESSAGE_BUS, member: 'Hello' });
    return connection;
  }

  /** Calls a method. Throws DEVICE_UNREACHABLE if the call fails, TIMEOUT after 25 s, or CANCELLED if `signal` aborts. */
  async call(call: DbusCall, options: { readonly signal?: AbortSignal } = {}): Promise<readonly DbusValue[]> {
    const { promise, resolve, reject } = Promise.withResolvers<readonly DbusValue[]>();
    const serial = this.send({ ...call, type: 'call' });
    this.#pending.set(serial, { resolve, reject });
    const timer = setTimeout(
      () => reject(new AtmoError('TIMEOUT', `${call.member} of ${call.destination} took too long`)),
      CALL_TIMEOUT_MS,
    );
    const stop = (): void => reject(new AtmoError('CANCELLED', `${call.member} was stopped`));
    options.signal?.addEventListener('abort', stop, { once: true });
    if (options.signal?.aborted) stop();
    return await promise.finally(() => {
      clearTimeout(timer);
      options.signal?.removeEventListener('abort', stop);
      this.#pending.delete(serial);
    });
  }

  send(message: Partial<DbusMessage> & Pick<DbusMessage, 'type'>): number {
    this.#lastSerial += 1;
    this.#socket.write(encodeMessage({ ...message, serial: this.#lastSerial }));
    return this.#lastSerial;
  }

  /** Calls `listener` with each method call and signal from the bus, but not with replies. A reply settles its pending call. */
  onMessage(listener: (message: DbusMessage) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#socket.destroy();
  }

  #listen(): void {
    this.#socket.on('data', (chunk) => this.#receive(chunk));
    this.#socket.on('error', () => {});
    this.#socket.on('close', () => {
      for (const { reject } of this.#pending.values()) reject(new AtmoError('DEVICE_UNREACHABLE', 'The connection to D-Bus was lost'));
    });
  }

  #receive(chunk: Uint8Array): void {
    this.#buffered = new Uint8Array(Buffer.concat([this.#buffered, chunk]));
    try {
      for (let next = decodeMessage(this.#buffered); next !== undefined; next = decodeMessage(this.#buffered)) {
        this.#buffered = this.#buffered.slice(next.end);
        this.#dispatch(next.message);
      }
    } catch {
      // After a message that cannot be parsed, the start of the next one is unknown. So the connection is closed, and pending calls fail.
      this.#socket.destroy();
    }
  }

  #dispatch(message: DbusMessage): void {
    if (message.type === 'return') this.#pending.get(message.replySerial)?.resolve(message.body);
    else if (message.type === 'error') this.#pending.get(message.replySerial)?.reject(errorOf(message));
    else for (const listener of this.#listeners) listener(message);
  }
}

/** Authenticates with SASL EXTERNAL (D-Bus specification, "Authentication Protocol"): the kernel tells the bus our user id. */
async function authenticate(socket: Socket): Promise<void> {
  const uid = Buffer.from(String(process.getuid?.() ?? 0)).toString('hex');
  socket.write(`\0AUTH EXTERNAL ${uid}\r\n`);
  const [answer] = (await once(socket, 'data')) as [Buffer];
  if (!answer.toString('latin1').startsWith('OK ')) throw new AtmoError('NOT_CONFIGURED', 'The bus does not let this user in');
  socket.write('BEGIN\r\n');
}

function errorOf(message: DbusMessage): AtmoError {
  const text = typeof message.body[0] === 'string' ? `: ${message.body[0]}` : '';
  return new AtmoError('DEVICE_UNREACHABLE', `${message.errorName}${text}`, { dbusError: message.errorName });
}
