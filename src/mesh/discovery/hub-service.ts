import { hash } from 'node:crypto';
import type { AnnouncedService, ServiceInstance } from '../../core/devices/discovery.ts';
import type { HubId } from '../../core/ids.ts';
import type { PeerAddress } from '../engine/mesh-engine.ts';

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
