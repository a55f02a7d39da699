/** The advertisement of a Matter device that can be commissioned (Core §5.4.2.5.6). */
export interface BleAdvertisement {
  /** Address of the device in the form of the adapter. */
  readonly address: string;
  /** Service data of the UUID 0xFFF6. */
  readonly serviceData: Uint8Array;
}

/** A GATT connection to the Matter service of one device (Core §4.19.3.2). */
export interface GattLink extends AsyncDisposable {
  /** Negotiated ATT_MTU in bytes; undefined when the adapter has none. */
  readonly mtuBytes: number | undefined;
  /** Writes characteristic C1 and waits for the device's confirmation. */
  write(data: Uint8Array): Promise<void>;
  /** Subscribes to characteristic C2; `onIndication` is called with each indication. */
  subscribe(onIndication: (data: Uint8Array) => void): Promise<void>;
  /** Calls `listener` once when the connection ends, from either side. */
  onLost(listener: () => void): void;
}

/** Port: the Bluetooth radio as a central. */
export interface BleAdapter extends AsyncDisposable {
  startScanning(onAdvertisement: (advertisement: BleAdvertisement) => void): Promise<void>;
  stopScanning(): Promise<void>;
  /** Throws DEVICE_UNREACHABLE when the device cannot be connected or has no Matter service. */
  connect(address: string, options: { readonly signal: AbortSignal }): Promise<GattLink>;
}
