import type { HistoryPoint, Reading, ReadingStore } from '../../src/core/devices/sensor-readings.ts';
import { CurrentReadings } from '../../src/storage/history/history-store.ts';

/** The present values of a hub, without their history. */
export class KeptReadings extends CurrentReadings implements ReadingStore {
  sensors = (): readonly Reading[] => this.list();
  current = this.get;
  history = (): readonly HistoryPoint[] => [];
}
