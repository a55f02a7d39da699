import '../matter-platform.ts';
import { Bytes, type Transport } from '@matter/main';
import { BleChannel, BleChannelClosedError, BleError, BtpCodec, BtpSessionHandler, MatterBle } from '@matter/main/protocol';
import type { GattLink } from './ble-central.ts';

/** Number of BTP segments that we accept before we acknowledge them (Core §4.19.4.3). */
const WINDOW_SIZE = 4;

/** Sends and receives whole Matter messages over a GATT connection; the Bluetooth Transport Protocol (Core §4.19) segments them. */
export class BtpChannel extends BleChannel {
  readonly name: string;
  readonly #link: GattLink;
  readonly #closeListeners = new Set<() => void>();
  #session: BtpSessionHandler | undefined;
  #onMessage: (data: Bytes) => void = () => {};
  #isClosed = false;
  #writes: Promise<void> = Promise.resolve();
  #pendingWrites = 0;
  #received: Promise<void> = Promise.resolve();

  private constructor(link: GattLink, name: string) {
    super();
    this.#link = link;
    this.name = name;
    link.onLost(() => void this.close());
  }

  /** Performs the BTP handshake as the central; closes the GATT connection if the handshake fails. */
  static async open(link: GattLink, options: { readonly name: string; readonly signal: AbortSignal }): Promise<BtpChannel> {
    const channel = new BtpChannel(link, options.name);
    try {
      await channel.#shakeHands(options.signal);
      return channel;
    } catch (error) {
      await channel.close();
      throw error;
    }
  }

  /** Calls `listener` with each complete Matter message from the device. */
  onMessage(listener: (data: Bytes) => void): void {
    this.#onMessage = listener;
  }

  async send(data: Bytes): Promise<void> {
    if (this.#session === undefined || this.#isClosed) throw new BleChannelClosedError(`The Bluetooth connection ${this.name} is closed`);
    await this.#session.sendMatterMessage(data);
  }

  onClose(listener: () => void): Transport.Listener {
    this.#closeListeners.add(listener);
    return {
      close: async () => {
        this.#closeListeners.delete(listener);
      },
    };
  }

  /** Yields nothing: matter.js receives messages from the transport and never iterates over a channel. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Bytes> {}

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    for (const listener of this.#closeListeners) listener();
    this.emitClosed();
    await this.#session?.close();
    await this.#link[Symbol.asyncDispose]();
  }

  async #shakeHands(signal: AbortSignal): Promise<void> {
    const attMtu = MatterBle.btpSegmentSizeFromAttMtu(this.#link.mtuBytes ?? MatterBle.MINIMUM_ATT_MTU + 3);
    const { promise: response, resolve, reject } = Promise.withResolvers<Uint8Array>();
    const stop = (): void => reject(new BleError('The device did not answer over Bluetooth in time'));
    signal.addEventListener('abort', stop, { once: true });
    this.onClose(() => reject(new BleChannelClosedError('The device ended the Bluetooth connection')));
    response.catch(() => {});
    let received: (data: Uint8Array) => void = resolve;
    try {
      const request = BtpCodec.encodeBtpHandshakeRequest({ versions: [4, 0, 0, 0, 0, 0, 0, 0], attMtu, clientWindowSize: WINDOW_SIZE });
      await this.#link.write(Bytes.of(request));
      await this.#link.subscribe((data) => received(data));
      const session = await this.#sessionFrom(await response);
      received = (data) => this.#receive(session, data);
      this.#session = session;
    } finally {
      signal.removeEventListener('abort', stop);
    }
  }

  #sessionFrom(handshakeResponse: Uint8Array): Promise<BtpSessionHandler> {
    return BtpSessionHandler.createAsCentral(
      handshakeResponse,
      (data) => this.#write(Bytes.of(data)),
      () => this.close(),
      async (data) => this.#onMessage(data),
    );
  }

  /**
   * Handles received data in order, and only while no write runs. If matter.js 0.17.9 got data during a write, it would not acknowledge the
   * data, and the device would wait until its timeout.
   */
  #receive(session: BtpSessionHandler, data: Uint8Array): void {
    this.#received = this.#received.then(async () => {
      while (this.#pendingWrites > 0) await this.#writes;
      await session.handleIncomingBleData(data);
    });
    this.#received.catch(() => this.close());
  }

  /** Writes segments one after the other. GATT allows one write at a time, but matter.js may send an acknowledgement during a write. */
  #write(data: Uint8Array): Promise<void> {
    this.#pendingWrites += 1;
    const written = this.#writes
      .then(() => this.#link.write(data))
      .finally(() => {
        this.#pendingWrites -= 1;
      });
    this.#writes = written.catch(() => {});
    return written;
  }
}
