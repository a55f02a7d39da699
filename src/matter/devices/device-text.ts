import { visibleLine } from '../../core/untrusted-text.ts';

/** Longest text that a device may contribute, in code points. */
const MAX_LENGTH = 64;

/**
 * A label, vendor or product name as a device tells it, made safe to show: one line without hidden characters, of at
 * most 64 code points.
 */
export function deviceText(text: unknown): string {
  return typeof text === 'string' ? visibleLine(text, MAX_LENGTH) : '';
}

/** Types whose name in the device library says less to people than this. */
const TITLES: Readonly<Record<string, string>> = { TemperatureControlledCabinet: 'cabinet' };

/** `TemperatureSensor` as people write it: `temperature sensor`. */
export function typeTitle(deviceType: string): string {
  const title = TITLES[deviceType];
  if (title !== undefined) return title;
  return deviceType.replace(/(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/g, ' ').toLowerCase();
}
