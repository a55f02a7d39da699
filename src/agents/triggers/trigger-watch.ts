import type { DeviceDirectory } from '../../core/devices/device-directory.ts';
import type { ReadingStore } from '../../core/devices/reading-store.ts';
import type { JsonObject } from '../../core/json.ts';
import type { Clock } from '../../core/time/clock.ts';
import type { TrustedTime } from '../../core/time/trusted-time.ts';
import type { Trigger } from '../automations/automation-config.ts';
import type { EventIndex } from './event-index.ts';

/** Reports older than this tell of the past: a device repeats what happened while it was not heard. */
export const MAX_REPORT_AGE_MS = 60_000;

/** One moment at which a trigger fired. */
export interface Firing {
  readonly trigger: Trigger;
  /** What actions may refer to. */
  readonly facts: JsonObject;
  /** On the clock that never jumps. */
  readonly atMs: number;
  /** Whether what fired it is still so, for a run that had to wait. */
  holds(): boolean;
}

/** Hears firings. */
export type Fire = (firing: Firing) => void;

/** What watches work with. */
export interface WatchPorts {
  readonly clock: Clock;
  readonly index: EventIndex;
  readonly readings: Pick<ReadingStore, 'current'>;
  readonly devices: Pick<DeviceDirectory, 'get'>;
  readonly time: Pick<TrustedTime, 'isTrusted'>;
  /** For triggers that name none. */
  readonly timeZone: string;
}

/** Watches for one trigger of one automation. */
export interface Watch {
  start(): void;
  /** The trigger with other values; what was seen so far still counts. */
  update(trigger: Trigger): void;
  stop(): void;
}
