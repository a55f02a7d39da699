import type { Logger } from '../core/logger.ts';
import { ServiceStack } from '../core/service.ts';
import type { Clock } from '../core/time/clock.ts';
import { orAborted } from '../core/time/or-aborted.ts';
import { meshIdOf } from '../wire/hub-id.ts';
import { parseInvite } from '../wire/messages/invite.ts';
import { DnsSd } from './discovery/dns-sd.ts';
import { HUB_SERVICE_TYPE, hubSighting } from './discovery/hub-service.ts';
import { InterfaceWatch } from './discovery/link/interface-watch.ts';
import type { PeerAddress } from './engine/mesh-engine.ts';

const LISTEN_MS = 2_000;

interface FindParts {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

/** Looks for two seconds where hubs of an invite's mesh are on the local network, without being found itself. Rejects with the signal's reason. */
export async function findHubs(
  { clock, logger, signal }: FindParts,
  { invite, interfaces }: { readonly invite: string; readonly interfaces: readonly string[] },
): Promise<readonly PeerAddress[]> {
  const meshId = meshIdOf(parseInvite(invite).rootKey);
  const found = new Map<string, readonly PeerAddress[]>();
  await using stack = new ServiceStack();
  const watch = new InterfaceWatch({ clock, logger, names: interfaces });
  await stack.start(watch);
  // Its host name is never announced.
  const dnsSd = new DnsSd({ clock, logger, watch, hostLabel: 'guest' });
  await stack.start(dnsSd);
  dnsSd.browse(
    HUB_SERVICE_TYPE,
    {
      found: (service) => {
        const sighting = hubSighting(service, meshId);
        if (sighting) found.set(sighting.id, sighting.addresses);
      },
      lost: (name) => found.delete(name),
    },
    signal,
  );
  const { promise, resolve } = Promise.withResolvers<void>();
  const stop = clock.after(LISTEN_MS, resolve);
  await orAborted(promise, signal).finally(stop);
  return [...found.values()].flat();
}
