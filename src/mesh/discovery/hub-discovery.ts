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

/**
 * Searches the local network for two seconds and returns the addresses of all hubs of the invite's mesh. Does not announce this hub.
 * Rejects with VALIDATION_ERROR if the text is not an invite, or with the signal's reason if the signal aborts.
 */
export async function findHubs(
  { clock, logger, signal }: { readonly clock: Clock; readonly logger: Logger; readonly signal: AbortSignal },
  { invite, interfaces }: { readonly invite: string; readonly interfaces: readonly string[] },
): Promise<readonly PeerAddress[]> {
  const meshId = meshIdOf(parseInvite(invite).rootKey);
  const found = new Map<string, readonly PeerAddress[]>();
  await using stack = new ServiceStack();
  const watch = new InterfaceWatch({ clock, logger, names: interfaces });
  await stack.start(watch);
  // The host label is never sent, because no service is announced.
  const dnsSd = new DnsSd({ clock, logger, watch, hostLabel: 'guest' });
  await stack.start(dnsSd);
  dnsSd.browse(
    HUB_SERVICE_TYPE,
    {
      found: (service) => {
        const sighting = hubSighting(service, { meshId });
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

/** DNS-SD service type of hubs. */
export const HUB_SERVICE_TYPE = '_atmosphere-edge._tcp';

const VERSION = '1';
const HUB_ID = /^hub-[0-9a-f]{16}$/;

interface HubSighting {
  readonly id: HubId;
  readonly addresses: readonly PeerAddress[];
}

/**
 * Returns the DNS-SD service that announces a hub. Its TXT record has the format version, the hub id and 8 hex digits of a hash of the mesh
 * id. Hubs of other meshes do not connect, because these digits differ. The service has no names of hubs, devices or tools.
 */
export function hubService(hub: {
  readonly id: HubId;
  readonly port: number;
  readonly meshId: string;
  readonly site?: string | undefined;
}): AnnouncedService {
  const { id, port, meshId, site } = hub;
  const txt = { v: VERSION, id, mesh: meshTag(meshId), ...(site !== undefined && { site: siteTag(meshId, site) }) };
  return { name: id, type: HUB_SERVICE_TYPE, port, txt };
}

/**
 * Returns the hub that announces a service. Returns undefined if no hub of this mesh announces it. If `sites` is given, also returns
 * undefined for a hub of another site.
 */
export function hubSighting(
  service: ServiceInstance,
  { meshId, sites }: { readonly meshId: string; readonly sites?: { readonly site: string } | undefined },
): HubSighting | undefined {
  const { name, txt, port } = service;
  const id = name.toLowerCase();
  if (sites && txt.site !== siteTag(meshId, sites.site)) return undefined;
  if (!HUB_ID.test(id) || txt.v !== VERSION || txt.id !== id || txt.mesh !== meshTag(meshId)) return undefined;
  return { id: id as HubId, addresses: service.addresses.map((host) => ({ host, port, expect: id as HubId })) };
}

function siteTag(meshId: string, site: string): string {
  return hash('sha256', `atmosphere-edge discovery site v1 ${meshId} ${site}`, 'hex').slice(0, 8);
}

function meshTag(meshId: string): string {
  return hash('sha256', `atmosphere-edge discovery v1 ${meshId}`, 'hex').slice(0, 8);
}
