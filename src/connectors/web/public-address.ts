import { BlockList, isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import { type EmbeddedIpv4, embeddedIpv4 } from './nat64.ts';

/** Whether connections may go to an address of a machine. */
export type AddressRule = (address: string) => boolean;

/** IPv4 that is no public machine (IANA special-purpose registry, RFC 6890): `network/prefix`. */
const CLOSED_V4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
];
/**
 * Of IPv6 only this is handed out to machines (RFC 4291 §2.4): loopback, local, multicast, mapped IPv4 and NAT64 for local use
 * (RFC 8215) are outside. Addresses of the well-known NAT64 network are what they stand for (RFC 6052).
 */
const OPEN_V6 = ['2000::/3', '64:ff9b::/96'];
/** Within it: protocol assignments with Teredo, documentation, 6to4 (holds an IPv4 address), documentation. */
const CLOSED_V6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'];

const closed = addressSet([...CLOSED_V4, ...CLOSED_V6]);
const open = addressSet(OPEN_V6);

/**
 * True for an address of the public internet: not of the machine, of its networks as they are now (a home may have public IPv6
 * addresses), or of any special range. An address that a translator turns into one of IPv4 is public only if that is. False for
 * what is no address.
 */
export function isPublicAddress(address: string, embedded: EmbeddedIpv4 = embeddedIpv4([])): boolean {
  const family = isIP(address);
  if (family === 0 || address.includes('%')) return false;
  if (closed(address) || (family === 6 && !open(address))) return false;
  const ipv4 = embedded(address);
  return !ownNetworks()(address) && (ipv4 === undefined || isPublicAddress(ipv4));
}

/** True for the addresses of these networks, each `network/prefix`; a mapped IPv4 address (`::ffff:1.2.3.4`) is what it maps. */
export function addressSet(networks: readonly string[]): AddressRule {
  const set = new BlockList();
  for (const network of networks) {
    const [address = '', prefix = ''] = network.split('/');
    set.addSubnet(address, Number(prefix), familyOf(address));
  }
  return (address) => isIP(address) !== 0 && set.check(address, familyOf(address));
}

function ownNetworks(): AddressRule {
  const cidrs = Object.values(networkInterfaces()).flatMap((addresses) => (addresses ?? []).flatMap(({ cidr }) => cidr ?? []));
  return addressSet(cidrs);
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 6 ? 'ipv6' : 'ipv4';
}
