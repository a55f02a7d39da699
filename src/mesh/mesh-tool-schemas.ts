import { isoTime } from '../core/clock.ts';
import { type JsonObject, present } from '../core/json.ts';
import type { Peer } from '../core/mesh-view.ts';
import { HUB_ACTS, HUB_READS } from '../tools/builtin/hub-tool.ts';
import { p } from '../tools/definition/define-tool.ts';
import type { MembershipStatus } from './membership/membership.ts';

/** Common members of the tools that change the mesh. */
export const MESH_ACTS = { ...HUB_ACTS, permissions: ['admin:mesh'] } as const;
/** Common members of the tools that only read. */
export const MESH_READS = { ...HUB_READS, permissions: ['mesh:read'] } as const;
const text = { type: 'string' } as const;
const texts = { type: 'array', items: text } as const;
/** Schema of a time. */
export const DATE_TIME = { type: 'string', format: 'date-time' } as const;
/** Schema of a text that is masked in audit, events and approvals. */
export const SECRET_TEXT = { type: 'string', 'x-secret': true } as const;
/** Schema of the results of `statusView`. */
export const MESH_STATUS = {
  type: 'object',
  required: ['state', 'hub_id', 'has_root_key', 'open_invites', 'members', 'revoked'],
  properties: {
    state: { enum: ['none', 'member', 'expired', 'revoked'], description: 'How this hub stands to its mesh' },
    hub_id: text,
    hub_name: text,
    mesh_id: text,
    name: text,
    roles: { type: 'array', items: { enum: ['member', 'inviter'] } },
    permissions: { ...texts, description: 'What tokens of this hub may do on other hubs at most' },
    expires_at: { ...DATE_TIME, description: 'End of the membership; it renews itself' },
    invited_by: text,
    has_root_key: { type: 'boolean' },
    open_invites: { type: 'integer' },
    members: { type: 'integer', description: 'Other members that this hub has met' },
    revoked: texts,
  },
} as const;

/** `passphrase` of a tool that opens the root key. */
export const passphraseParameter = p.string({ description: 'Passphrase of the root key', minLength: 1, maxLength: 1024, secret: true });

/** Returns a membership in the form of tool results. */
export function statusView(status: MembershipStatus): JsonObject {
  const { state, hubId, hubName, meshId, name, roles, permissions, expiresAtMs, inviter, hasRootKey, openInvites, members, revoked } =
    status;
  return present({
    state,
    hub_id: hubId,
    hub_name: hubName,
    mesh_id: meshId,
    name,
    roles,
    permissions,
    expires_at: expiresAtMs === undefined ? undefined : isoTime(expiresAtMs),
    invited_by: inviter,
    has_root_key: hasRootKey,
    open_invites: openInvites,
    members,
    revoked,
  });
}

/** Returns another hub in the form of tool results. */
export function peerView(peer: Peer): JsonObject {
  return present({
    hub_id: peer.id,
    name: peer.name,
    state: peer.state,
    reachable: peer.isReachable,
    hops: peer.hops,
    round_trip_ms: peer.roundTripMs === undefined ? undefined : Math.round(peer.roundTripMs * 10) / 10,
    address: peer.address,
    version: peer.version,
    last_seen: isoTime(peer.lastSeenMs),
    capabilities: peer.capabilities,
    tools: peer.toolCount,
    missing_tools: peer.missingTools,
    devices: peer.devices.length,
  });
}
