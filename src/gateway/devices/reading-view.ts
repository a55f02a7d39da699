import type { Reading } from '../../core/devices/reading-store.ts';
import { timeText } from './device-view.ts';

/** A sensor with its present value and that value's age. */
export function readingView({ sensor, value, atMs, reachability }: Reading, nowMs: number) {
  return {
    id: sensor.id,
    device: sensor.device,
    name: sensor.name,
    title: sensor.title,
    kind: sensor.kind,
    unit: sensor.unit,
    area: sensor.area ?? null,
    value,
    at: timeText(atMs),
    age_ms: atMs === 0 ? null : Math.max(0, nowMs - atMs),
    reachability,
  };
}
