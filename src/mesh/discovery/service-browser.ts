import type { Clock } from '../../core/clock.ts';
import type { ServiceInstance, ServiceListener } from './discovery.ts';
import { type DnsMessage, type DnsQuestion, type DnsRecord, encodeDnsMessage, isPlainName, isSameName } from './dns-message.ts';
import { type DiscoveryDrops, type LinkObserver, MDNS_PORT, type MessageSource, type MulticastLink } from './multicast-links.ts';
import { isLinkLocal } from './network-interfaces.ts';
import { RecordCache } from './record-cache.ts';

const REPEAT_MS = 1_000;

interface ServiceBrowserCollaborators {
  readonly clock: Clock;
  readonly drops: DiscoveryDrops;
  readonly random: () => number;
  /** DNS-SD service type, such as `_atmosphere-edge._tcp`. */
  readonly type: string;
  readonly listener: ServiceListener;
}

/** Browses for services of one type on all links and reports each service once, with its addresses on all links. */
export class ServiceBrowser implements LinkObserver, Disposable {
  readonly #collaborators: ServiceBrowserCollaborators;
  readonly #typeName: string;
  readonly #browsers = new Map<MulticastLink, LinkBrowser>();
  readonly #reported = new Map<string, { text: string; atMs: number; name: string }>();

  constructor(collaborators: ServiceBrowserCollaborators) {
    this.#collaborators = collaborators;
    this.#typeName = `${collaborators.type}.local`;
  }

