import { readOwnerSecret } from '../auth/secret-file.ts';
import { AtmoError } from '../core/errors.ts';
import type { LocalHub } from '../mesh/membership/certificates.ts';
import type { Membership } from '../mesh/membership/membership.ts';
import { MeshService, type MeshServiceCollaborators } from '../mesh/mesh-service.ts';
import type { MeshHub } from '../mesh/mesh-session.ts';
import type { MeshEngine } from '../mesh/transport/mesh-engine.ts';
import type { HubConfig } from './config/config.ts';

const PRE_SHARED_KEY = /^[0-9a-f]{64}$/i;

interface MeshCollaborators {
  readonly hub: MeshHub;
  readonly key: LocalHub;
  readonly membership: Membership;
  /** Of the software. */
  readonly version: string;
  /** Another engine than libp2p. */
  readonly openEngine: OpenMeshEngine | undefined;
}

/** Makes an engine that is not started yet for the hub with this key; `member` listens where the owner says, `guest` only connects. */
export type OpenMeshEngine = (self: LocalHub, ...of: Parameters<MeshServiceCollaborators['openEngine']>) => Promise<MeshEngine>;

/** The mesh of this hub, not started. libp2p is loaded once the hub is a member or joins: it costs 25 MB bundled. */
export function openMesh(ground: MeshCollaborators, { mesh }: HubConfig): MeshService {
  const { hub, key, membership, version } = ground;
  const openLibp2p: OpenMeshEngine = async ({ privateKey }, gate, role) => {
    const { Libp2pEngine } = await import('../mesh/transport/libp2p-engine.ts');
    const listen = role === 'member' ? { host: mesh.host, port: mesh.port } : { host: '127.0.0.1', port: 0 };
    const preSharedKey = mesh.preSharedKeyFile === undefined ? undefined : readPreSharedKey(mesh.preSharedKeyFile);
    const maxConnections = mesh.maxPeers;
    return new Libp2pEngine({ key: privateKey, gate, listen, clock: hub.clock, maxConnections, ...(preSharedKey && { preSharedKey }) });
  };
  const open = ground.openEngine ?? openLibp2p;
  return new MeshService({ hub, membership, openEngine: (gate, role) => open(key, gate, role) }, { ...mesh, version });
}

function readPreSharedKey(path: string): Uint8Array {
  const text = readOwnerSecret({ path, ifOthersReadIt: 'give every member a new pre-shared key' })?.trim();
  if (text !== undefined && PRE_SHARED_KEY.test(text)) return Buffer.from(text, 'hex');
  const problem = text === undefined ? 'does not exist' : 'does not hold 64 hexadecimal digits';
  throw new AtmoError('CONFIG_INVALID', `mesh.pre_shared_key_file names ${path}, which ${problem}; openssl rand -hex 32 makes such a key`);
}
