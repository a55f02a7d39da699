import { createHash, randomBytes } from 'node:crypto';
import type { HubId } from '../../../src/core/ids.ts';
import type { ConnectionGate } from '../../../src/mesh/transport/mesh-engine.ts';

/** A gate that lets everybody in who says hello. */
export const openGate: ConnectionGate = {
  async admit(channel, peer) {
    if (peer.direction === 'outbound') await channel.write(Buffer.from('hello'));
    await channel.read();
    if (peer.direction === 'inbound') await channel.write(Buffer.from('hello'));
  },
};

/** Bytes of a text and back. */
export const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
export const text = (message: Uint8Array): string => new TextDecoder().decode(message);

/** A hub's id and key that nobody has the private half of. */
export function madeUpHub(): { id: HubId; publicKey: string } {
  const raw = randomBytes(32);
  const digest = createHash('sha256').update(raw).digest('hex');
  return { id: `hub-${digest.slice(0, 16)}` as HubId, publicKey: raw.toString('base64url') };
}