  onLinkUp(link: MulticastLink): void {
    const known = this.#browsers.get(link);
    if (known !== undefined) {
      known.start();
      return;
    }
    const { clock, drops, random } = this.#collaborators;
    const touched = (names: ReadonlySet<string>) => this.#review(names);
    const browser = new LinkBrowser(link, { clock, drops, random, typeName: this.#typeName, touched });
    this.#browsers.set(link, browser);
    browser.start();
  }

  onLinkMoved(link: MulticastLink): void {
    this.#browsers.get(link)?.start();
  }

  onLinkDown(link: MulticastLink): void {
    const browser = this.#browsers.get(link);
    browser?.stop();
    this.#browsers.delete(link);
    this.#review(new Set(browser?.names()));
  }

  onMessage(link: MulticastLink, message: DnsMessage, from: MessageSource): void {
    if (message.kind === 'response' && from.port === MDNS_PORT) this.#browsers.get(link)?.onMessage(message, from.host);
  }

  [Symbol.dispose](): void {
    for (const browser of this.#browsers.values()) browser.stop();
    this.#browsers.clear();
  }

  #review(names: ReadonlySet<string>): void {
    for (const name of names) {
      const places = [...this.#browsers.values()].flatMap((browser) => browser.instance(name)?.complete ?? []);
      const [first] = places;
      if (first === undefined) this.#reportLost(name);
      else this.#reportFound(name, first, places);
    }
  }

  #reportLost(name: string): void {
    const reported = this.#reported.get(name);
    if (reported === undefined) return;
    this.#reported.delete(name);
    this.#collaborators.listener.lost(reported.name);
  }

  #reportFound(name: string, first: LinkInstance, places: readonly LinkInstance[]): void {
    const addresses = [...new Set(places.flatMap((place) => place.addresses))];
    const label = first.spelling.slice(0, -this.#typeName.length - 1);
    const service: ServiceInstance = { name: label, type: this.#collaborators.type, port: first.port, txt: first.txt, addresses };
    const text = JSON.stringify(service);
    const reported = this.#reported.get(name);
    const nowMs = this.#collaborators.clock.monotonic();
    if (reported !== undefined && reported.text === text && nowMs - reported.atMs < REPEAT_MS) return;
    this.#reported.set(name, { text, atMs: nowMs, name: label });
    this.#collaborators.listener.found(service);
  }
}

const TICK_MS = 1_000;
const LONGEST_RESOLVE_MS = 60_000;
const MAX_QUESTIONS = 16;

interface LinkBrowserCollaborators extends Pick<ServiceBrowserCollaborators, 'clock' | 'drops' | 'random'> {
  /** Domain name of the service type, such as `_atmosphere-edge._tcp.local`. */
  readonly typeName: string;
  /** Called with the domain names of the service instances whose records have changed. */
  readonly touched: (names: ReadonlySet<string>) => void;
}

interface LinkInstance extends Pick<ServiceInstance, 'port' | 'txt' | 'addresses'> {
  readonly spelling: string;
}

/** Browses for services of one type on one link, refreshes their records and deletes expired records. */
class LinkBrowser {
  readonly #link: MulticastLink;
  readonly #collaborators: LinkBrowserCollaborators;
  readonly #cache = new RecordCache();
  readonly #owners = new InstanceOwners();
  readonly #hosts = new HostInstances();
  /** Lower-case names of the service instances to which PTR records point. */
  readonly #pointers = new Set<string>();
  readonly #resolving = new Map<string, { dueMs: number; everyMs: number }>();
  readonly #schedule: QuerySchedule;
  #cancelTick: (() => void) | undefined;

  constructor(link: MulticastLink, collaborators: LinkBrowserCollaborators) {
    this.#link = link;
    this.#collaborators = collaborators;
    this.#schedule = new QuerySchedule(collaborators.clock, collaborators.random, () => this.#queryType());
  }

  /** Starts the queries, or starts again from the first query. */
  start(): void {
    this.#schedule.restart();
    this.#tickLater();
  }

  stop(): void {
    this.#schedule.stop();
    this.#cancelTick?.();
  }

  names(): readonly string[] {
    return this.#owners.names();
  }

  /** Returns an instance if a PTR record points to it. `complete` is absent while the port or the addresses are unknown. */
  instance(name: string): { readonly complete?: LinkInstance } | undefined {
    if (!this.#pointers.has(name.toLowerCase())) return undefined;
    const [location] = this.#cache.of(name, 'SRV');
    const addresses = location === undefined ? [] : this.#addressesOf(location.data.target);
    if (location === undefined || location.data.port === 0 || addresses.length === 0) return {};
    const attributes = this.#cache.of(name, 'TXT').flatMap(({ data }) => data.flatMap(attributeOf));
    // Reversed, so that of several attributes with the same key the first one counts (RFC 6763 6.4).
    const txt = Object.fromEntries(attributes.reverse());
    return { complete: { spelling: this.#owners.spelling(name), port: location.data.port, txt, addresses } };
  }

  onMessage(message: DnsMessage, host: string): void {
    const records = [...message.answers, ...message.additionals];
    const touched = new Set<string>();
    for (const record of records) if (record.type === 'PTR') this.#addRecord(record, record.data, host, touched);
    for (const record of records) if (record.type === 'SRV' || record.type === 'TXT') this.#addRecord(record, record.name, host, touched);
    for (const record of records) if (record.type === 'A' || record.type === 'AAAA') this.#addAddress(record, touched);
    if (touched.size === 0) return;
    this.#resolve(touched);
    this.#collaborators.touched(touched);
  }

  #addRecord(record: DnsRecord, name: string, host: string, touched: Set<string>): void {
    const { typeName, drops, clock } = this.#collaborators;
    if (!name.toLowerCase().endsWith(`.${typeName.toLowerCase()}`) || !isPlainName(name)) return;
    if (record.type === 'SRV' && !isPlainName(record.data.target)) return;
    if (record.type === 'PTR' && !isSameName(record.name, typeName)) return;
    if (record.type !== 'PTR' && !this.#owners.has(name)) return;
    if (record.ttlSeconds > 0 && !this.#owners.admit(name, host)) {
      drops.count('too_many_instances');
      return;
    }
    const news = this.#cache.add(record, clock.monotonic());
    if (record.type === 'PTR' && news === 'ignored' && !this.#pointers.has(name.toLowerCase())) this.#owners.forget(name);
    if (news === 'ignored') return;
    touched.add(name.toLowerCase());
    if (record.type === 'PTR') this.#pointers.add(name.toLowerCase());
    if (record.type === 'SRV') this.#hosts.add(record.data.target, name);
  }

  #addAddress(record: DnsRecord, touched: Set<string>): void {
    const instances = this.#hosts.of(record.name);
    if (instances.size === 0 || this.#cache.add(record, this.#collaborators.clock.monotonic()) !== 'added') return;
    for (const name of instances) touched.add(name);
  }

  // Returns the addresses of a host in the networks of this link. Leaves out other addresses, because a forged record must not make this
  // hub connect to a host on the internet.
  #addressesOf(host: string): readonly string[] {
    const addresses = [...this.#cache.of(host, 'AAAA'), ...this.#cache.of(host, 'A')].map(({ data }) => data);
    return addresses
      .filter((address) => this.#link.isNeighbour(address))
      .map((address) => (isLinkLocal(address) ? `${address}%${this.#link.place.name}` : address));
  }

  #queryType(): void {
    const { typeName, clock } = this.#collaborators;
    sendQuery(this.#link, [{ name: typeName, type: 'PTR' }], this.#cache.known(typeName, clock.monotonic()));
  }

  #tickLater(): void {
    this.#cancelTick?.();
    this.#cancelTick = this.#collaborators.clock.after(TICK_MS, () => {
      this.#tickLater();
      this.#refresh();
      this.#expire();
      this.#resolve(this.#owners.names());
    });
  }

  #refresh(): void {
    const due = this.#cache.due(this.#collaborators.clock.monotonic());
    if (due.some(({ type }) => type === 'PTR')) this.#queryType();
    const questions = new Map(due.filter(({ type }) => type !== 'PTR').map(({ name, type }) => [`${name} ${type}`, { name, type }]));
    if (questions.size > 0) sendQuery(this.#link, [...questions.values()].slice(0, MAX_QUESTIONS));
  }

  #expire(): void {
    const over = this.#cache.expire(this.#collaborators.clock.monotonic());
    if (over.length === 0) return;
    const touched = new Set(this.#owners.names());
    for (const record of over) {
      if (record.type === 'SRV') this.#hosts.forget(record.data.target, record.name);
      if (record.type === 'PTR') this.#forget(record.data);
    }
    this.#collaborators.touched(touched);
  }

  #forget(name: string): void {
    this.#owners.forget(name);
    this.#pointers.delete(name.toLowerCase());
    this.#resolving.delete(name.toLowerCase());
  }

  /** Queries the missing records of service instances, at growing intervals. */
  #resolve(names: Iterable<string>): void {
    const missing = [...names].filter((name) => this.#isDue(name)).slice(0, MAX_QUESTIONS);
    const questions = missing.flatMap((name) => {
      const hosts = this.#cache.of(name, 'SRV').map(({ data }) => data.target);
      if (hosts.length === 0) return ['SRV', 'TXT'].map((type) => ({ name, type }));
      return hosts.slice(0, 1).flatMap((host) => ['A', 'AAAA'].map((type) => ({ name: host, type })));
    });
    if (questions.length > 0) sendQuery(this.#link, questions);
  }

  #isDue(name: string): boolean {
    const instance = this.instance(name);
    if (instance === undefined || instance.complete !== undefined) {
      this.#resolving.delete(name);
      return false;
    }
    const nowMs = this.#collaborators.clock.monotonic();
    const { dueMs, everyMs } = this.#resolving.get(name) ?? { dueMs: nowMs, everyMs: TICK_MS };
    if (nowMs < dueMs) return false;
    this.#resolving.set(name, { dueMs: nowMs + everyMs, everyMs: Math.min(everyMs * 2, LONGEST_RESOLVE_MS) });
    return true;
  }
}

/** Parses an attribute of a TXT record. Without `=`, its value is empty. Without a key, it is ignored (RFC 6763 6.4). */
function attributeOf(text: string): readonly [string, string][] {
  const at = text.indexOf('=');
  if (at === 0 || text === '') return [];
  return at < 0 ? [[text, '']] : [[text.slice(0, at), text.slice(at + 1)]];
}

const KNOWN_IN_A_MESSAGE = 12;
const MAX_MESSAGES = 8;

/**
 * Sends a query with the known answers. If they do not fit into one message, sends several messages (RFC 6762 7.2). Never requests a
 * unicast response, because another program that shares port 5353 could receive it.
 */
function sendQuery(link: MulticastLink, names: readonly Omit<DnsQuestion, 'wantsUnicast'>[], known: readonly DnsRecord[] = []): void {
  const messages = Math.max(1, Math.min(MAX_MESSAGES, Math.ceil(known.length / KNOWN_IN_A_MESSAGE)));
  const questions = names.map((name) => ({ ...name, wantsUnicast: false }));
  for (let index = 0; index < messages; index++) {
    const answers = known.slice(index * KNOWN_IN_A_MESSAGE, (index + 1) * KNOWN_IN_A_MESSAGE);
    void link.send(
      encodeDnsMessage({ kind: 'query', isTruncated: index < messages - 1, questions: index === 0 ? questions : [], answers }),
    );
  }
}

const LONGEST_MS = 3_600_000;

/** Repeats a query: after a short delay, one second later, then at intervals that double up to an hour (RFC 6762 5.2). */
class QuerySchedule {
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #query: () => void;
  #cancel: (() => void) | undefined;

  constructor(clock: Clock, random: () => number, query: () => void) {
    this.#clock = clock;
    this.#random = random;
    this.#query = query;
  }

  /** Starts again from the first query. Its delay is random, because many hubs may start at the same moment. */
  restart(): void {
    this.#next(20 + 100 * this.#random(), 1_000);
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = undefined;
  }

  #next(delayMs: number, followingMs: number): void {
    this.stop();
    this.#cancel = this.#clock.after(delayMs, () => {
      this.#next(followingMs, Math.min(followingMs * 2, LONGEST_MS));
      this.#query();
    });
  }
}

const MAX_INSTANCES = 256;
const MAX_INSTANCES_OF_ONE = 64;

/** Remembers which host sent each service instance, and limits the number of instances in total and per sender. */
class InstanceOwners {
  /** Name and sender of each instance. The key is the name in lower case. */
  readonly #owners = new Map<string, { readonly name: string; readonly host: string }>();

