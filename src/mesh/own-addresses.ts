import { isLinkLocal, type NetworkInterface } from './discovery/link/network-interface.ts';
import { formatHostPort, parseHostPort } from './engine/host-port.ts';

const ANY_ADDRESS: ReadonlySet<string> = new Set(['::', '0.0.0.0']);
const LOOPBACK = /^(?:127\.|::1$|localhost$)/;

/**
 * `host:port` under which members of the same networks reach this hub, from what it listens on and the interfaces it has.
 * Link-local addresses mean nothing to others; loopback is told only when it is all there is.
 */
export function ownAddresses(listening: readonly string[], interfaces: readonly NetworkInterface[]): readonly string[] {
  const hosts = interfaces.flatMap(({ addresses }) => addresses.map(({ host }) => host)).filter((host) => !isLinkLocal(host));
  // IPv4 first: in homes it is what works.
  const ordered = [...hosts.filter((host) => !host.includes(':')), ...hosts.filter((host) => host.includes(':'))];
  const told = listening.flatMap((text) => {
    const address = parseHostPort(text);
    if (!address) return [];
    return ANY_ADDRESS.has(address.host) ? ordered.map((host) => formatHostPort({ host, port: address.port })) : [text];
  });
  const beyond = told.filter((text) => !LOOPBACK.test(parseHostPort(text)?.host ?? ''));
  return [...new Set(beyond.length > 0 ? beyond : told)];
}
