import type { CallRouter, ForwardedCall, RemoteResult } from '../calls/pipeline-context.ts';
import { type Clock, orAborted } from '../core/clock.ts';
import type { HubId } from '../core/ids.ts';
import type { ConnectionManager } from './discovery/connection-manager.ts';
import type { MeshPeers } from './gossip/mesh-peers.ts';
import type { PeerLinks } from './rpc/peer-link.ts';

interface DiallingRouterCollaborators {
  readonly clock: Clock;
  readonly router: CallRouter;
  readonly connections: Pick<ConnectionManager, 'dialNow'>;
  readonly peers: Pick<MeshPeers, 'routeTo'>;
  readonly links: PeerLinks;
  /** Returns whether a hub is of another site. Calls reach such a hub over border members. */
  readonly isElsewhere: (id: HubId) => boolean;
}

/** Maximum time, in milliseconds, that a call waits for the control stream of its new connection. */
const LINK_PATIENCE_MS = 1_000;

/**
 * Sends calls to other hubs. If there is no connection to the target hub, dials it. The call waits for this connection only if no route
 * over other hubs exists.
 */
export class DiallingRouter implements CallRouter {
  readonly #parts: DiallingRouterCollaborators;

  constructor(parts: DiallingRouterCollaborators) {
    this.#parts = parts;
  }

  async forward(hubId: string, call: ForwardedCall): Promise<RemoteResult> {
    const { router, links, peers, isElsewhere } = this.#parts;
    const target = hubId as HubId;
    if (!links.to(target) && !isElsewhere(target)) {
      const dialled = connectLink(this.#parts, target, call.signal);
      if (!peers.routeTo(target)) await dialled;
    }
    return router.forward(hubId, call);
  }
}

/** Connects to a hub and waits for the control stream. Never rejects: whoever needs the connection rejects if there is none. */
export async function connectLink(
  parts: Omit<DiallingRouterCollaborators, 'router' | 'peers' | 'isElsewhere'>,
  target: HubId,
  signal: AbortSignal,
) {
  try {
    await parts.connections.dialNow(target, signal);
    await linkTo(parts, target, signal);
  } catch {
    return;
  }
}

async function linkTo(
  { clock, links }: Pick<DiallingRouterCollaborators, 'clock' | 'links'>,
  target: HubId,
  signal: AbortSignal,
): Promise<void> {
  if (links.to(target)) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const stops = [links.onLinkUp(({ peer }) => peer.id === target && resolve()), clock.after(LINK_PATIENCE_MS, resolve)];
  try {
    await orAborted(promise, signal);
  } finally {
    for (const stop of stops) stop();
  }
}