  /** Records the sender of an instance; returns false if a limit is reached. */
  admit(name: string, host: string): boolean {
    const key = name.toLowerCase();
    if (this.#owners.has(key)) return true;
    if (this.#owners.size >= MAX_INSTANCES) return false;
    if ([...this.#owners.values()].filter((owner) => owner.host === host).length >= MAX_INSTANCES_OF_ONE) return false;
    this.#owners.set(key, { name, host });
    return true;
  }

  has(name: string): boolean {
    return this.#owners.has(name.toLowerCase());
  }

  spelling(name: string): string {
    return this.#owners.get(name.toLowerCase())?.name ?? name;
  }

  forget(name: string): void {
    this.#owners.delete(name.toLowerCase());
  }

  names(): readonly string[] {
    return [...this.#owners.keys()];
  }
}

/** Maximum number of instances of one host. A new address of the host makes the browser check all of them. */
const MAX_INSTANCES_OF_HOST = 4;

/** Remembers which service instances each host has, according to their SRV records. */
class HostInstances {
  readonly #instances = new Map<string, Set<string>>();

  add(host: string, name: string): void {
    const instances = this.#instances.get(host.toLowerCase()) ?? new Set();
    if (instances.size < MAX_INSTANCES_OF_HOST) instances.add(name.toLowerCase());
    this.#instances.set(host.toLowerCase(), instances);
  }

  of(host: string): ReadonlySet<string> {
    return this.#instances.get(host.toLowerCase()) ?? new Set();
  }

  forget(host: string, name: string): void {
    const instances = this.#instances.get(host.toLowerCase());
    instances?.delete(name.toLowerCase());
    if (instances?.size === 0) this.#instances.delete(host.toLowerCase());
  }
}
