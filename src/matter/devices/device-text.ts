import { visibleLine } from '../../core/untrusted-text.ts';

/** Longest text of a device, in code points. */
const MAX_LENGTH = 64;

/**
 * Makes a label, vendor or product name of a device safe to show: one line without hidden characters, of at most 64 code points.
 */
export function deviceText(text: unknown): string {
  return typeof text === 'string' ? visibleLine(text, MAX_LENGTH) : '';
}

/** Titles of types whose name in the device library is unclear to people. */
const TITLES: Readonly<Record<string, string>> = { TemperatureControlledCabinet: 'cabinet' };

/** The name of a device type in words: `TemperatureSensor` is `temperature sensor`. */
export function typeTitle(deviceType: string): string {
  const title = TITLES[deviceType];
  if (title !== undefined) return title;
  return deviceType.replace(/(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/g, ' ').toLowerCase();
}
