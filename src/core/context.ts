import type { Clock, TrustedTime } from './clock.ts';
import type { EventBus } from './events.ts';
import type { Logger } from './logger.ts';
import type { AuditSink } from './storage/audit-sink.ts';
import type { KeyValueStore } from './storage/key-value-store.ts';

/** The services of the hub that parts of every module use; each part names those that it needs. */
export interface HubContext {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly events: EventBus;
  readonly store: KeyValueStore;
  /** The time for what expires. */
  readonly time: TrustedTime;
  readonly audit: AuditSink;
}
