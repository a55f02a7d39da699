import { lookup } from 'node:dns/promises';
import { BlockList, isIP, isIPv6 } from 'node:net';
import { networkInterfaces } from 'node:os';
import { AtmoError } from '../../core/errors.ts';
import { addressBytes } from '../../core/ip-address.ts';

/** Whether the owner lets a request for this address of the web go to this address of a machine, public or not. */
export type HostRule = (url: URL, address: string) => boolean;

/** JSON Schema pattern of an entry: a name, an address or a network, with a port if only that one is meant. */
export const ALLOWED_HOST = '^(\\[[0-9a-fA-F:.]+\\]|[0-9a-fA-F:.]+/[0-9]{1,3}|[0-9a-fA-F:]*:[0-9a-fA-F:.]+|[A-Za-z0-9._-]+)(:[0-9]{1,5})?$';

const WITH_PORT = /^(\[.+\]|[^:[\]]+):(\d+)$/;
const DEFAULT_PORT: Readonly<Record<string, string>> = { 'http:': '80', 'https:': '443' };

/** True where any of the owner's entries fits: `nas.lan`, `nas.lan:8080`, `192.168.1.20`, `192.168.1.0/24`, `[fd00::7]:80`. CONFIG_INVALID for a network that is none. */
export function hostRule(entries: readonly string[]): HostRule {
  const rules = entries.map(entryRule);
  return (url, address) => rules.some((rule) => rule(url, address));
}

function entryRule(entry: string): HostRule {
  if (entry.includes('/')) return addressRule(parseNetwork(entry));
  const [, host = entry, port] = WITH_PORT.exec(entry) ?? [];
  const rule = singleHost(host.replace(/^\[(.*)\]$/, '$1'));
  return (url, address) => (port === undefined || portOf(url) === port) && rule(url, address);
}

function singleHost(host: string): HostRule {
  if (isIP(host) !== 0) return addressRule(addressSet([`${host}/${isIPv6(host) ? 128 : 32}`]));
  const name = host.toLowerCase();
  return (url) => url.hostname === name;
}

function parseNetwork(entry: string): AddressRule {
  try {
    return addressSet([entry]);
  } catch {
    throw new AtmoError('CONFIG_INVALID', `connectors.web.allowed_hosts: ${entry} is no network; one looks like 192.168.1.0/24`);
  }
}

function addressRule(rule: AddressRule): HostRule {
  return (_, address) => rule(address);
}

function portOf({ port, protocol }: URL): string {
  return port === '' ? (DEFAULT_PORT[protocol] ?? '') : port;
}

/** Whether connections may go to an address of a machine. */
type AddressRule = (address: string) => boolean;

/** IPv4 that is no public machine (IANA special-purpose registry, RFC 6890): `network/prefix`. */
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
 * Of IPv6 only this is handed out to machines (RFC 4291 §2.4): loopback, local, multicast, mapped IPv4 and NAT64 for local use
 * (RFC 8215) are outside. Addresses of the well-known NAT64 network are what they stand for (RFC 6052).
 */
const GLOBAL_IPV6 = ['2000::/3', '64:ff9b::/96'];
/** Within it: protocol assignments with Teredo, documentation, 6to4 (holds an IPv4 address), documentation. */
const SPECIAL_IPV6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'];

const isSpecial = addressSet([...SPECIAL_IPV4, ...SPECIAL_IPV6]);
const isGlobalIpv6 = addressSet(GLOBAL_IPV6);

/**
 * True for an address of the public internet: not of the machine, of its networks as they are now (a home may have public IPv6
 * addresses), or of any special range. An address that a translator turns into one of IPv4 is public only if that is. False for
 * what is no address.
 */
export function isPublicAddress(address: string, embedded: EmbeddedIpv4 = embeddedIpv4([])): boolean {
  const family = isIP(address);
  if (family === 0 || address.includes('%')) return false;
  if (isSpecial(address) || (family === 6 && !isGlobalIpv6(address))) return false;
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

/** Networks whose addresses stand for IPv4 ones, as texts of addresses and lengths of prefixes. */
export interface Nat64Prefix {
  readonly network: string;
  readonly prefix: number;
}

/** Where the four bytes of IPv4 stand, by the length of the prefix; byte 8 is left out (RFC 6052 §2.2). */
const IPV4_OFFSETS: Readonly<Record<number, readonly number[]>> = {
  32: [4, 5, 6, 7],
  40: [5, 6, 7, 9],
  48: [6, 7, 9, 10],
  56: [7, 9, 10, 11],
  64: [9, 10, 11, 12],
  96: [12, 13, 14, 15],
};
/** The well-known prefix (RFC 6052 §2.1). That for local use (RFC 8215) is no public one. */
const WELL_KNOWN: Nat64Prefix = { network: '64:ff9b::', prefix: 96 };
/** A name that has IPv4 addresses only, unless the network makes others of them (RFC 7050). */
const IPV4_ONLY = 'ipv4only.arpa';
const IPV4_ONLY_ADDRESSES: ReadonlySet<string> = new Set(['192.0.0.170', '192.0.0.171']);

/** Answers the IPv4 address that a translator would make of it; undefined for an address that is no translated one. */
export type EmbeddedIpv4 = (address: string) => string | undefined;

/** The addresses within these networks, and within the well-known one, as what they stand for. */
export function embeddedIpv4(networks: readonly Nat64Prefix[]): EmbeddedIpv4 {
  const known = [WELL_KNOWN, ...networks].map(({ network, prefix }) => ({ start: addressBytes(network).subarray(0, prefix / 8), prefix }));
  return (address) => {
    if (!isTranslatable(address)) return undefined;
    const bytes = addressBytes(address);
    const found = known.find(({ start }) => start.every((byte, place) => bytes[place] === byte));
    return found && ipv4At(bytes, found.prefix);
  };
}

/** The networks that a resolver's answers about `ipv4only.arpa` show (RFC 7050 §3). */
export function nat64Prefixes(answers: readonly string[]): readonly Nat64Prefix[] {
  return answers.filter(isTranslatable).flatMap((network) => {
    const bytes = addressBytes(network);
    const prefix = Object.keys(IPV4_OFFSETS)
      .map(Number)
      .find((length) => IPV4_ONLY_ADDRESSES.has(ipv4At(bytes, length) ?? ''));
    return prefix === undefined ? [] : [{ network, prefix }];
  });
}

/**
 * What translates addresses in the network that this machine is in, as its resolver tells. A network whose resolver knows of no
 * translation, or does not answer, has none but the well-known one.
 */
export async function discoverNat64(): Promise<EmbeddedIpv4> {
  const answers = await lookup(IPV4_ONLY, { all: true, family: 6 }).catch(() => []);
  return embeddedIpv4(nat64Prefixes(answers.map(({ address }) => address)));
}

/** An address with a zone is one of a link, and no translator's. */
function isTranslatable(address: string): boolean {
  return isIPv6(address) && !address.includes('%');
}

function ipv4At(bytes: Uint8Array, prefix: number): string | undefined {
  return IPV4_OFFSETS[prefix]?.map((place) => bytes[place]).join('.');
}
