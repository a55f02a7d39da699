import type { Reading } from '../../core/devices/reading-store.ts';

/** Longest state that Home Assistant takes. */
const MAX_STATE = 255;

/** A value as Home Assistant reads it; `None` is what it calls unknown. */
export function statePayload({ value, sensor }: Pick<Reading, 'value' | 'sensor'>): string {
  if (value === null) return 'None';
  if (typeof value === 'boolean') return value ? 'ON' : 'OFF';
  return sensor.kind === 'thermostat_mode' ? String(value).toLowerCase() : String(value).slice(0, MAX_STATE);
}
