/** What a Matter device that can be commissioned advertises (Core §5.4.2.5.6). */
export interface BleAdvertisement {
  /** Address of the device as the adapter names it. */
  readonly address: string;
  /** Service data of the UUID 0xFFF6. */
  readonly serviceData: Uint8Array;
}

/** A GATT connection to the Matter service of one device (Core §4.19.3.2). */
export interface GattLink extends AsyncDisposable {
  /** Negotiated ATT_MTU in bytes; undefined when the adapter does not know. */
  readonly mtuBytes: number | undefined;
  /** Writes characteristic C1 and waits for the device's confirmation. */
  write(data: Uint8Array): Promise<void>;
  /** Asks for indications of characteristic C2; each goes to `indicated`. */
  subscribe(indicated: (data: Uint8Array) => void): Promise<void>;
  /** Hears once that the connection is lost, whoever ended it. */
  onLost(listener: () => void): void;
}

/** Port: the Bluetooth radio as a central. */
export interface BleAdapter extends AsyncDisposable {
  startScanning(heard: (advertisement: BleAdvertisement) => void): Promise<void>;
  stopScanning(): Promise<void>;
  /** DEVICE_UNREACHABLE when the device cannot be connected or has no Matter service. */
  connect(address: string, options: { readonly signal: AbortSignal }): Promise<GattLink>;
}
