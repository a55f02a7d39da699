import { describe, expect, test } from 'vitest';
import type { GpioChip, GpioEdge, GpioInputRequest } from '../../../src/sensors/gpio/gpio-chip.ts';

/** A chip with 8 lines that nobody uses, with what is connected to it. */
export interface ChipBench {
  readonly chip: GpioChip;
  /** Sets the voltage of a line from outside. */
  drive(offset: number, isHigh: boolean): void;
  /** The voltage of a line. */
  isHigh(offset: number): boolean;
  /** Lets time pass. */
  pass(ms: number): void;
}

const INPUT: GpioInputRequest = { offset: 3, isActiveLow: false, bias: 'as-is', edge: 'both', debounceMs: 0 };

/** What every way to a GPIO chip keeps to. */
export function gpioChipContract(name: string, open: () => ChipBench): void {
  const listening = (request: Partial<GpioInputRequest> = {}) => {
    const bench = open();
    const edges: GpioEdge[] = [];
    const input = bench.chip.requestInput({ ...INPUT, ...request }, (edge) => edges.push(edge));
    return { ...bench, edges, input, kinds: () => edges.map(({ edge }) => edge) };
  };
  const pulse = ({ drive, pass }: Pick<ChipBench, 'drive' | 'pass'>, ms: number) => {
    drive(3, true);
    pass(ms);
    drive(3, false);
    pass(ms);
  };

  describe(`${name}: lines`, () => {
    test('all are listed, free, in the order of their offsets', () => {
      const lines = open().chip.lines();
      expect(lines.map(({ offset }) => offset)).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
      expect(lines.every(({ isUsed, consumer }) => !isUsed && consumer === '')).toBe(true);
    });

    test('one that was taken is ours until it is given back', () => {
      const { chip } = open();
      const output = chip.requestOutput({ offset: 5, isActiveLow: false, isActive: false });
      expect(chip.lines()[5]).toMatchObject({ consumer: 'atmosphere-edge', isUsed: true, direction: 'output' });
      output[Symbol.dispose]();
      expect(chip.lines()[5]).toMatchObject({ consumer: '', isUsed: false });
    });

    test('one that was taken cannot be taken again, whichever way', () => {
      const { chip } = open();
      chip.requestInput(INPUT, () => undefined);
      expect(() => chip.requestInput(INPUT, () => undefined)).toThrow(/in use already/);
      expect(() => chip.requestOutput({ offset: 3, isActiveLow: false, isActive: true })).toThrow(/in use already/);
    });

    test('a line that the chip does not have is refused with those that it has', () => {
      expect(() => open().chip.requestOutput({ offset: 8, isActiveLow: false, isActive: false })).toThrow(/no line 8, only 0 to 7/);
    });

    test('giving back twice gives back once', () => {
      const { chip } = open();
      const first = chip.requestInput(INPUT, () => undefined);
      first[Symbol.dispose]();
      const second = chip.requestInput(INPUT, () => undefined);
      first[Symbol.dispose]();
      expect(second.isActive()).toBe(false);
      expect(chip.lines()[3]?.isUsed).toBe(true);
    });
  });

  describe(`${name}: outputs`, () => {
    test.each([true, false])('one has its first state from the moment on that it is taken: %s', (isActive) => {
      const { chip, isHigh } = open();
      const output = chip.requestOutput({ offset: 5, isActiveLow: false, isActive });
      expect([output.isActive(), isHigh(5)]).toEqual([isActive, isActive]);
    });

    test('an output has the state that was set last', () => {
      const { chip, isHigh } = open();
      const output = chip.requestOutput({ offset: 5, isActiveLow: false, isActive: false });
      output.set(true);
      expect([output.isActive(), isHigh(5)]).toEqual([true, true]);
      output.set(false);
      expect([output.isActive(), isHigh(5)]).toEqual([false, false]);
    });

    test('one that is active low has no voltage while it is on', () => {
      const { chip, isHigh } = open();
      const output = chip.requestOutput({ offset: 5, isActiveLow: true, isActive: true });
      expect([output.isActive(), isHigh(5)]).toEqual([true, false]);
      output.set(false);
      expect([output.isActive(), isHigh(5)]).toEqual([false, true]);
    });
  });

  describe(`${name}: inputs`, () => {
    test('an input has the state of the connected device', () => {
      const { input, drive } = listening();
      expect(input.isActive()).toBe(false);
      drive(3, true);
      expect(input.isActive()).toBe(true);
    });

    test('one that is active low is on without voltage', () => {
      const { input, drive, kinds } = listening({ isActiveLow: true });
      expect(input.isActive()).toBe(true);
      drive(3, true);
      expect([input.isActive(), kinds()]).toEqual([false, ['falling']]);
    });

    test('changes are emitted in order, and none is missed', () => {
      const bench = listening();
      pulse(bench, 100);
      pulse(bench, 100);
      expect(bench.kinds()).toEqual(['rising', 'falling', 'rising', 'falling']);
      expect(bench.edges.every(({ missed }) => missed === 0)).toBe(true);
    });

    test.each(['rising', 'falling'] as const)('only changes of one kind are told where nobody asked for the other: %s', (edge) => {
      const bench = listening({ edge });
      pulse(bench, 100);
      pulse(bench, 100);
      expect(bench.kinds()).toEqual([edge, edge]);
    });

    test('a change shorter than the debounce time is ignored', () => {
      const bench = listening({ debounceMs: 30 });
      pulse(bench, 10);
      bench.pass(100);
      expect(bench.kinds()).toEqual([]);
      pulse(bench, 100);
      expect(bench.kinds()).toEqual(['rising', 'falling']);
    });

    test('a line that was given back emits nothing', () => {
      const bench = listening();
      bench.input[Symbol.dispose]();
      pulse(bench, 100);
      expect(bench.kinds()).toEqual([]);
    });
  });
}
