import { connect, type Socket } from 'node:net';
import { AtmoError } from '../../../core/errors.ts';
import { orAborted } from '../../../core/time/or-aborted.ts';
import { formatHostPort } from '../host-port.ts';
import type { PeerAddress } from '../mesh-engine.ts';

const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  EHOSTUNREACH: 'no route to the host',
  ENETUNREACH: 'no route to the network',
  ETIMEDOUT: 'no answer',
  ENOTFOUND: 'the name is unknown',
  EAI_AGAIN: 'the name cannot be looked up now',
  ECONNRESET: 'connection reset',
};

/** Opens a TCP connection. NODE_UNAVAILABLE tells address and reason; otherwise the signal's reason. */
export async function dialTcp({ host, port }: PeerAddress, signal: AbortSignal): Promise<Socket> {
  signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  const socket = connect({ host, port, keepAlive: true, noDelay: true });
  const fail = (error: Error) => reject(unreachable({ host, port }, error));
  socket.once('error', fail);
  socket.once('connect', () => resolve(socket));
  try {
    return await orAborted(promise, signal);
  } catch (error) {
    socket.destroy();
    throw error;
  } finally {
    socket.off('error', fail);
    socket.on('error', () => undefined);
  }
}

/** That a hub cannot be reached at an address, and why. */
export function unreachable(address: PeerAddress, cause: Error & { code?: string }): AtmoError {
  const reason = REASONS[cause.code ?? ''] ?? cause.message;
  return new AtmoError('NODE_UNAVAILABLE', `No hub answers at ${formatHostPort(address)}: ${reason}`, {}, { cause });
}
