import type { Principal } from '../../core/access/principal.ts';
import type { EventListener, EventType } from '../../core/events.ts';

/** Which events of another hub somebody wants to hear. */
export interface RemoteSubscription {
  readonly principal: Principal;
  /** All when absent. */
  readonly types?: readonly EventType[];
  /** Only about these; about all when absent. */
  readonly subjects?: readonly string[];
  /** Events may have been missed: the connection was lost and is back, or the listener was too slow. */
  readonly onGap?: () => void;
  /** Ends the subscription. */
  readonly signal: AbortSignal;
}

/** Port: the events of other hubs, of which each tells a principal what it may hear there. */
export interface RemoteEvents {
  /** Listens until the signal aborts, then resolves. NODE_UNAVAILABLE when the hub cannot be reached or is lost, PERMISSION_DENIED. */
  subscribe(hubId: string, subscription: RemoteSubscription, listener: EventListener): Promise<void>;
}
