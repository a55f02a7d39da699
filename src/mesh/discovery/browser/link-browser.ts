import type { ServiceInstance } from '../../../core/devices/discovery.ts';
import type { Clock } from '../../../core/time/clock.ts';
import type { DnsMessage } from '../dns/dns-message.ts';
import { type DnsRecord, isPlainName, isSameName } from '../dns/dns-record.ts';
import type { DiscoveryDrops } from '../link/discovery-drops.ts';
import type { DnsLink } from '../link/dns-link.ts';
import { isLinkLocal } from '../link/network-interface.ts';
import { HostUsers } from './host-users.ts';
import { InstanceOwners } from './instance-owners.ts';
import { ask } from './link-query.ts';
import { QuerySchedule } from './query-schedule.ts';
import { RecordCache } from './record-cache.ts';

const TICK_MS = 1_000;
const LONGEST_RESOLVE_MS = 60_000;
const MAX_QUESTIONS = 16;

/** What looking for services on a link needs. */
export interface LinkBrowserParts {
  readonly clock: Clock;
  readonly drops: DiscoveryDrops;
  readonly random: () => number;
  /** Domain name of the type, such as `_atmosphere-edge._tcp.local`. */
  readonly typeName: string;
  /** Instances, as domain names, of which something was heard or has ended. */
  readonly touched: (names: ReadonlySet<string>) => void;
}

/** What an instance is on one link. */
export interface LinkInstance extends Pick<ServiceInstance, 'port' | 'txt' | 'addresses'> {
  /** Domain name, as its owner writes it. */
  readonly spelling: string;
}

/** Looks for services of one type on one link, keeps what it hears fresh and forgets what has gone. */
export class LinkBrowser {
  readonly #link: DnsLink;
  readonly #parts: LinkBrowserParts;
  readonly #cache = new RecordCache();
  readonly #owners = new InstanceOwners();
  readonly #hosts = new HostUsers();
  /** Instances that a PTR record names. */
  readonly #pointers = new Set<string>();
  readonly #resolving = new Map<string, { dueMs: number; everyMs: number }>();
  readonly #schedule: QuerySchedule;
  #cancelTick: (() => void) | undefined;

  constructor(link: DnsLink, parts: LinkBrowserParts) {
    this.#link = link;
    this.#parts = parts;
    this.#schedule = new QuerySchedule({ clock: parts.clock, random: parts.random, ask: () => this.#askForAll() });
  }

  /** Looks, or looks again as if for the first time. */
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

