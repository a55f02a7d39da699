import '../matter-platform.ts';
import { type Bytes, type Channel, ChannelType, ServerAddress, type Transport } from '@matter/main';
import { BleError } from '@matter/main/protocol';
import type { BleAdapter } from './ble-adapter.ts';
import { BtpChannel } from './btp-channel.ts';

type DataListener = (channel: Channel<Bytes>, data: Bytes) => void;

/** Longest time to connect and shake hands (Core §4.19.4.3, BTP_CONN_RSP_TIMEOUT, twice for slow radios). */
const CONNECT_TIMEOUT_MS = 30_000;

/** Carries Matter messages to devices over BLE: what matter.js takes as its transport for commissioning. */
export class BleCentral implements Transport {
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
