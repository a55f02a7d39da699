import { lookup } from 'node:dns/promises';
import { BlockList, isIP, isIPv6 } from 'node:net';
import { networkInterfaces } from 'node:os';
import { AtmoError } from '../../core/errors.ts';
import { addressBytes } from '../../core/ip-address.ts';

/** Returns whether the owner's list of hosts contains this URL's host or this IP address. The list may contain private addresses. */
type HostRule = (url: URL, address: string) => boolean;

/** JSON Schema pattern of an allowed host: a name, an IP address or a network. A port may follow. */
export const ALLOWED_HOST = '^(\\[[0-9a-fA-F:.]+\\]|[0-9a-fA-F:.]+/[0-9]{1,3}|[0-9a-fA-F:]*:[0-9a-fA-F:.]+|[A-Za-z0-9._-]+)(:[0-9]{1,5})?$';

const WITH_PORT = /^(\[.+\]|[^:[\]]+):(\d+)$/;
const DEFAULT_PORT: Readonly<Record<string, string>> = { 'http:': '80', 'https:': '443' };

/**
 * Returns a rule that allows the hosts in the owner's list. An entry looks like `nas.lan`, `nas.lan:8080`, `192.168.1.20`, `192.168.1.0/24`
 * or `[fd00::7]:80`. Throws CONFIG_INVALID if a network is malformed.
 */
export function hostRule(entries: readonly string[]): HostRule {
  const rules = entries.map(entryRule);
  return (url, address) => rules.some((rule) => rule(url, address));
}

/** Returns the entry that allows the host of an address of the web at the port of this address alone. */
export function hostEntry(address: string): string {
  const url = new URL(address);
  return `${url.hostname}:${portOf(url)}`;
}

function entryRule(entry: string): HostRule {
  if (entry.includes('/')) {
    const rule = parseNetwork(entry);
    return (_, address) => rule(address);
  }
  const [, host = entry, port] = WITH_PORT.exec(entry) ?? [];
  const rule = singleHost(host.replace(/^\[(.*)\]$/, '$1'));
  return (url, address) => (port === undefined || portOf(url) === port) && rule(url, address);
}

function singleHost(host: string): HostRule {
  if (isIP(host) === 0) return (url) => url.hostname === host.toLowerCase();
  const rule = addressSet([`${host}/${isIPv6(host) ? 128 : 32}`]);
  return (_, address) => rule(address);
}

function parseNetwork(entry: string): AddressRule {
  try {
    return addressSet([entry]);
  } catch {
    throw new AtmoError('CONFIG_INVALID', `connectors.web.allowed_hosts: ${entry} is no network; one looks like 192.168.1.0/24`);
  }
}

function portOf({ port, protocol }: URL): string {
  return port === '' ? (DEFAULT_PORT[protocol] ?? '') : port;
}

type AddressRule = (address: string) => boolean;

