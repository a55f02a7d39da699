import type { NetworkInterfaceInfo, networkInterfaces } from 'node:os';
import { createLogger, type Logger } from '../../../src/core/logger.ts';
import { type DnsMessage, decodeDnsMessage, encodeDnsMessage } from '../../../src/mesh/discovery/dns-message.ts';
import { DnsSd } from '../../../src/mesh/discovery/dns-sd.ts';
import type { MessageSource, OpenMulticastSocket, SocketListener, SocketTarget } from '../../../src/mesh/discovery/multicast-links.ts';
import { InterfaceWatch } from '../../../src/mesh/discovery/network-interfaces.ts';
import { ManualClock } from '../../manual-clock.ts';

interface Plug {
  readonly host: FakeHost;
  readonly place: SocketTarget;
  readonly ear: SocketListener;
}

/** What was sent, and by whom. */
export interface SentMessage {
  readonly from: string;
  readonly family: SocketTarget['family'];
  /** Absent for what was sent to all. */
  readonly to?: MessageSource;
  readonly message: DnsMessage;
}

/** An Ethernet segment without time: what is sent is heard at once by all sockets of its family, the sender's too. */
export class FakeSegment {
  readonly sent: SentMessage[] = [];
  readonly #plugs = new Set<Plug>();

  plug(plug: Plug): () => void {
    this.#plugs.add(plug);
    return () => this.#plugs.delete(plug);
  }

  send(from: Plug, bytes: Uint8Array, to?: MessageSource): void {
    const message = decodeDnsMessage(Buffer.from(bytes));
    if (message === undefined) throw new RangeError('a host sent what cannot be read');
    this.sent.push({ from: from.host.name, family: from.place.family, ...(to && { to }), message });
    if (to === undefined) this.tell(Buffer.from(bytes), { host: from.place.host, port: 5_353 });
  }

  /** As if a neighbour had sent it to all. */
  tell(bytes: Buffer, from: MessageSource): void {
    const family = from.host.includes(':') ? 'ipv6' : 'ipv4';
    for (const { place, ear } of [...this.#plugs]) {
      const zone = from.host.startsWith('fe80') ? `%${place.interfaceName}` : '';
      if (place.family === family) ear.message(bytes, { ...from, host: `${from.host}${zone}` });
    }
  }

  say(message: Parameters<typeof encodeDnsMessage>[0], from: MessageSource): void {
    this.tell(encodeDnsMessage(message), from);
  }

  /** Breaks every socket of a host. */
  fail(host: FakeHost, error: Error): void {
    for (const plug of [...this.#plugs]) if (plug.host === host) plug.ear.failed(error);
  }
}

/** A machine with interfaces, each on a segment. */
export class FakeHost {
  readonly name: string;
  readonly clock: ManualClock;
  readonly watch: InterfaceWatch;
  readonly dnsSd: DnsSd;
  readonly lines: string[] = [];
  /** Set to make opening or sending fail; undefined lets it pass. */
  openError: ((place: SocketTarget) => Error | undefined) | undefined;
  sendError: ((place: SocketTarget) => Error | undefined) | undefined;
  readonly #interfaces = new Map<string, { segment: FakeSegment; addresses: readonly string[] }>();

  constructor(name: string, clock = new ManualClock()) {
    this.name = name;
    this.clock = clock;
    const logger: Logger = createLogger('debug', (line) => this.lines.push(line));
    this.watch = new InterfaceWatch({ clock, logger, names: [], list: () => this.#list() });
    this.dnsSd = new DnsSd({ clock, logger, watch: this.watch, hostLabel: name, open: this.#open, random: () => 0.5 });
  }

  /** Addresses as `10.0.0.1/24`. */
  connect(interfaceName: string, segment: FakeSegment, ...addresses: readonly string[]): void {
    this.#interfaces.set(interfaceName, { segment, addresses });
  }

  disconnect(interfaceName: string): void {
    this.#interfaces.delete(interfaceName);
  }

  async start(): Promise<void> {
    await this.watch.start();
    await this.dnsSd.start();
  }

  readonly #open: OpenMulticastSocket = async (place, ear) => {
    const segment = this.#interfaces.get(place.interfaceName)?.segment;
    const openError = this.openError?.(place);
    if (openError || segment === undefined) throw openError ?? new RangeError('no such interface');
    const plug = { host: this, place, ear };
    const unplug = segment.plug(plug);
    return {
      send: async (bytes, to) => {
        const error = this.sendError?.(place);
        if (error) throw error;
        segment.send(plug, bytes, to);
      },
      close: unplug,
    };
  };

  #list(): ReturnType<typeof networkInterfaces> {
    const entries = [...this.#interfaces].map(([name, { addresses }], index): [string, NetworkInterfaceInfo[]] => [
      name,
      addresses.map((cidr) => infoOf(cidr, index + 2)),
    ]);
    return Object.fromEntries([...entries, ['lo', [{ ...infoOf('127.0.0.1/8', 1), internal: true }]]]);
  }
}

function infoOf(cidr: string, index: number): NetworkInterfaceInfo {
  const [address = ''] = cidr.split('/');
  const common = { address, cidr, internal: false, mac: '', netmask: '' };
  return address.includes(':')
    ? { ...common, family: 'IPv6', scopeid: address.startsWith('fe80') ? index : 0 }
    : { ...common, family: 'IPv4' };
}

/** Lets promises that are due run. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await Promise.resolve();
}

/** Moves time on in small steps, with all that happens meanwhile. */
export async function pass(clock: ManualClock, ms: number, stepMs = 50): Promise<void> {
  for (let passed = 0; passed < ms; passed += stepMs) {
    clock.advance(Math.min(stepMs, ms - passed));
    await settle();
  }
}
