import { kernelNumber, type Outcome } from './attribute-reader.ts';

/** What the chip has in its memory until the first conversion (Maxim DS18B20, "Memory"). */
const POWER_ON = 85;
/** What comes of a conversion with too little current (Documentation/ABI/testing/sysfs-driver-w1_therm, features). */
const NO_POWER = 127.94;
/** Byte 6 of the memory while no conversion has been (the same). */
const NO_CONVERSION = 0x0c;
/** A true 85 °C comes from near by. */
const NEAR_CELSIUS = 5;
/** Thermocouples reach further than the chips that measure their own temperature. */
const THERMOCOUPLES = '3b';

/** What is known of a probe besides what it says. */
export interface ProbeContext {
  /** Family code, the first two digits of its id. */
  readonly family: string;
  /** The last value that was believed, °C. */
  readonly lastCelsius?: number;
}

/**
 * A temperature in °C from `w1_slave` (two lines, the first ends in YES where the checksum is right) or from `temperature` (a line in
 * millidegrees), Documentation/w1/slaves/w1_therm.rst. An empty text means that a conversion is running.
 */
export function parseProbe(text: string, context: ProbeContext): Outcome {
  if (text.trim() === '') return { fault: 'busy', detail: 'a conversion is running' };
  const [first = '', second = ''] = text.split('\n');
  if (!first.includes('crc=')) return believe(kernelNumber(first), { ...context, memory: [] });
  // What stands behind a NO is the last value that was right, however old.
  if (!first.endsWith('YES')) return { fault: 'garbled', detail: 'the checksum is wrong; look at the wires and the resistor' };
  const memory =
    first
      .split(' : ')[0]
      ?.split(' ')
      .map((byte) => Number.parseInt(byte, 16)) ?? [];
  return believe(kernelNumber(/t=(-?\d+)/.exec(second)?.[1]), { ...context, memory });
}

function believe(
  millidegrees: number | undefined,
  { family, lastCelsius, memory }: ProbeContext & { readonly memory: readonly number[] },
): Outcome {
  if (millidegrees === undefined) return { fault: 'garbled', detail: 'there is no temperature in what the driver says' };
  const value = millidegrees / 1000;
  if (memory.length > 0 && memory.every((byte) => byte === 0)) return suspect('all bytes are 0, as on a wire that is shorted');
  if (Math.abs(value - NO_POWER) < 0.05) return suspect('127.94 °C is what a probe without enough current says');
  if (value === POWER_ON && !isTrue85(memory, lastCelsius)) return suspect('85 °C is what a probe says that has not measured');
  if (family !== THERMOCOUPLES && (value < -55 || value > 125)) return suspect(`${value} °C is beyond what such a probe measures`);
  return { value };
}

function isTrue85(memory: readonly number[], lastCelsius: number | undefined): boolean {
  return memory[6] !== NO_CONVERSION && lastCelsius !== undefined && Math.abs(lastCelsius - POWER_ON) <= NEAR_CELSIUS;
}

function suspect(detail: string): Outcome {
  return { fault: 'suspect', detail };
}
