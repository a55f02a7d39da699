import '../matter-platform.ts';
import { type Bytes, type Channel, ChannelType, ServerAddress, type Transport } from '@matter/main';
import { Ble, BleError, type BlePeripheralInterface, BleScanner, type BleScannerClient } from '@matter/main/protocol';
import { AtmoError } from '../../core/errors.ts';
import { BtpChannel } from './btp-channel.ts';

/** Gives matter.js Bluetooth through a BleAdapter. The hub is always the central, never a peripheral. */
export class AdapterBle extends Ble implements AsyncDisposable {
  readonly #adapter: BleAdapter;
  readonly centralInterface: BleCentral;
  readonly scanner: BleScanner;

  constructor(adapter: BleAdapter) {
    super();
    this.#adapter = adapter;
    this.centralInterface = new BleCentral(adapter);
    this.scanner = new BleScanner(scannerClient(adapter));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.centralInterface.close();
    await this.#adapter[Symbol.asyncDispose]();
  }

  get peripheralInterface(): BlePeripheralInterface {
    throw new AtmoError('NOT_SUPPORTED', 'The hub does not offer itself over Bluetooth');
  }
}

function scannerClient(adapter: BleAdapter): BleScannerClient {
  let discovered: Parameters<BleScannerClient['setDiscoveryCallback']>[0] = () => {};
  return {
    setDiscoveryCallback(callback) {
      discovered = callback;
    },
    startScanning: () => adapter.startScanning(({ address, serviceData }) => discovered({ address }, serviceData)),
    stopScanning: () => adapter.stopScanning(),
  };
}

/** Maximum time to connect and complete the BTP handshake: twice BTP_CONN_RSP_TIMEOUT (Core §4.19.4.3), for slow radios. */
const CONNECT_TIMEOUT_MS = 30_000;

/** The BLE transport of matter.js for commissioning: sends Matter messages to devices. */
class BleCentral implements Transport {
  readonly #adapter: BleAdapter;
  readonly #channels = new Map<BtpChannel, string>();
  #listener: Parameters<Transport['onData']>[0] | undefined;

  constructor(adapter: BleAdapter) {
    this.#adapter = adapter;
  }

  onData(listener: Parameters<Transport['onData']>[0]): Transport.Listener {
    this.#listener = listener;
    return {
      close: async () => {
        this.#listener = undefined;
      },
    };
  }

  async openChannel(address: ServerAddress, options: Transport.OpenChannelOptions = {}): Promise<Channel<Bytes>> {
    if (!ServerAddress.isBle(address)) throw new BleError('Only devices in Bluetooth reach can be connected here');
    const timeout = AbortSignal.timeout(CONNECT_TIMEOUT_MS);
    const signal = options.abort === undefined ? timeout : AbortSignal.any([options.abort, timeout]);
    const link = await this.#adapter.connect(address.peripheralAddress, { signal }).catch((cause: unknown) => {
      // Only after a BleError does matter.js try the next address or device. Any other error would end the commissioning.
      throw new BleError('The device could not be connected over Bluetooth', { cause });
    });
    const channel = await BtpChannel.open(link, { name: `ble://${address.peripheralAddress}`, signal });
    channel.onMessage((data) => this.#listener?.(channel, data));
    this.#channels.set(channel, address.peripheralAddress);
    channel.onClose(() => this.#channels.delete(channel));
    return channel;
  }

  supports(type: ChannelType): boolean {
    return type === ChannelType.BLE;
  }

  async close(): Promise<void> {
    for (const channel of this.#channels.keys()) await channel.close();
  }

  /** Closes the BLE connections to a device. matter.js would leave them open, and a radio supports only a few connections. */
  async release(peripheralAddress: string): Promise<void> {
    for (const [channel, address] of this.#channels) if (address === peripheralAddress) await channel.close();
  }
}

/** A BLE advertisement of a Matter device that can be commissioned (Core §5.4.2.5.6). */
export interface BleAdvertisement {
  /** Bluetooth address of the device in the adapter's format. */
  readonly address: string;
  /** Service data of the Matter service UUID 0xFFF6. */
  readonly serviceData: Uint8Array;
}

/** A GATT connection to the Matter service of one device (Core §4.19.3.2). */
export interface GattLink extends AsyncDisposable {
  /** Negotiated ATT_MTU in bytes, or undefined if the adapter does not report it. */
  readonly mtuBytes: number | undefined;
  /** Writes to GATT characteristic C1 and waits for the device's confirmation. */
  write(data: Uint8Array): Promise<void>;
  /** Subscribes to GATT characteristic C2; calls `onIndication` with each indication. */
  subscribe(onIndication: (data: Uint8Array) => void): Promise<void>;
  /** Calls `listener` once when either peer ends the connection. */
  onLost(listener: () => void): void;
}

/** Port to a Bluetooth radio. The radio acts as the central: it scans and connects to devices. */
export interface BleAdapter extends AsyncDisposable {
  startScanning(onAdvertisement: (advertisement: BleAdvertisement) => void): Promise<void>;
  stopScanning(): Promise<void>;
  /** Connects to a device. Throws DEVICE_UNREACHABLE if the connection fails or the device has no Matter service. */
  connect(address: string, options: { readonly signal: AbortSignal }): Promise<GattLink>;
}
