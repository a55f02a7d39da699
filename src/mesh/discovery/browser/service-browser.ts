import type { ServiceEar, ServiceInstance } from '../../../core/devices/discovery.ts';
import type { Clock } from '../../../core/time/clock.ts';
import type { DnsMessage } from '../dns/dns-message.ts';
import type { DiscoveryDrops } from '../link/discovery-drops.ts';
import type { DnsLink } from '../link/dns-link.ts';
import type { LinkUser } from '../link/dns-links.ts';
import { MDNS_PORT, type MessageSource } from '../link/multicast-socket.ts';
import { LinkBrowser, type LinkInstance } from './link-browser.ts';

const SAY_AGAIN_MS = 1_000;

/** What a browser needs. */
export interface ServiceBrowserParts {
  readonly clock: Clock;
  readonly drops: DiscoveryDrops;
  /** 0 to below 1. */
  readonly random: () => number;
  /** Such as `_atmosphere-edge._tcp`. */
  readonly type: string;
  readonly ear: ServiceEar;
}

/** Looks for services of one type on every link and tells them as one list. */
export class ServiceBrowser implements LinkUser, Disposable {
  readonly #parts: ServiceBrowserParts;
  readonly #typeName: string;
  readonly #browsers = new Map<DnsLink, LinkBrowser>();
  readonly #told = new Map<string, { text: string; atMs: number; name: string }>();

  constructor(parts: ServiceBrowserParts) {
    this.#parts = parts;
    this.#typeName = `${parts.type}.local`;
  }

  linkUp(link: DnsLink): void {
    const known = this.#browsers.get(link);
    if (known !== undefined) {
      known.start();
      return;
    }
    const { clock, drops, random } = this.#parts;
    const touched = (names: ReadonlySet<string>) => this.#review(names);
    const browser = new LinkBrowser(link, { clock, drops, random, typeName: this.#typeName, touched });
    this.#browsers.set(link, browser);
    browser.start();
  }

  linkMoved(link: DnsLink): void {
    this.#browsers.get(link)?.start();
  }

  linkDown(link: DnsLink): void {
    const browser = this.#browsers.get(link);
    browser?.stop();
    this.#browsers.delete(link);
    this.#review(new Set(browser?.names()));
  }

  heard(link: DnsLink, message: DnsMessage, from: MessageSource): void {
    if (message.kind === 'response' && from.port === MDNS_PORT) this.#browsers.get(link)?.heard(message, from.host);
  }

  [Symbol.dispose](): void {
    for (const browser of this.#browsers.values()) browser.stop();
    this.#browsers.clear();
  }

  #review(names: ReadonlySet<string>): void {
    for (const name of names) {
      const places = [...this.#browsers.values()].flatMap((browser) => browser.instance(name)?.complete ?? []);
      const [first] = places;
      if (first === undefined) this.#lose(name);
      else this.#find(name, first, places);
    }
  }

  #lose(name: string): void {
    const told = this.#told.get(name);
    if (told === undefined) return;
    this.#told.delete(name);
    this.#parts.ear.lost(told.name);
  }

  #find(name: string, first: LinkInstance, places: readonly LinkInstance[]): void {
    const addresses = [...new Set(places.flatMap((place) => place.addresses))];
    const label = first.spelling.slice(0, -this.#typeName.length - 1);
    const service: ServiceInstance = { name: label, type: this.#parts.type, port: first.port, txt: first.txt, addresses };
    const text = JSON.stringify(service);
    const told = this.#told.get(name);
    const nowMs = this.#parts.clock.monotonic();
    if (told !== undefined && told.text === text && nowMs - told.atMs < SAY_AGAIN_MS) return;
    this.#told.set(name, { text, atMs: nowMs, name: label });
    this.#parts.ear.found(service);
  }
}
