import { BlockList } from 'node:net';
import type { networkInterfaces } from 'node:os';

/** An address of an interface, without zone. */
export interface InterfaceAddress {
  readonly host: string;
  readonly family: 'ipv4' | 'ipv6';
  /** Leading bits that all neighbours share. */
  readonly prefixBits: number;
}

/** An interface that is up and is not the loopback. */
export interface NetworkInterface {
  readonly name: string;
  /** Number of the kernel, which a card that was pulled and put back has anew; 0 without IPv6. */
  readonly index: number;
  readonly addresses: readonly InterfaceAddress[];
}

const MAX_INTERFACES = 16;
const MAX_ADDRESSES = 12;

/** The interfaces out of Node's list; only those of the names given, unless none is given. In a fixed order. */
export function interfacesOf(list: ReturnType<typeof networkInterfaces>, names: readonly string[]): readonly NetworkInterface[] {
  return Object.keys(list)
    .filter((name) => names.length === 0 || names.includes(name))
    .sort()
    .flatMap((name) => {
      const entries = (list[name] ?? []).filter(({ internal }) => !internal);
      const addresses = entries.map(addressOf).sort(byHost).slice(0, MAX_ADDRESSES);
      const index = Math.max(0, ...entries.map((entry) => entry.scopeid ?? 0));
      return addresses.length === 0 ? [] : [{ name, index, addresses }];
    })
    .slice(0, MAX_INTERFACES);
}

const byHost = (one: InterfaceAddress, other: InterfaceAddress) => (one.host < other.host ? -1 : 1);

function addressOf({ address, family, cidr }: { address: string; family: 'IPv4' | 'IPv6'; cidr: string | null }): InterfaceAddress {
  const [host = address] = address.split('%');
  return { host, family: family === 'IPv4' ? 'ipv4' : 'ipv6', prefixBits: Number(cidr?.split('/')[1] ?? 0) };
}

/** True for addresses that mean something on one link only, and so need a zone. */
export function isLinkLocal(host: string): boolean {
  return /^fe[89ab]/i.test(host);
}

/** Knows who is a neighbour: whose address lies within one of the interface's own networks. */
export function neighboursOf(place: NetworkInterface): (host: string) => boolean {
  const networks = new BlockList();
  for (const { host, family, prefixBits } of place.addresses) networks.addSubnet(host, prefixBits, family);
  return (source) => {
    const [host = '', zone] = source.split('%');
    if (zone !== undefined || isLinkLocal(host)) return zone === undefined || zone === place.name;
    return networks.check(host, host.includes(':') ? 'ipv6' : 'ipv4');
  };
}
