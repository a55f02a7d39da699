import { isoTime } from '../core/clock.ts';
import { AtmoError } from '../core/errors.ts';
import { type JsonObject, present } from '../core/json.ts';
import type { Peer } from '../core/mesh-view.ts';
import { DONE, HUB_ACTS, HUB_READS, SUCCESS } from '../tools/builtin/hub-tool.ts';
import { defineTool, p } from '../tools/definition/define-tool.ts';
import type { RegisteredTool } from '../tools/definition/tool-definition.ts';
import type { MembershipStatus, MeshControl } from './mesh-control.ts';

const MESH_ACTS = { ...HUB_ACTS, permissions: ['admin:mesh'] } as const;
/** Fields that are equal in the definitions of all read-only mesh tools. */
const MESH_READS = { ...HUB_READS, permissions: ['mesh:read'] } as const;
const text = { type: 'string' } as const;
const texts = { type: 'array', items: text } as const;
const DATE_TIME = { type: 'string', format: 'date-time' } as const;
/** Schema of a secret. Its value is masked in the audit log, in events and in approvals. */
const SECRET_TEXT = { type: 'string', 'x-secret': true } as const;
/** Schema of the object that `statusView` returns. */
const MESH_STATUS = {
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

/** Parameter `passphrase` of the tools that decrypt the root key. */
const passphraseParameter = p.string({ description: 'Passphrase of the root key', minLength: 1, maxLength: 1024, secret: true });
const hubParameter = p.string({ description: 'Id of the hub, as mesh_peers tells it', pattern: '^hub-[0-9a-f]{16}$' });

/** Returns the tools with which the owner creates and manages the mesh of hubs. */
export function meshTools(mesh: MeshControl): readonly RegisteredTool[] {
  return [
    defineTool(CREATE, async (params) => statusView(await mesh.create(params))),
    inviteTool(mesh),
    defineTool(JOIN, async ({ invite }, { signal }) => statusView(await mesh.join(invite, { signal }))),
    defineTool(LEAVE, async ({ delete_root_key: isDeleted }) => {
      await mesh.leave({ rootKey: isDeleted ? 'delete' : 'keep' });
      return SUCCESS;
    }),
    defineTool(STATUS, async () => statusView(mesh.status())),
    defineTool(PEERS, async () => mesh.peers().map(peerView)),
    defineTool(RENEW, async () => statusView(await mesh.renew())),
    defineTool(REVOKE, async (params) => {
      const { hub, alsoEnded } = await mesh.revoke(params);
      return { hub, also_ended: alsoEnded };
    }),
    defineTool(DELEGATE, async (params) => {
      const { hub, isDelivered } = await mesh.delegate(params);
      return { hub, delivered: isDelivered };
    }),
    defineTool(EXPORT_ROOT, async ({ passphrase: given }) => ({ root_key: await mesh.exportRoot(given) })),
    defineTool(IMPORT_ROOT, async ({ root_key: exported, passphrase: given }) => {
      await mesh.importRoot({ text: exported, passphrase: given });
      return SUCCESS;
    }),
  ];
}

const CREATE = {
  ...MESH_ACTS,
  name: 'mesh_create',
  title: 'Make a mesh',
  description:
    'Makes a new mesh with this hub as its first member. Its root key is kept on this hub under the passphrase, which nobody can recover; export the key to a safe place afterwards.',
  parameters: {
    passphrase: p.string({
      description: 'Seals the root key; five words that nobody guesses are good',
      minLength: 10,
      maxLength: 1024,
      secret: true,
    }),
    name: p.string({ description: 'What you call the mesh', minLength: 1, maxLength: 64, isGivenName: true }).optional(),
  },
  returns: MESH_STATUS,
};

function inviteTool(mesh: MeshControl): RegisteredTool {
  const permission = p.string({ description: 'Such as * or device:control:*', maxLength: 256 });
  const address = p.string({ description: 'host:port or [IPv6 address]:port', maxLength: 261 });
  return defineTool(
    {
      ...MESH_ACTS,
      name: 'mesh_invite',
      title: 'Invite a hub into the mesh',
      description:
        'Makes an invite: one line of text with which one hub can join this mesh once, until it expires. Whoever has the text can use it.',
      parameters: {
        ttl_seconds: p.integer({ description: 'How long it can be used', minimum: 60, maximum: 86_400, default: 900, unit: 's' }),
        permissions: p
          .array(permission, {
            description: 'What tokens of the new hub may do on other hubs at most; all but administration when left out',
            minItems: 1,
            maxItems: 16,
          })
          .optional(),
        addresses: p
          .array(address, { description: 'Where the new hub finds this one; known addresses of this hub when left out', maxItems: 4 })
          .optional(),
        may_invite: p.boolean({ description: 'The new hub may let others in, too; takes the passphrase', default: false }),
        passphrase: passphraseParameter.optional(),
      },
      returns: {
        type: 'object',
        required: ['invite', 'invite_id', 'expires_at'],
        properties: { invite: SECRET_TEXT, invite_id: text, expires_at: DATE_TIME },
      },
    },
    async ({ ttl_seconds: seconds, permissions, addresses, may_invite: mayInvite, passphrase: given }) => {
      const inviter = mayInvite ? { passphrase: requirePassphrase(given) } : undefined;
      const { text: invite, id, expiresAtMs } = await mesh.invite({ ttlMs: seconds * 1000, permissions, addresses, inviter });
      return { invite, invite_id: id, expires_at: isoTime(expiresAtMs) };
    },
  );
}

const JOIN = {
  ...MESH_ACTS,
  name: 'mesh_join',
  title: 'Join a mesh',
  description:
    'Makes this hub a member of the mesh that the invite is for. Its tools become usable from the other hubs, and theirs from here.',
  parameters: {
    invite: p.string({ description: 'The whole text, beginning with atmo-join1.', minLength: 11, maxLength: 2048, secret: true }),
  },
  returns: MESH_STATUS,
  timeoutMs: 60_000,
};

const LEAVE = {
  ...MESH_ACTS,
  name: 'mesh_leave',
  title: 'Leave the mesh',
  description: 'Ends the membership of this hub: it forgets the other hubs and their tools. To come back it needs a new invite.',
  isDangerous: true,
  parameters: {
    delete_root_key: p.boolean({
      description: 'Delete the root key that is on this hub; without an exported copy the mesh loses it for ever',
      default: false,
    }),
  },
  returns: DONE,
};

const STATUS = {
  ...MESH_READS,
  name: 'mesh_status',
  title: 'State of the mesh membership',
  description: 'Tells which mesh this hub is in, what it may do there, and until when.',
  parameters: {},
  returns: MESH_STATUS,
};

const PEERS = {
  ...MESH_READS,
  name: 'mesh_peers',
  title: 'Hubs of the mesh',
  description:
    'Lists the other hubs of the mesh: whether each can be reached and how fast, its version, capabilities, and how many tools and devices it has.',
  parameters: {},
  returns: { type: 'array', items: { type: 'object' } },
};

const RENEW = {
  ...MESH_ACTS,
  name: 'mesh_renew',
  title: 'Renew the mesh membership',
  description:
    'Gets this hub a new certificate from a connected hub that may let others in. It does so by itself from 30 days before the end.',
  parameters: {},
  returns: MESH_STATUS,
  timeoutMs: 60_000,
};

function requirePassphrase(given: string | undefined): string {
  if (given !== undefined) return given;
  throw new AtmoError('VALIDATION_ERROR', 'An invite with may_invite takes the passphrase of the root key: give passphrase');
}

const REVOKE = {
  ...MESH_ACTS,
  name: 'mesh_revoke',
  title: 'Send a hub away',
  description:
    'Ends the membership of another hub at once and for good, on every hub of the mesh; hubs that it let in end with it. For a hub that may let others in, the passphrase of the root key is needed.',
  isDangerous: true,
  isIdempotent: true,
  parameters: { hub: hubParameter, passphrase: passphraseParameter.optional() },
  returns: {
    type: 'object',
    required: ['hub', 'also_ended'],
    properties: { hub: text, also_ended: { ...texts, description: 'Hubs that the revoked one had let in' } },
  },
};

const DELEGATE = {
  ...MESH_ACTS,
  name: 'mesh_delegate',
  title: 'Let a hub invite others',
  description:
    'Lets another hub of the mesh, or this one, let others in and renew their memberships, for five years. Takes the passphrase of the root key.',
  isDangerous: true,
  isIdempotent: true,
  parameters: { hub: hubParameter, passphrase: passphraseParameter },
  returns: {
    type: 'object',
    required: ['hub', 'delivered'],
    properties: { hub: text, delivered: { type: 'boolean', description: 'False: the hub gets it when it connects' } },
  },
};

const EXPORT_ROOT = {
  ...MESH_ACTS,
  name: 'mesh_export_root',
  title: 'Export the root key of the mesh',
  description:
    'Answers the root key, sealed under its passphrase, as one line for a safe place. With it and the passphrase another hub can take over.',
  isDangerous: true,
  parameters: { passphrase: passphraseParameter },
  returns: { type: 'object', required: ['root_key'], properties: { root_key: SECRET_TEXT } },
};

const IMPORT_ROOT = {
  ...MESH_ACTS,
  name: 'mesh_import_root',
  title: 'Bring the root key of the mesh to this hub',
  description: 'Keeps an exported root key of this mesh on this hub, still sealed under its passphrase.',
  parameters: {
    root_key: p.string({
      description: 'The exported line, beginning with atmo-root1.',
      minLength: 11,
      maxLength: 16_384,
      secret: true,
    }),
    passphrase: passphraseParameter,
  },
  returns: DONE,
};

function statusView(status: MembershipStatus): JsonObject {
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

/** Returns another hub in the form of the results of `mesh_peers`. */
function peerView(peer: Peer): JsonObject {
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
