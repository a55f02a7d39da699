import { frameCodec } from '../../src/codec/messages/connection.ts';
import { REQUEST_KINDS } from '../../src/mesh/rpc/peer-link.ts';
import type { WireMessage } from '../mesh/memory-network.ts';

const KINDS = new Map<number, string>(Object.entries(REQUEST_KINDS).map(([name, number]) => [number, name]));

/** What a message between two hubs is, for people who read a trace. */
export function messageWords(message: WireMessage): string {
  if (message.type !== 'frame') return message.type;
  try {
    const frame = frameCodec.decode(message.bytes);
    const kind = frame.type === 'request' ? ` ${KINDS.get(frame.kind) ?? frame.kind}` : '';
    return `${frame.type}${kind}${'id' in frame ? ` ${frame.id}` : ''}`;
  } catch {
    return 'unreadable frame';
  }
}
