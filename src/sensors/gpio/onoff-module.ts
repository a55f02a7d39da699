import { AtmoError } from '../../core/errors.ts';

/** A line of the package `onoff` (version 6), as far as it is used. */
export interface OnoffLine {
  readSync(): number;
  writeSync(value: 0 | 1): void;
  watch(callback: (error: Error | null | undefined, value: number) => void): void;
  unwatchAll(): void;
  unexport(): void;
}

/** The package `onoff`: numbers are those of `/sys/class/gpio/export`. */
export interface OnoffModule {
  readonly Gpio: new (
    number: number,
    direction: 'in' | 'high' | 'low',
    edge: 'none' | 'rising' | 'falling' | 'both',
    options: { readonly debounceTimeout: number; readonly activeLow: boolean },
  ) => OnoffLine;
}

/** Loads the package where the owner has installed it: it compiles at installation, so the hub does not bring it. NOT_CONFIGURED else. */
export async function loadOnoff(): Promise<OnoffModule> {
  // A name in a variable: neither types nor the bundle need the package.
  const name = 'onoff';
  try {
    const loaded: OnoffModule & { readonly default?: OnoffModule } = await import(name);
    return loaded.Gpio ? loaded : (loaded.default ?? loaded);
  } catch (error) {
    throw new AtmoError(
      'NOT_CONFIGURED',
      'sensors.gpio.backend: sysfs needs the package onoff: npm install onoff where the hub finds it (docs/install.md), or set backend: chardev',
      {},
      { cause: error },
    );
  }
}
