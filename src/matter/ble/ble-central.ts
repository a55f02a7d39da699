import '../matter-platform.ts';
import { type Bytes, type Channel, ChannelType, ServerAddress, type Transport } from '@matter/main';
import { Ble, BleError, type BlePeripheralInterface, BleScanner, type BleScannerClient } from '@matter/main/protocol';
import { AtmoError } from '../../core/errors.ts';
import type { BleAdapter } from './ble-adapter.ts';
import { BtpChannel } from './btp-channel.ts';

/** matter.js's view of a Bluetooth adapter. The hub is only ever a central. */
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

type DataListener = (channel: Channel<Bytes>, data: Bytes) => void;

/** Longest time to connect and shake hands (Core §4.19.4.3, BTP_CONN_RSP_TIMEOUT, twice for slow radios). */
const CONNECT_TIMEOUT_MS = 30_000;

/** Carries Matter messages to devices over BLE: what matter.js takes as its transport for commissioning. */
class BleCentral implements Transport {
  readonly #adapter: BleAdapter;
  readonly #channels = new Map<BtpChannel, string>();
  #listener: DataListener | undefined;

  constructor(adapter: BleAdapter) {
    this.#adapter = adapter;
  }

  onData(listener: DataListener): Transport.Listener {
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
    const link = await this.#connect(address.peripheralAddress, signal);
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

  /** Ends the connections to a device: matter.js ends its sessions over them only, and a radio holds few at once. */
  async release(peripheralAddress: string): Promise<void> {
    for (const [channel, address] of this.#channels) if (address === peripheralAddress) await channel.close();
  }

  async #connect(address: string, signal: AbortSignal) {
    try {
      return await this.#adapter.connect(address, { signal });
    } catch (cause) {
      // matter.js tries the next address or device after a BleError; anything else would end the commissioning.
      throw new BleError('The device could not be connected over Bluetooth', { cause });
    }
  }
}
