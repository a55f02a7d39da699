import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import type { BleAdapter, BleAdvertisement, GattLink } from '../../src/matter/ble/ble-central.ts';
import { onFrames, sendFrame } from './radio-frames.ts';

/** The hub's side of the virtual radio: devices are unix sockets, an address is a socket's path. */
export class VirtualAdapter implements BleAdapter {
  readonly #paths: readonly string[];
  #listening: Socket[] = [];

  constructor(paths: readonly string[]) {
    this.#paths = paths;
  }

  async startScanning(heard: (advertisement: BleAdvertisement) => void): Promise<void> {
    await this.stopScanning();
    this.#listening = this.#paths.map((path) => {
      const socket = connect(path, () => sendFrame(socket, 'listen'));
      socket.on('error', () => {});
      onFrames(socket, (kind, data) => kind === 'advertise' && heard({ address: path, serviceData: data }));
      return socket;
    });
  }

  async stopScanning(): Promise<void> {
    for (const socket of this.#listening) socket.destroy();
    this.#listening = [];
  }

  async connect(address: string): Promise<GattLink> {
    const socket = connect(address);
    await once(socket, 'connect');
    sendFrame(socket, 'connect');
    return new VirtualLink(socket);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stopScanning();
  }
}

class VirtualLink implements GattLink {
  readonly mtuBytes = 100;
  readonly #socket: Socket;
  #written: () => void = () => {};
  #indicated: (data: Uint8Array) => void = () => {};

  constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('error', () => {});
    onFrames(socket, (kind, data) => {
      if (kind === 'written') this.#written();
      if (kind === 'indicate') this.#indicated(data);
    });
  }

  async write(data: Uint8Array): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#written = resolve;
    sendFrame(this.#socket, 'write', data);
    await promise;
  }

  async subscribe(indicated: (data: Uint8Array) => void): Promise<void> {
    this.#indicated = indicated;
    sendFrame(this.#socket, 'subscribe');
  }

  onLost(listener: () => void): void {
    this.#socket.once('close', listener);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#socket.destroy();
  }
}
