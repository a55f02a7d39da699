import '../matter-platform.ts';
import { Ble, type BlePeripheralInterface, BleScanner, type BleScannerClient } from '@matter/main/protocol';
import { AtmoError } from '../../core/errors.ts';
import type { BleAdapter } from './ble-adapter.ts';
import { BleCentral } from './ble-central.ts';

/** matter.js's view of a Bluetooth adapter. The hub is only ever a central. */
export class HubBle extends Ble implements AsyncDisposable {
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
