import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { AtmoError, systemCode } from '../../core/errors.ts';
import {
  type GpioChip,
  type GpioEdge,
  type GpioInput,
  type GpioInputRequest,
  type GpioLineInfo,
  type GpioOutput,
  type GpioOutputRequest,
  onlyOnce,
} from './gpio-chip.ts';

const CLASS = 'class/gpio';

/**
 * A chip that is used through `/sys/class/gpio` (Documentation/ABI/obsolete/sysfs-gpio) and the package onoff, for kernels before 5.10. The
 * line numbers of this interface differ between kernels, so the class adds each line's offset to the chip's base number.
 */
export class SysfsChip implements GpioChip {
  readonly name: string;
  readonly label: string;
  readonly #onoff: OnoffModule;
  readonly #folder: string;
  readonly #base: number;
  readonly #lineCount: number;
  readonly #taken = new Map<number, GpioLineInfo['direction']>();

  /** Opens the chip labelled or named `wanted`; without `wanted`, the first chip. If there is none, throws NOT_FOUND with all labels. */
  constructor(onoff: OnoffModule, wanted: string | undefined, sysfs = '/sys') {
    const folder = join(sysfs, CLASS);
    const chips = chipsIn(folder);
    const chip = wanted === undefined ? chips[0] : chips.find(({ label, name }) => label === wanted || name === wanted);
    if (!chip) {
      const labels = chips.map(({ label }) => label);
      throw new AtmoError('NOT_FOUND', `No GPIO chip ${wanted ?? ''} in ${folder}, only ${labels.join(', ') || 'none'}`, { chips: labels });
    }
    this.name = chip.name;
    this.label = chip.label;
    this.#onoff = onoff;
    this.#folder = folder;
    this.#base = chip.base;
    this.#lineCount = chip.lineCount;
  }

  lines(): readonly GpioLineInfo[] {
    return Array.from({ length: this.#lineCount }, (_, offset) => {
      const ours = this.#taken.get(offset);
      const isExported = existsSync(join(this.#folder, `gpio${this.#base + offset}`));
      const consumer = ours ? 'atmosphere-edge' : isExported ? 'sysfs' : '';
      return { offset, name: '', consumer, isUsed: consumer !== '', direction: ours ?? 'input' };
    });
  }

  requestInput({ offset, isActiveLow, bias, edge, debounceMs }: GpioInputRequest, onEdge: (edge: GpioEdge) => void): GpioInput {
    if (bias !== 'as-is') {
      throw new AtmoError('NOT_SUPPORTED', `Line ${offset}: this interface of the kernel knows no bias; set backend: chardev`, { offset });
    }
    const line = this.#take(offset, 'input', () => {
      return new this.#onoff.Gpio(this.#base + offset, 'in', edge, { debounceTimeout: debounceMs, activeLow: isActiveLow });
    });
    const held = this.#held(offset, line);
    try {
      withGpioErrors(`Line ${offset} of ${this.label}`, () =>
        line.watch((error, value) => {
          if (!error) onEdge({ edge: value === 1 ? 'rising' : 'falling', ageMs: 0, missed: 0 });
        }),
      );
      return held;
    } catch (error) {
      held[Symbol.dispose]();
      throw error;
    }
  }

  requestOutput({ offset, isActiveLow, isActive }: GpioOutputRequest): GpioOutput {
    // Only `high` and `low` set direction and value in one step. They mean voltages, whatever the active-low setting is.
    const voltage = isActive === isActiveLow ? 'low' : 'high';
    const line = this.#take(offset, 'output', () => {
      return new this.#onoff.Gpio(this.#base + offset, voltage, 'none', { debounceTimeout: 0, activeLow: isActiveLow });
    });
    return this.#held(offset, line);
  }

  [Symbol.dispose](): void {}

  #take(offset: number, direction: GpioLineInfo['direction'], open: () => OnoffLine): OnoffLine {
    if (offset >= this.#lineCount) {
      throw new AtmoError('NOT_FOUND', `${this.label} has no line ${offset}, only 0 to ${this.#lineCount - 1}`, { offset });
    }
    if (this.lines()[offset]?.isUsed) throw new AtmoError('CONFLICT', `Line ${offset} of ${this.label} is in use already`, { offset });
    const line = withGpioErrors(`Line ${offset} of ${this.label}`, open);
    this.#taken.set(offset, direction);
    return line;
  }

  #held(offset: number, line: OnoffLine): GpioInput & GpioOutput {
    const what = `Line ${offset} of ${this.label}`;
    return {
      isActive: () => withGpioErrors(what, () => line.readSync() === 1),
      set: (isActive) => withGpioErrors(what, () => line.writeSync(isActive ? 1 : 0)),
      [Symbol.dispose]: onlyOnce(() => {
        this.#taken.delete(offset);
        line.unwatchAll();
        line.unexport();
      }),
    };
  }
}

interface ChipEntry {
  readonly name: string;
  readonly label: string;
  readonly base: number;
  readonly lineCount: number;
}

function chipsIn(folder: string): readonly ChipEntry[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((name) => name.startsWith('gpiochip'))
    .map((name) => ({
      name,
      label: attribute(folder, name, 'label'),
      base: Number(attribute(folder, name, 'base')),
      lineCount: Number(attribute(folder, name, 'ngpio')),
    }));
}

function attribute(folder: string, chip: string, name: string): string {
  return readFileSync(join(folder, chip, name), 'utf8').trim();
}

/** Runs a call, and converts errors of the kernel to errors of the port. */
function withGpioErrors<Result>(what: string, call: () => Result): Result {
  try {
    return call();
  } catch (cause) {
    const code = systemCode(cause);
    if (code === 'EBUSY') throw new AtmoError('CONFLICT', `${what} is in use already`, {}, { cause });
    if (code === 'EINVAL') throw new AtmoError('NOT_SUPPORTED', `${what} cannot do this`, {}, { cause });
    throw new AtmoError('DEVICE_UNREACHABLE', `${what} cannot be reached: ${code}`, {}, { cause });
  }
}

/** The methods of a line that the hub uses from the package `onoff` (version 6). */
export interface OnoffLine {
  readSync(): number;
  writeSync(value: 0 | 1): void;
  watch(callback: (error: Error | null | undefined, value: number) => void): void;
  unwatchAll(): void;
  unexport(): void;
}

/** The package `onoff`. `number` is a line's number in `/sys/class/gpio/export`. */
export interface OnoffModule {
  readonly Gpio: new (
    number: number,
    direction: 'in' | 'high' | 'low',
    edge: 'none' | 'rising' | 'falling' | 'both',
    options: { readonly debounceTimeout: number; readonly activeLow: boolean },
  ) => OnoffLine;
}

/** Loads the package onoff. It is no dependency, because its installation compiles code. Throws NOT_CONFIGURED if it is missing. */
export async function loadOnoff(): Promise<OnoffModule> {
  // The name is in a variable, so that the type checker and the bundler do not need the package.
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
