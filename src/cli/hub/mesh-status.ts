import { AtmoError } from '../../core/errors.ts';
import type { JsonObject } from '../../core/json.ts';
import { sharedNames } from '../../doctor/mesh-finding.ts';
import { usage } from '../command.ts';
import { objectsIn } from './answer-lists.ts';
import type { HubClient } from './hub-client.ts';

/** Advice for a hub that is in no mesh. */
export const JOIN_ADVICE = 'make a mesh with atmo mesh create, or join one with atmo mesh join LINE';
const HUB_ID = /^hub-[0-9a-f]{16}$/;

/** Returns the membership and the peers of the hub. Returns undefined if the token lacks the permission. */
export async function meshIfAllowed(hub: Pick<HubClient, 'get'>): Promise<JsonObject | undefined> {
  try {
    return await hub.get('/api/v1/mesh');
  } catch (error) {
    if (error instanceof AtmoError && (error.code === 'TOOL_NOT_FOUND' || error.code === 'PERMISSION_DENIED')) return undefined;
    throw error;
  }
}

/** Returns a label for each hub: its name, or its id if several hubs have the same name. */
export function hubLabels(mesh: JsonObject): ReadonlyMap<string, string> {
  const peers = objectsIn(mesh, 'peers').map(({ id, name }) => ({ id: String(id), name: String(name ?? id) }));
  const shared = new Set(sharedNames(mesh));
  return new Map(peers.map(({ id, name }) => [id, shared.has(name) ? id : name]));
}

/** Returns a hub's id, given its id or name. Throws a usage error if no hub or several hubs have the name. */
export async function hubIdOf(hub: Pick<HubClient, 'get'>, text: string): Promise<string> {
  if (HUB_ID.test(text)) return text;
  const mesh = await hub.get('/api/v1/mesh');
  const ids = objectsIn(mesh, 'peers').flatMap(({ id, name }) => (name === text ? [String(id)] : []));
  const [found, ...more] = ids;
  if (found !== undefined && more.length === 0) return found;
  throw usage(
    found === undefined
      ? `No other hub is called ${JSON.stringify(text)}; see atmo mesh peers`
      : `More than one hub is called ${JSON.stringify(text)}: ${ids.join(', ')}; give the id`,
  );
}

/** Returns the facts about this hub's membership, with labels for people. */
export function membershipPairs(facts: JsonObject): JsonObject {
  const { mesh_id: mesh, name, hub_id: hub, hub_name: hubName, state, roles, permissions, expires_at: until, revoked } = facts;
  const mayInvite = Array.isArray(roles) && roles.includes('inviter');
  return {
    'this hub': hubName === undefined ? (hub ?? null) : `${hubName}, ${hub}`,
    mesh: mesh === undefined ? `none; ${JOIN_ADVICE}` : `${mesh}${name === undefined ? '' : ` (${name})`}`,
    ...(mesh !== undefined && {
      membership: state === 'member' ? `until ${until}; it renews itself` : `${state}`,
      'may elsewhere': permissions ?? null,
      'lets others in': mayInvite ? 'yes' : 'no',
      'root key': facts.has_root_key === true ? 'on this hub' : 'not on this hub',
      'let in by': facts.invited_by ?? null,
      'other members': facts.members ?? null,
      'open invites': facts.open_invites ?? null,
      'sent away': Array.isArray(revoked) && revoked.length > 0 ? revoked : null,
    }),
  };
}
