import type { PeerState } from '../../core/mesh-view.ts';
import { GONE_MS, STALE_MS } from './gossip-limits.ts';

/** What the freshness of a hub depends on. No clock of another hub is among it. */
export interface SignsOfLife {
  /** Since anything was heard of it that it signed, milliseconds on a clock that never jumps. */
  readonly silentMs: number;
  /** It said that it stops. */
  readonly hasLeft: boolean;
  /** A direct connection to it lives. */
  readonly isLinked: boolean;
}

/** How fresh the news of a hub are (A-074: stale at 90 s, gone at 300 s, at once when it says goodbye). */
export function freshness({ silentMs, hasLeft, isLinked }: SignsOfLife): PeerState {
  if (hasLeft) return 'left';
  if (isLinked || silentMs < STALE_MS) return 'fresh';
  return silentMs < GONE_MS ? 'stale' : 'gone';
}
