import type { Clock } from '../../../core/clock.ts';
import type { ServiceInstance } from '../../../core/discovery.ts';
import type { DnsMessage } from '../dns/dns-message.ts';
import { type DnsRecord, isSameName } from '../dns/dns-record.ts';
import type { DiscoveryDrops } from '../link/discovery-drops.ts';
import type { DnsLink } from '../link/dns-link.ts';
import { isLinkLocal } from '../link/network-interface.ts';
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
export type LinkInstance = Pick<ServiceInstance, 'port' | 'txt' | 'addresses'>;

/** Looks for services of one type on one link, keeps what it hears fresh and forgets what has gone. */
export class LinkBrowser {
  readonly #link: DnsLink;
  readonly #parts: LinkBrowserParts;
  readonly #cache = new RecordCache();
  readonly #owners = new InstanceOwners();
  readonly #resolving = new Map<string, { dueMs: number; everyMs: number }>();
  readonly #schedule: QuerySchedule;
  #cancelTick: (() => void) | undefined;

  constructor(link: DnsLink, parts: LinkBrowserParts) {
    this.#link = link;
    this.#parts = parts;
    this.#schedule = new QuerySchedule({ ...parts, ask: () => this.#askForAll() });
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
    if (!this.#pointers().some((pointer) => isSameName(pointer, name))) return undefined;
    const [location] = this.#cache.of(name, 'SRV');
    const addresses = location === undefined ? [] : this.#addressesOf(location.data.target);
    if (location === undefined || location.data.port === 0 || addresses.length === 0) return {};
    const txt = Object.fromEntries(this.#cache.of(name, 'TXT').flatMap(({ data }) => data.flatMap(attributeOf)));
    return { complete: { port: location.data.port, txt, addresses } };
  }

  heard(message: DnsMessage, host: string): void {
    const records = [...message.answers, ...message.additionals];
    const touched = new Set<string>();
    for (const record of records) if (record.type === 'PTR') this.#take(record, record.data, host, touched);
    for (const record of records) if (record.type === 'SRV' || record.type === 'TXT') this.#take(record, record.name, host, touched);
    for (const record of records) if (record.type === 'A' || record.type === 'AAAA') this.#takeAddress(record, touched);
    if (touched.size === 0) return;
    this.#resolve();
    this.#parts.touched(touched);
  }

  #take(record: DnsRecord, name: string, host: string, touched: Set<string>): void {
    const { typeName, drops, clock } = this.#parts;
    if (!name.toLowerCase().endsWith(`.${typeName.toLowerCase()}`)) return;
    if (record.type === 'PTR' && !isSameName(record.name, typeName)) return;
    if (record.type !== 'PTR' && !this.#owners.names().includes(name.toLowerCase())) return;
    if (record.ttlSeconds > 0 && !this.#owners.admit(name, host)) {
      drops.count('too_many_instances');
      return;
    }
    if (this.#cache.add(record, clock.monotonic()) !== 'ignored') touched.add(name.toLowerCase());
  }

  #takeAddress(record: DnsRecord, touched: Set<string>): void {
    const users = this.#owners
      .names()
      .filter((name) => this.#cache.of(name, 'SRV').some(({ data }) => isSameName(data.target, record.name)));
    if (users.length === 0 || this.#cache.add(record, this.#parts.clock.monotonic()) === 'ignored') return;
    for (const name of users) touched.add(name);
  }

  // Only neighbours: who listens to strangers must not be sent to connect to any place in the world.
  #addressesOf(host: string): readonly string[] {
    const addresses = [...this.#cache.of(host, 'AAAA'), ...this.#cache.of(host, 'A')].map(({ data }) => data);
    return addresses
      .filter((address) => this.#link.isNeighbour(address))
      .map((address) => (isLinkLocal(address) ? `${address}%${this.#link.place.name}` : address));
  }

  #pointers(): readonly string[] {
    return this.#cache.of(this.#parts.typeName, 'PTR').map(({ data }) => data);
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
      this.#resolve();
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
      if (record.type !== 'PTR') continue;
      this.#owners.forget(record.data);
      this.#resolving.delete(record.data.toLowerCase());
    }
    this.#parts.touched(touched);
  }

  /** Asks for what is missing of an instance, ever more seldom. */
  #resolve(): void {
    const nowMs = this.#parts.clock.monotonic();
    for (const name of this.#owners.names()) {
      const instance = this.instance(name);
      if (instance === undefined || instance.complete !== undefined) {
        this.#resolving.delete(name);
        continue;
      }
      const { dueMs, everyMs } = this.#resolving.get(name) ?? { dueMs: nowMs, everyMs: TICK_MS };
      if (nowMs < dueMs) continue;
      this.#resolving.set(name, { dueMs: nowMs + everyMs, everyMs: Math.min(everyMs * 2, LONGEST_RESOLVE_MS) });
      const hosts = this.#cache.of(name, 'SRV').map(({ data }) => data.target);
      const missing = hosts.length === 0 ? [name] : hosts;
      const types = hosts.length === 0 ? ['SRV', 'TXT'] : ['A', 'AAAA'];
      ask(
        this.#link,
        missing.flatMap((asked) => types.map((type) => ({ name: asked, type }))),
      );
    }
  }
}

/** RFC 6763 6.4: a key without `=` has no value; the first of several counts, and so does the one told last here. */
function attributeOf(text: string): readonly [string, string][] {
  const at = text.indexOf('=');
  if (at === 0 || text === '') return [];
  return at < 0 ? [[text, '']] : [[text.slice(0, at), text.slice(at + 1)]];
}
