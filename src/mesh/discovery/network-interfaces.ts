import { BlockList } from 'node:net';
import { networkInterfaces } from 'node:os';
import { repeat } from '../../core/clock.ts';
import type { HubContext } from '../../core/context.ts';
import type { Service } from '../../core/lifecycle.ts';
import { formatHostPort, parseHostPort } from '../transport/mesh-engine.ts';

const POLL_MS = 1_000;

interface InterfaceWatchOptions extends Pick<HubContext, 'clock' | 'logger'> {
  /** Names of the interfaces to watch; empty means all interfaces. */
  readonly names: readonly string[];
  /** Returns the interfaces of the machine; tests replace it. */
  readonly list?: typeof networkInterfaces;
}

/** Detects changes of network interfaces and their addresses within a second. Each check takes about 0.1 ms. */
export class InterfaceWatch implements Service {
  readonly #options: InterfaceWatchOptions;
  readonly #listeners = new Set<() => void>();
  #interfaces: readonly NetworkInterface[] = [];
  /** What the kernel listed last, as JSON. */
  #listed = '';
  #stopChecks = () => {};

  constructor(options: InterfaceWatchOptions) {
    this.#options = options;
  }

  /** Current interfaces; empty before the start. */
  get interfaces(): readonly NetworkInterface[] {
    return this.#interfaces;
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async start(): Promise<void> {
    this.#interfaces = this.#read();
    this.#stopChecks = repeat(this.#options.clock, POLL_MS, () => this.#check());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopChecks();
    this.#listeners.clear();
  }

  #check(): void {
    const interfaces = this.#read();
    if (interfaces === this.#interfaces) return;
    if (JSON.stringify(interfaces) === JSON.stringify(this.#interfaces)) return;
    this.#interfaces = interfaces;
    this.#options.logger.info('discovery.interfaces_changed', { interfaces: interfaces.map(({ name }) => name) });
    for (const listener of this.#listeners) listener();
  }

  #read(): readonly NetworkInterface[] {
    try {
      const list = (this.#options.list ?? networkInterfaces)();
      const listed = JSON.stringify(list);
      if (listed === this.#listed) return this.#interfaces;
      this.#listed = listed;
      return interfacesOf(list, this.#options.names);
    } catch {
      // If memory or file descriptors run out, the kernel returns no list. The last list stays valid until a check succeeds.
      return this.#interfaces;
    }
  }
}

/** Address of a network interface, without a zone. */
export interface InterfaceAddress {
  readonly host: string;
  readonly family: 'ipv4' | 'ipv6';
  /** Length of the network prefix in bits. */
  readonly prefixBits: number;
}

/** Network interface that is up and is not the loopback interface. */
export interface NetworkInterface {
  readonly name: string;
  /** Kernel's index of the interface; it changes when an adapter is plugged in again. It is 0 without a link-local IPv6 address. */
  readonly index: number;
  readonly addresses: readonly InterfaceAddress[];
}

const MAX_INTERFACES = 16;
const MAX_ADDRESSES = 12;

/** Returns the interfaces with these names, sorted by name. If `names` is empty, returns all interfaces. */
function interfacesOf(list: ReturnType<typeof networkInterfaces>, names: readonly string[]): readonly NetworkInterface[] {
  return Object.keys(list)
    .filter((name) => names.length === 0 || names.includes(name))
    .sort()
    .flatMap((name) => {
      const entries = (list[name] ?? []).filter(({ internal }) => !internal);
      const sorted = entries.map(addressOf).sort((one, other) => (one.host < other.host ? -1 : 1));
      const addresses = sorted.slice(0, MAX_ADDRESSES);
      const index = Math.max(0, ...entries.map((entry) => entry.scopeid ?? 0));
      return addresses.length === 0 ? [] : [{ name, index, addresses }];
    })
    .slice(0, MAX_INTERFACES);
}

function addressOf({ address, family, cidr }: { address: string; family: 'IPv4' | 'IPv6'; cidr: string | null }): InterfaceAddress {
  const [host = address] = address.split('%');
  return { host, family: family === 'IPv4' ? 'ipv4' : 'ipv6', prefixBits: Number(cidr?.split('/')[1] ?? 0) };
}

/** Returns whether an address is link-local and therefore needs a zone. */
export function isLinkLocal(host: string): boolean {
  return /^fe[89ab]/i.test(host);
}

/** Returns a function that checks whether an address is in one of the interface's networks. */
export function neighboursOf(place: NetworkInterface): (host: string) => boolean {
  const networks = new BlockList();
  for (const { host, family, prefixBits } of place.addresses) networks.addSubnet(host, prefixBits, family);
  return (source) => {
    const [host = '', zone] = source.split('%');
    if (zone !== undefined || isLinkLocal(host)) return zone === undefined || zone === place.name;
    return networks.check(host, host.includes(':') ? 'ipv6' : 'ipv4');
  };
}

const ANY_ADDRESS: ReadonlySet<string> = new Set(['::', '0.0.0.0']);
const LOOPBACK = /^(?:127\.|::1$|localhost$)/;

/**
 * Returns the addresses, as `host:port`, at which members in the same networks can connect to this hub. Leaves out link-local addresses of
 * interfaces, which other machines cannot use. Returns loopback addresses only if there are no other addresses.
 */
export function ownAddresses(listening: readonly string[], interfaces: readonly NetworkInterface[]): readonly string[] {
  const hosts = interfaces.flatMap(({ addresses }) => addresses.map(({ host }) => host)).filter((host) => !isLinkLocal(host));
  // IPv4 comes first, because it works more often than IPv6 in homes.
  const ordered = [...hosts.filter((host) => !host.includes(':')), ...hosts.filter((host) => host.includes(':'))];
  const reachable = listening.flatMap((text) => {
    const address = parseHostPort(text);
    if (!address) return [];
    return ANY_ADDRESS.has(address.host) ? ordered.map((host) => formatHostPort({ host, port: address.port })) : [text];
  });
  const beyond = reachable.filter((text) => !LOOPBACK.test(parseHostPort(text)?.host ?? ''));
  return [...new Set(beyond.length > 0 ? beyond : reachable)];
}
