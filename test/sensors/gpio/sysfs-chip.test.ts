import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { loadOnoff, type OnoffLine, type OnoffModule, SysfsChip } from '../../../src/sensors/gpio/sysfs-chip.ts';
import { ManualClock } from '../../manual-clock.ts';
import { gpioChipContract } from './gpio-chip-contract.ts';

/** Where this kernel begins to count, as Linux 6.6 does on a Raspberry Pi 4. */
const BASE = 512;
const folders: string[] = [];

afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

/** `/sys/class/gpio` with one chip, and a package that behaves on it as onoff does on the kernel. */
class SysfsBench {
  readonly clock = new ManualClock();
  readonly sysfs = mkdtempSync(join(tmpdir(), 'atmo-gpio-'));
  readonly levels = new Map<number, boolean>();
  readonly #changed = new Map<number, () => void>();
  readonly onoff: OnoffModule;

  constructor() {
    folders.push(this.sysfs);
    const chip = join(this.sysfs, 'class/gpio/gpiochip512');
    mkdirSync(chip, { recursive: true });
    for (const [name, text] of Object.entries({ label: 'pinctrl-bcm2711', base: `${BASE}`, ngpio: '8' })) {
      writeFileSync(join(chip, name), `${text}\n`);
    }
    const bench = this;
    this.onoff = {
      Gpio: class {
        constructor(...parameters: ConstructorParameters<OnoffModule['Gpio']>) {
          // biome-ignore lint/correctness/noConstructorReturn: the class of the package, as a function makes it
          return bench.#line(...parameters) as unknown as this;
        }
      } as unknown as OnoffModule['Gpio'],
    };
  }

  drive(offset: number, isHigh: boolean): void {
    if (this.levels.get(offset) === isHigh) return;
    this.levels.set(offset, isHigh);
    this.#changed.get(offset)?.();
  }

  #line(...[number, direction, edge, { activeLow, debounceTimeout }]: ConstructorParameters<OnoffModule['Gpio']>): OnoffLine {
    const offset = number - BASE;
    const folder = join(this.sysfs, `class/gpio/gpio${number}`);
    mkdirSync(folder);
    if (direction !== 'in') this.levels.set(offset, direction === 'high');
    const value = () => ((this.levels.get(offset) ?? false) === activeLow ? 0 : 1);
    return {
      readSync: value,
      writeSync: (next) => void this.levels.set(offset, (next === 1) !== activeLow),
      watch: (callback) => this.#watch(offset, { edge, debounceTimeout, value, callback }),
      unwatchAll: () => void this.#changed.delete(offset),
      unexport: () => rmSync(folder, { recursive: true }),
    };
  }

  #watch(offset: number, watcher: Watcher): void {
    let known = watcher.value();
    let cancel = () => {};
    this.#changed.set(offset, () => {
      cancel();
      const settled = () => {
        const now = watcher.value();
        const isWanted = now !== known && (watcher.edge === 'both' || (now === 1) === (watcher.edge === 'rising'));
        known = now;
        if (isWanted) watcher.callback(undefined, now);
      };
      if (watcher.debounceTimeout > 0) cancel = this.clock.after(watcher.debounceTimeout, settled);
      else settled();
    });
  }
}

interface Watcher {
  readonly edge: string;
  readonly debounceTimeout: number;
  readonly value: () => 0 | 1;
  readonly callback: Parameters<OnoffLine['watch']>[0];
}

gpioChipContract('sysfs', () => {
  const bench = new SysfsBench();
  return {
    chip: new SysfsChip(bench.onoff, 'pinctrl-bcm2711', bench.sysfs),
    drive: (offset, isHigh) => bench.drive(offset, isHigh),
    isHigh: (offset) => bench.levels.get(offset) ?? false,
    pass: (ms) => bench.clock.advance(ms),
  };
});

test('a missing chip is refused with the names of the existing ones', () => {
  const { onoff, sysfs } = new SysfsBench();
  expect(() => new SysfsChip(onoff, 'pinctrl-rp1', sysfs)).toThrow(/No GPIO chip pinctrl-rp1 in .*, only pinctrl-bcm2711/);
  expect(() => new SysfsChip(onoff, undefined, join(sysfs, 'nothing'))).toThrow(/only none/);
});

test('a line that another program has exported is in use', () => {
  const { onoff, sysfs } = new SysfsBench();
  mkdirSync(join(sysfs, 'class/gpio/gpio515'));
  const chip = new SysfsChip(onoff, undefined, sysfs);
  expect(chip.lines()[3]).toMatchObject({ isUsed: true, consumer: 'sysfs' });
  expect(() => chip.requestOutput({ offset: 3, isActiveLow: false, isActive: false })).toThrow(/Line 3 of pinctrl-bcm2711 is in use/);
});

test('a bias is refused, since the interface has none', () => {
  const { onoff, sysfs } = new SysfsBench();
  const request = { offset: 3, isActiveLow: false, bias: 'pull-up', edge: 'both', debounceMs: 0 } as const;
  expect(() => new SysfsChip(onoff, undefined, sysfs).requestInput(request, () => undefined)).toThrow(/set backend: chardev/);
});

test.each([
  ['EBUSY', 'CONFLICT'],
  ['EINVAL', 'NOT_SUPPORTED'],
  ['EACCES', 'DEVICE_UNREACHABLE'],
])('what the kernel says is said in our words: %s', (errno, code) => {
  const { sysfs } = new SysfsBench();
  const refusing = class {
    constructor() {
      throw Object.assign(new Error(errno), { code: errno });
    }
  } as unknown as OnoffModule['Gpio'];
  const chip = new SysfsChip({ Gpio: refusing }, undefined, sysfs);
  expect(() => chip.requestOutput({ offset: 1, isActiveLow: false, isActive: false })).toThrow(expect.objectContaining({ code }));
});

test('without the package the error names the setting and the remedy', async () => {
  await expect(loadOnoff()).rejects.toMatchObject({ code: 'NOT_CONFIGURED', message: expect.stringContaining('npm install onoff') });
});