/** IPv4 networks (with prefix lengths) that contain no public machines (IANA special-purpose registry, RFC 6890). */
const SPECIAL_IPV4 = [
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
 * IPv6 networks with public addresses (RFC 4291 §2.4). Loopback, local, multicast, mapped IPv4 and local NAT64 (RFC 8215) addresses are not
 * public. An address in the well-known NAT64 network 64:ff9b::/96 is public only if the IPv4 address in it is public (RFC 6052).
 */
const GLOBAL_IPV6 = ['2000::/3', '64:ff9b::/96'];
/** Networks inside GLOBAL_IPV6 that are not public. In order: protocol assignments (with Teredo), documentation, 6to4, documentation. */
const SPECIAL_IPV6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'];

const isSpecial = addressSet([...SPECIAL_IPV4, ...SPECIAL_IPV6]);
const isGlobalIpv6 = addressSet(GLOBAL_IPV6);

/**
 * Returns whether an address is public. Addresses in special ranges are not public. Addresses in this machine's networks are not public
 * either, since the devices of a home may have IPv6 addresses of a public range. A NAT64 address is public only if its IPv4 address is
 * public. Returns false for a text that is no address.
 */
export function isPublicAddress(address: string, embedded: EmbeddedIpv4 = embeddedIpv4([])): boolean {
  const family = isIP(address);
  if (family === 0 || address.includes('%')) return false;
  if (isSpecial(address) || (family === 6 && !isGlobalIpv6(address))) return false;
  const ipv4 = embedded(address);
  return !ownNetworks()(address) && (ipv4 === undefined || isPublicAddress(ipv4));
}

/** Returns a rule that matches addresses in the networks `address/prefix length`. A mapped address (`::ffff:1.2.3.4`) counts as IPv4. */
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

/** A NAT64 network: any address in it, and the length of its prefix in bits. */
interface Nat64Prefix {
  readonly network: string;
  readonly prefix: number;
}

/** Offsets of the four IPv4 bytes in a NAT64 address, by the length of the prefix in bits. Byte 8 is never used (RFC 6052 §2.2). */
const IPV4_OFFSETS: Readonly<Record<number, readonly number[]>> = {
  32: [4, 5, 6, 7],
  40: [5, 6, 7, 9],
  48: [6, 7, 9, 10],
  56: [7, 9, 10, 11],
  64: [9, 10, 11, 12],
  96: [12, 13, 14, 15],
};
/** The well-known NAT64 prefix (RFC 6052 §2.1). The prefix for local use (RFC 8215) is not needed: its addresses are never public. */
const WELL_KNOWN: Nat64Prefix = { network: '64:ff9b::', prefix: 96 };
/** A host name that has only IPv4 addresses. If a resolver returns IPv6 addresses for it, the network has NAT64 (RFC 7050). */
const IPV4_ONLY = 'ipv4only.arpa';
const IPV4_ONLY_ADDRESSES: ReadonlySet<string> = new Set(['192.0.0.170', '192.0.0.171']);

/** Returns the IPv4 address to which NAT64 translates an IPv6 address. Returns undefined if NAT64 does not translate the address. */
export type EmbeddedIpv4 = (address: string) => string | undefined;

/** Returns a function that finds the IPv4 address in an address of these NAT64 networks or of the well-known network. */
export function embeddedIpv4(networks: readonly Nat64Prefix[]): EmbeddedIpv4 {
  const known = [WELL_KNOWN, ...networks].map(({ network, prefix }) => ({ start: addressBytes(network).subarray(0, prefix / 8), prefix }));
  return (address) => {
    if (!isTranslatable(address)) return undefined;
    const bytes = addressBytes(address);
    const found = known.find(({ start }) => start.every((byte, place) => bytes[place] === byte));
    return found && ipv4At(bytes, found.prefix);
  };
}

/** Returns the NAT64 networks to which a resolver's answers for `ipv4only.arpa` belong (RFC 7050 §3). */
export function nat64Prefixes(answers: readonly string[]): readonly Nat64Prefix[] {
  return answers.filter(isTranslatable).flatMap((network) => {
    const bytes = addressBytes(network);
    const prefix = Object.keys(IPV4_OFFSETS)
      .map(Number)
      .find((length) => IPV4_ONLY_ADDRESSES.has(ipv4At(bytes, length) ?? ''));
    return prefix === undefined ? [] : [{ network, prefix }];
  });
}

/** Finds the NAT64 networks with the machine's resolver. If it gives no answer, only addresses of the well-known network are translated. */
export async function discoverNat64(): Promise<EmbeddedIpv4> {
  const answers = await lookup(IPV4_ONLY, { all: true, family: 6 }).catch(() => []);
  return embeddedIpv4(nat64Prefixes(answers.map(({ address }) => address)));
}

/** Returns whether NAT64 may translate an address. It must be IPv6 and have no zone (such as `%eth0`), which binds it to a link. */
function isTranslatable(address: string): boolean {
  return isIPv6(address) && !address.includes('%');
}

function ipv4At(bytes: Uint8Array, prefix: number): string | undefined {
  return IPV4_OFFSETS[prefix]?.map((place) => bytes[place]).join('.');
}
