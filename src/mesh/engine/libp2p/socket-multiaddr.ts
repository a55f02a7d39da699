import { isIPv4, isIPv6 } from 'node:net';
import { type Multiaddr, multiaddr } from '@multiformats/multiaddr';

/** An address of TCP in libp2p's form; a link-local IPv6 address keeps its zone. */
export function toMultiaddr(host: string, port: number): Multiaddr {
  if (isIPv4(host)) return multiaddr(`/ip4/${host}/tcp/${port}`);
  if (!isIPv6(host)) return multiaddr(`/dns/${host}/tcp/${port}`);
  const [address, zone] = host.split('%');
  return multiaddr(zone === undefined ? `/ip6/${address}/tcp/${port}` : `/ip6zone/${zone}/ip6/${address}/tcp/${port}`);
}
