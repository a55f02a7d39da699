import { DONE, SUCCESS } from '../tools/builtin/hub-tool.ts';
import { defineTool, p } from '../tools/definition/define-tool.ts';
import type { RegisteredTool } from '../tools/definition/tool-definition.ts';
import type { MeshControl } from './mesh-service.ts';
import { MESH_ACTS, passphraseParameter, SECRET_TEXT } from './mesh-tool-schemas.ts';

const text = { type: 'string' } as const;
const texts = { type: 'array', items: text } as const;
const hubParameter = p.string({ description: 'Id of the hub, as mesh_peers tells it', pattern: '^hub-[0-9a-f]{16}$' });

/** Tools for what takes the root key of the mesh, or may take it. */
export function rootKeyTools(mesh: MeshControl): readonly RegisteredTool[] {
  return [
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
