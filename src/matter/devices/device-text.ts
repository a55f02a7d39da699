import { visibleLine } from '../../core/untrusted-text.ts';

/** Maximum length of a text from a device, in code points. */
const MAX_LENGTH = 64;

/** Makes a label, vendor or product name from a device safe to show: one line without hidden characters, at most 64 code points. */
export function deviceText(text: unknown): string {
  return typeof text === 'string' ? visibleLine(text, MAX_LENGTH) : '';
}

/** Titles of device types whose name in the Matter specification is unclear to people. */
const TITLES: Readonly<Record<string, string>> = { TemperatureControlledCabinet: 'cabinet' };

/** Returns the name of a device type as words: `TemperatureSensor` becomes `temperature sensor`. */
export function typeTitle(deviceType: string): string {
  const title = TITLES[deviceType];
  if (title !== undefined) return title;
  return deviceType.replace(/(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/g, ' ').toLowerCase();
}
