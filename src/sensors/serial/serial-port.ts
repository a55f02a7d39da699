import { AtmoError } from '../../core/errors.ts';
import type { SerialPortConfig } from './serial-config.ts';

/** What a port tells while it is open. */
export interface PortListener {
  data(chunk: Buffer): void;
  /** It is gone, pulled or failed; said once. */
  closed(reason: string): void;
}

/** Port: opens a serial port for reading. DEVICE_UNREACHABLE, or NOT_CONFIGURED without the package that it takes. */
export type OpenSerialPort = (
  settings: Pick<SerialPortConfig, 'path' | 'baud' | 'parity' | 'dataBits' | 'stopBits'>,
  listener: PortListener,
) => Promise<AsyncDisposable>;

/** The part of the package `serialport` that is used. */
interface SerialModule {
  readonly SerialPort: new (options: object, opened: (error: Error | null) => void) => SerialStream;
}

interface SerialStream {
  readonly isOpen: boolean;
  on(event: 'data', hear: (chunk: Buffer) => void): unknown;
  on(event: 'error', hear: (error: Error) => void): unknown;
  on(event: 'close', hear: (error?: Error) => void): unknown;
  close(closed: () => void): void;
}

const PACKAGE = 'serialport';

/** Opens ports through the package `serialport`, which the owner installs: most hubs have no such port. */
export function serialPorts(load: () => Promise<unknown> = () => import(PACKAGE)): OpenSerialPort {
  return async ({ path, baud, parity, dataBits, stopBits }, listener) => {
    const { SerialPort } = await loadModule(load);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const port = new SerialPort({ path, baudRate: baud, parity, dataBits, stopBits, lock: true }, (error) => {
      if (error) reject(new AtmoError('DEVICE_UNREACHABLE', `${path} cannot be opened: ${error.message}`));
      else resolve();
    });
    port.on('data', (chunk) => listener.data(chunk));
    port.on('error', () => {});
    port.on('close', (error) => listener.closed(error?.message ?? 'closed'));
    await promise;
    return {
      async [Symbol.asyncDispose]() {
        if (port.isOpen) await new Promise<void>((done) => port.close(done));
      },
    };
  };
}

async function loadModule(load: () => Promise<unknown>): Promise<SerialModule> {
  try {
    return (await load()) as SerialModule;
  } catch (error) {
    const message =
      'Serial ports need the package serialport; run npm install --ignore-scripts serialport@13 where the hub finds it (docs/install.md)';
    throw new AtmoError('NOT_CONFIGURED', message, {}, { cause: error });
  }
}
