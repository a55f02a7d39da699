import { formatHostPort } from '../../engine/host-port.ts';
import type { PeerAddress } from '../../engine/mesh-engine.ts';
import { isLinkLocal } from '../link/network-interface.ts';

const MAX_ADDRESSES = 12;

/**
 * Addresses in the order in which to try them, each once: sources come best first; within one, IPv6 and IPv4 take turns
 * (RFC 8305 4) and link-local addresses, which mean something on one link only, stand at its end.
 */
export function addressOrder(sources: readonly (readonly PeerAddress[])[]): readonly PeerAddress[] {
  const ordered = sources.flatMap((source) => {
    const local = source.filter(({ host }) => isLinkLocal(host));
    const wide = source.filter(({ host }) => !isLinkLocal(host));
    const six = wide.filter(({ host }) => host.includes(':'));
    const four = wide.filter(({ host }) => !host.includes(':'));
    return [...takingTurns(six, four), ...local];
  });
  return [...new Map(ordered.map((address) => [formatHostPort(address), address])).values()].slice(0, MAX_ADDRESSES);
}

function takingTurns<Item>(some: readonly Item[], others: readonly Item[]): readonly Item[] {
  return Array.from({ length: Math.max(some.length, others.length) }, (_, index) => [
    ...some.slice(index, index + 1),
    ...others.slice(index, index + 1),
  ]).flat();
}