  /** Undefined unless it is there; `complete` is missing while its port or addresses are not known. */
  instance(name: string): { readonly complete?: LinkInstance } | undefined {
    if (!this.#pointers.has(name.toLowerCase())) return undefined;
    const [location] = this.#cache.of(name, 'SRV');
    const addresses = location === undefined ? [] : this.#addressesOf(location.data.target);
    if (location === undefined || location.data.port === 0 || addresses.length === 0) return {};
    const attributes = this.#cache.of(name, 'TXT').flatMap(({ data }) => data.flatMap(attributeOf));
    // Of several with the same key the first one counts (RFC 6763 6.4).
    const txt = Object.fromEntries(attributes.reverse());
    return { complete: { spelling: this.#owners.spelling(name), port: location.data.port, txt, addresses } };
  }

  heard(message: DnsMessage, host: string): void {
    const records = [...message.answers, ...message.additionals];
    const touched = new Set<string>();
    for (const record of records) if (record.type === 'PTR') this.#take(record, record.data, host, touched);
    for (const record of records) if (record.type === 'SRV' || record.type === 'TXT') this.#take(record, record.name, host, touched);
    for (const record of records) if (record.type === 'A' || record.type === 'AAAA') this.#takeAddress(record, touched);
    if (touched.size === 0) return;
    this.#resolve(touched);
    this.#parts.touched(touched);
  }

  #take(record: DnsRecord, name: string, host: string, touched: Set<string>): void {
    const { typeName, drops, clock } = this.#parts;
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

  #takeAddress(record: DnsRecord, touched: Set<string>): void {
    const users = this.#hosts.of(record.name);
    if (users.size === 0 || this.#cache.add(record, this.#parts.clock.monotonic()) !== 'added') return;
    for (const name of users) touched.add(name);
  }

  // Only neighbours: who listens to strangers must not be sent to connect to any place in the world.
  #addressesOf(host: string): readonly string[] {
    const addresses = [...this.#cache.of(host, 'AAAA'), ...this.#cache.of(host, 'A')].map(({ data }) => data);
    return addresses
      .filter((address) => this.#link.isNeighbour(address))
      .map((address) => (isLinkLocal(address) ? `${address}%${this.#link.place.name}` : address));
  }

  #askForAll(): void {
    const { typeName, clock } = this.#parts;
    ask(this.#link, [{ name: typeName, type: 'PTR' }], this.#cache.known(typeName, clock.monotonic()));
  }

  #tickLater(): void {
    this.#cancelTick?.();
    this.#cancelTick = this.#parts.clock.after(TICK_MS, () => {
      this.#tickLater();
      this.#refresh();
      this.#expire();
      this.#resolve(this.#owners.names());
    });
  }

  #refresh(): void {
    const due = this.#cache.due(this.#parts.clock.monotonic());
    if (due.some(({ type }) => type === 'PTR')) this.#askForAll();
    const questions = new Map(due.filter(({ type }) => type !== 'PTR').map(({ name, type }) => [`${name} ${type}`, { name, type }]));
    if (questions.size > 0) ask(this.#link, [...questions.values()].slice(0, MAX_QUESTIONS));
  }

  #expire(): void {
    const over = this.#cache.expire(this.#parts.clock.monotonic());
    if (over.length === 0) return;
    const touched = new Set(this.#owners.names());
    for (const record of over) {
      if (record.type === 'SRV') this.#hosts.forget(record.data.target, record.name);
      if (record.type === 'PTR') this.#forget(record.data);
    }
    this.#parts.touched(touched);
  }

  #forget(name: string): void {
    this.#owners.forget(name);
    this.#pointers.delete(name.toLowerCase());
    this.#resolving.delete(name.toLowerCase());
  }

  /** Asks for what is missing of instances, ever more seldom. */
  #resolve(names: Iterable<string>): void {
    const missing = [...names].filter((name) => this.#isDue(name)).slice(0, MAX_QUESTIONS);
    const questions = missing.flatMap((name) => {
      const hosts = this.#cache.of(name, 'SRV').map(({ data }) => data.target);
      if (hosts.length === 0) return ['SRV', 'TXT'].map((type) => ({ name, type }));
      return hosts.slice(0, 1).flatMap((host) => ['A', 'AAAA'].map((type) => ({ name: host, type })));
    });
    if (questions.length > 0) ask(this.#link, questions);
  }

  #isDue(name: string): boolean {
    const instance = this.instance(name);
    if (instance === undefined || instance.complete !== undefined) {
      this.#resolving.delete(name);
      return false;
    }
    const nowMs = this.#parts.clock.monotonic();
    const { dueMs, everyMs } = this.#resolving.get(name) ?? { dueMs: nowMs, everyMs: TICK_MS };
    if (nowMs < dueMs) return false;
    this.#resolving.set(name, { dueMs: nowMs + everyMs, everyMs: Math.min(everyMs * 2, LONGEST_RESOLVE_MS) });
    return true;
  }
}

/** A key may stand without a value, a value not without a key (RFC 6763 6.4). */
function attributeOf(text: string): readonly [string, string][] {
  const at = text.indexOf('=');
  if (at === 0 || text === '') return [];
  return at < 0 ? [[text, '']] : [[text.slice(0, at), text.slice(at + 1)]];
}
