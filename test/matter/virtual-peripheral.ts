import { rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { Bytes, type Channel, ChannelType, type Duration, type Transport } from '@matter/main';
import { Ble, BleChannel, BleError, type BlePeripheralInterface, BtpSessionHandler, type Scanner } from '@matter/main/protocol';
import { onFrames, sendFrame } from './radio-frames.ts';

type DataListener = (channel: Channel<Bytes>, data: Bytes) => void;

/** Flags, service data header and UUID before the 8 bytes of a Matter advertisement (Core §5.4.2.5.6). */
const SERVICE_DATA_BYTES = 8;
/** Small, so that every longer message is cut into segments. */
const SEGMENT_BYTES = 97;

/** A device's side of the virtual radio: a GATT server with the Matter service behind a unix socket. */
export class VirtualPeripheral extends Ble {
  readonly peripheralInterface: PeripheralTransport;

  constructor(path: string) {
    super();
    this.peripheralInterface = new PeripheralTransport(path);
  }

  get centralInterface(): Transport {
    throw new BleError('a device is no central');
  }

  get scanner(): Scanner {
    throw new BleError('a device does not scan');
  }
}

class PeripheralTransport implements BlePeripheralInterface {
  readonly #path: string;
  readonly #listening = new Set<Socket>();
  #server: Server | undefined;
  #advertised: Uint8Array | undefined;
  #listener: DataListener = () => {};

  constructor(path: string) {
    this.#path = path;
  }

  async advertise(data: Bytes, _additional?: Bytes, _interval?: Duration): Promise<void> {
    if (this.#server === undefined) {
      rmSync(this.#path, { force: true });
      this.#server = createServer((socket) => this.#accept(socket)).listen(this.#path);
    }
    this.#advertised = Bytes.of(data).slice(-SERVICE_DATA_BYTES);
    for (const socket of this.#listening) sendFrame(socket, 'advertise', this.#advertised);
  }

  async stopAdvertising(): Promise<void> {
    this.#advertised = undefined;
  }

  onData(listener: DataListener): Transport.Listener {
    this.#listener = listener;
    return { close: async () => {} };
  }

  openChannel(): never {
    throw new BleError('a device opens no channels');
  }

  supports(type: ChannelType): boolean {
    return type === ChannelType.BLE;
  }

  async close(): Promise<void> {
    this.#server?.close();
  }

  #accept(socket: Socket): void {
    socket.on('error', () => {});
    let channel: PeripheralChannel | undefined;
    onFrames(socket, (kind, data) => {
      if (kind === 'listen') this.#listen(socket);
      if (kind === 'connect') channel = new PeripheralChannel(socket, (message) => channel && this.#listener(channel, message));
      if (kind === 'write') channel?.written(data);
      if (kind === 'subscribe') void channel?.subscribed();
    });
  }

  #listen(socket: Socket): void {
    this.#listening.add(socket);
    socket.on('close', () => this.#listening.delete(socket));
    if (this.#advertised !== undefined) sendFrame(socket, 'advertise', this.#advertised);
  }
}

class PeripheralChannel extends BleChannel {
  readonly name = 'virtual-radio';
  readonly #socket: Socket;
  readonly #message: (data: Bytes) => void;
  #received: Promise<void> = Promise.resolve();
  #handshake: Uint8Array | undefined;
  #session: BtpSessionHandler | undefined;

  constructor(socket: Socket, message: (data: Bytes) => void) {
    super();
    this.#socket = socket;
    this.#message = message;
    socket.on('close', () => this.emitClosed());
  }

  written(data: Uint8Array): void {
    sendFrame(this.#socket, 'written');
    const session = this.#session;
    if (session === undefined) this.#handshake = data;
    // One after the other: matter.js does not acknowledge what comes in while it acknowledges.
    else this.#received = this.#received.then(() => session.handleIncomingBleData(data));
  }

  async subscribed(): Promise<void> {
    if (this.#handshake === undefined) return;
    this.#session = await BtpSessionHandler.createFromHandshakeRequest(
      SEGMENT_BYTES,
      this.#handshake,
      async (data) => sendFrame(this.#socket, 'indicate', Bytes.of(data)),
      () => this.close(),
      async (data) => this.#message(data),
    );
  }

  async send(data: Bytes): Promise<void> {
    await this.#session?.sendMatterMessage(data);
  }

  onClose(listener: () => void): Transport.Listener {
    this.#socket.on('close', listener);
    return {
      close: async () => {
        this.#socket.off('close', listener);
      },
    };
  }

  async close(): Promise<void> {
    this.#socket.end();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Bytes> {}
}
