import { hash } from 'node:crypto';
import { parseInvite } from '../../codec/messages/membership.ts';
import { meshIdOf } from '../../codec/public-key.ts';
import { type Clock, orAborted } from '../../core/clock.ts';
import type { HubId } from '../../core/ids.ts';
import { ServiceStack } from '../../core/lifecycle.ts';
import type { Logger } from '../../core/logger.ts';
import type { PeerAddress } from '../transport/mesh-engine.ts';
import type { AnnouncedService, ServiceInstance } from './discovery.ts';
import { DnsSd } from './dns-sd.ts';
import { InterfaceWatch } from './network-interfaces.ts';

const LISTEN_MS = 2_000;

interface FindHubsCollaborators {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

/** Looks for two seconds where hubs of an invite's mesh are on the local network, without being found itself. Rejects with the signal's reason. */
export async function findHubs(
  { clock, logger, signal }: FindHubsCollaborators,
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

/** DNS-SD type under which hubs find each other. */
export const HUB_SERVICE_TYPE = '_atmosphere-edge._tcp';

const VERSION = '1';
const HUB_ID = /^hub-[0-9a-f]{16}$/;

/** A hub that was seen on a link. */
export interface HubSighting {
  readonly id: HubId;
  readonly addresses: readonly PeerAddress[];
}

/**
 * What a hub tells the local network of itself: version of this text, its id and a tag of its mesh (8 hex digits of a hash),
 * by which others skip hubs of another mesh without connecting. Names of hubs, devices and tools stay inside the mesh.
 */
export function hubService(hub: { readonly id: HubId; readonly port: number; readonly meshId: string }): AnnouncedService {
  return { name: hub.id, type: HUB_SERVICE_TYPE, port: hub.port, txt: { v: VERSION, id: hub.id, mesh: meshTag(hub.meshId) } };
}

/** A hub of the mesh out of what was found; undefined for any other service. */
export function hubSighting(service: ServiceInstance, meshId: string): HubSighting | undefined {
  const { name, txt, port } = service;
  const id = name.toLowerCase();
  if (!HUB_ID.test(id) || txt.v !== VERSION || txt.id !== id || txt.mesh !== meshTag(meshId)) return undefined;
  return { id: id as HubId, addresses: service.addresses.map((host) => ({ host, port, expect: id as HubId })) };
}

function meshTag(meshId: string): string {
  return hash('sha256', `atmosphere-edge discovery v1 ${meshId}`, 'hex').slice(0, 8);
}
