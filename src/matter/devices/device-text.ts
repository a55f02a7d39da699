/** Longest text that a device may contribute, in code points. */
const MAX_LENGTH = 64;

/**
 * A label, vendor or product name as a device tells it, made safe to show: control, format (bidirectional overrides
 * included), private and unassigned characters become spaces, white space is folded, at most 64 code points remain.
 */
export function deviceText(text: unknown): string {
  if (typeof text !== 'string') return '';
  const plain = text
    .normalize('NFC')
    .replace(/[\p{C}\p{Z}]+/gu, ' ')
    .trim();
  return [...plain].slice(0, MAX_LENGTH).join('').trim();
}

/** Types whose name in the device library says less to people than this. */
const TITLES: Readonly<Record<string, string>> = { TemperatureControlledCabinet: 'cabinet' };

/** `TemperatureSensor` as people write it: `temperature sensor`. */
export function typeTitle(deviceType: string): string {
  const title = TITLES[deviceType];
  if (title !== undefined) return title;
  return deviceType.replace(/(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/g, ' ').toLowerCase();
}
