import type { Clock, TrustedTime } from './clock.ts';
import type { EventBus } from './events.ts';
import type { Logger } from './logger.ts';
import type { AuditSink } from './storage/audit-sink.ts';
import type { KeyValueStore } from './storage/key-value-store.ts';

/** Services of the hub that any module may use. Each part of the hub declares which of them it needs. */
export interface HubContext {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly events: EventBus;
  readonly store: KeyValueStore;
  readonly time: TrustedTime;
  readonly audit: AuditSink;
}
