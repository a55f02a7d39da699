import { readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import type { ArrivalCheck } from '../mesh-engine.ts';

/** Both ends of a TCP connection, as the machine knows them. */
export interface SocketEnds {
  readonly localHost: string;
  readonly localPort: number;
  readonly remotePort: number;
}

const TABLES = ['/proc/self/net/tcp', '/proc/self/net/tcp6'];

/** Undefined for a socket that is closed already. */
export function endsOf({ localAddress: localHost, localPort, remotePort }: Socket): SocketEnds | undefined {
  if (localHost === undefined || localPort === undefined || remotePort === undefined) return undefined;
  return { localHost, localPort, remotePort };
}

/**
 * Tells whether all that was written has come to the other machine, by its acknowledgements: a process that stands still has a
 * machine that answers for it, a cut cable has none. Undefined where the kernel does not say; Linux does (proc_pid_net(5)).
 */
export function arrivalCheck(ends: SocketEnds): ArrivalCheck | undefined {
  return process.platform === 'linux' ? () => hasArrived(ends) : undefined;
}

function hasArrived({ localPort, remotePort }: SocketEnds): boolean | undefined {
  // Own end, other end, state, `unacknowledged:unread`; where other hosts use the same pair of ports, all have to be well.
  const line = new RegExp(`:${hex(localPort)} [0-9A-F]+:${hex(remotePort)} 01 ([0-9A-F]+):`, 'g');
  try {
    const waiting = TABLES.flatMap((table) => [...readFileSync(table, 'latin1').matchAll(line)].map(([, bytes]) => Number(`0x${bytes}`)));
    return waiting.length === 0 ? undefined : waiting.every((bytes) => bytes === 0);
  } catch {
    return undefined;
  }
}

function hex(port: number): string {
  return port.toString(16).toUpperCase().padStart(4, '0');
}
