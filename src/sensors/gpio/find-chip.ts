import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { AtmoError } from '../../core/errors.ts';
import { ChardevChip } from './chardev-chip.ts';
import type { GpioChip } from './gpio-chip.ts';
import type { GpioKernel } from './gpio-kernel.ts';

/** Drivers of the header with 40 pins: Raspberry Pi 5, Raspberry Pi 4, Raspberry Pi 3 and Zero 2 W. */
const HEADER_LABELS = ['pinctrl-rp1', 'pinctrl-bcm2711', 'pinctrl-bcm2835'];
const CHIP_FILE = /^gpiochip\d+$/;

/** Where a test puts other device files and another kernel. */
interface ChipPlaces {
  readonly kernel: GpioKernel;
  readonly devDir?: string;
}

/**
 * The chip of a label (`pinctrl-rp1`), a name (`gpiochip0`) or a path (`/dev/gpiochip0`); the one of the board's header when absent.
 * Numbers of chips change between kernels and boards, labels do not. NOT_FOUND says which chips there are.
 */
export function findChip(wanted: string | undefined, { kernel, devDir = '/dev' }: ChipPlaces): GpioChip {
  if (wanted?.startsWith('/')) return new ChardevChip(kernel, wanted);
  const chips = openChips(kernel, devDir);
  const chip = wanted === undefined ? headerOf(chips) : chips.find(({ label, name }) => label === wanted || name === wanted);
  for (const other of chips) if (other !== chip) other[Symbol.dispose]();
  if (chip) return chip;
  const there =
    chips.length === 0 ? 'there is none that this user may open (group gpio)' : `there are ${chips.map(labelAndName).join(', ')}`;
  throw new AtmoError('NOT_FOUND', `No GPIO chip ${wanted ?? "of the board's header"}: ${there}`, {
    chips: chips.map(({ label }) => label),
  });
}

function openChips(kernel: GpioKernel, devDir: string): readonly GpioChip[] {
  return chipFiles(devDir).flatMap((file) => {
    try {
      return [new ChardevChip(kernel, join(devDir, file))];
    } catch {
      return [];
    }
  });
}

function chipFiles(devDir: string): readonly string[] {
  try {
    return readdirSync(devDir)
      .filter((file) => CHIP_FILE.test(file))
      .sort((a, b) => Number(a.slice(8)) - Number(b.slice(8)));
  } catch {
    return [];
  }
}

/** A board with one chip needs no label. */
function headerOf(chips: readonly GpioChip[]): GpioChip | undefined {
  return chips.find(({ label }) => HEADER_LABELS.includes(label)) ?? (chips.length === 1 ? chips[0] : undefined);
}

function labelAndName({ label, name }: GpioChip): string {
  return `${label} (${name})`;
}
