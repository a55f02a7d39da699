import type { PeerState } from '../../../core/mesh/mesh-view.ts';
import { GONE_MS, STALE_MS } from '../gossip-limits.ts';

/** What the freshness of a hub depends on. No clock of another hub is among it. */
export interface SignsOfLife {
  /** Since anything was heard of it that it signed, milliseconds on a clock that never jumps. */
  readonly silentMs: number;
  /** It said that it stops. */
  readonly hasLeft: boolean;
  /** A direct connection to it lives. */
  readonly isLinked: boolean;
  /** Its neighbours, and theirs up to this hub, still tell of living connections; asked only where it matters. */
  readonly hasWay: () => boolean;
}

/**
 * How fresh the news of a hub are (A-074: stale at 90 s, gone at 300 s, at once when it says goodbye). A connection that ends is
 * announced within seconds by whoever sees it end, so that a hub with a way to it need not say so often that it lives. It still
 * has to say so itself: by their word alone its neighbours keep it no longer than until it is gone.
 */
export function freshness({ silentMs, hasLeft, isLinked, hasWay }: SignsOfLife): PeerState {
  if (hasLeft) return 'left';
  if (isLinked || silentMs < STALE_MS) return 'fresh';
  if (silentMs < GONE_MS && hasWay()) return 'fresh';
  return silentMs < GONE_MS ? 'stale' : 'gone';
}
