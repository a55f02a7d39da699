import { isoTime } from '../core/clock.ts';
import { AtmoError } from '../core/errors.ts';
import { DONE, SUCCESS } from '../tools/builtin/hub-tool.ts';
import { defineTool, p } from '../tools/definition/define-tool.ts';
import type { RegisteredTool } from '../tools/definition/tool-definition.ts';
import type { MeshControl } from './mesh-service.ts';
import {
  DATE_TIME,
  MESH_ACTS,
  MESH_READS,
  MESH_STATUS,
  passphraseParameter,
  peerView,
  SECRET_TEXT,
  statusView,
} from './mesh-tool-schemas.ts';
import { rootKeyTools } from './root-key-tools.ts';

const text = { type: 'string' } as const;

/** Tools with which the owner makes, widens and narrows the mesh of hubs. */
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
    ...rootKeyTools(mesh),
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
