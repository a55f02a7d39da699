import { readOwnerSecret } from '../auth/secret-file.ts';
import type { Clock } from '../core/clock.ts';
import { AtmoError } from '../core/errors.ts';
import type { LocalHub } from '../mesh/membership/certificates.ts';
import type { ConnectionGate, MeshEngine } from '../mesh/transport/mesh-engine.ts';
import type { HubConfig } from './config/config.ts';

const PRE_SHARED_KEY = /^[0-9a-f]{64}$/i;

/** Makes an engine that is not started yet for the hub with this key; a `member` listens at the configured address, a `guest` only connects. */
export type OpenMeshEngine = (self: LocalHub, gate: ConnectionGate, role: 'member' | 'guest') => Promise<MeshEngine>;

/** Makes engines of libp2p, which is loaded once the hub is a member or joins: it costs 25 MB bundled. */
export function libp2pEngines(mesh: HubConfig['mesh'], clock: Clock): OpenMeshEngine {
  return async ({ privateKey }, gate, role) => {
    const { Libp2pEngine } = await import('../mesh/transport/libp2p-engine.ts');
    const listen = role === 'member' ? { host: mesh.host, port: mesh.port } : { host: '127.0.0.1', port: 0 };
    const preSharedKey = mesh.preSharedKeyFile === undefined ? undefined : readPreSharedKey(mesh.preSharedKeyFile);
    const maxConnections = mesh.maxPeers;
    return new Libp2pEngine({ key: privateKey, gate, listen, clock, maxConnections, ...(preSharedKey && { preSharedKey }) });
  };
}

function readPreSharedKey(path: string): Uint8Array {
  const text = readOwnerSecret({ path, ifOthersReadIt: 'give every member a new pre-shared key' })?.trim();
  if (text !== undefined && PRE_SHARED_KEY.test(text)) return Buffer.from(text, 'hex');
  const problem = text === undefined ? 'does not exist' : 'does not hold 64 hexadecimal digits';
  throw new AtmoError('CONFIG_INVALID', `mesh.pre_shared_key_file names ${path}, which ${problem}; openssl rand -hex 32 makes such a key`);
}
