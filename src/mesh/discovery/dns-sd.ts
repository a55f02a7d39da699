import type { Clock } from '../../core/clock.ts';
import { AtmoError } from '../../core/errors.ts';
import type { Service } from '../../core/lifecycle.ts';
import type { Logger } from '../../core/logger.ts';
import type { AnnouncedService, Discovery, ServiceListener } from './discovery.ts';
import { type DiscoveryDrop, DiscoveryDrops, type LinkObserver, MulticastLinks } from './multicast-links.ts';
import { type OpenMulticastSocket, openMulticastSocket } from './multicast-socket.ts';
import type { InterfaceWatch } from './network-interfaces.ts';
import { ServiceBrowser } from './service-browser.ts';
import { ServiceResponder } from './service-responder.ts';

/** What service discovery needs. */
export interface DnsSdCollaborators {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Started before this; not disposed here. */
  readonly watch: InterfaceWatch;
  /** First label of the name under which this host answers, unique in the network: the hub's id. */
  readonly hostLabel: string;
  readonly open?: OpenMulticastSocket;
  /** 0 to below 1; tests give their own. */
  readonly random?: () => number;
}

const MAX_LABEL_BYTES = 63;
const MAX_TEXT_BYTES = 255;

/** DNS-SD over multicast DNS on every interface, IPv4 and IPv6, beside other responders on the same port. */
export class DnsSd implements Discovery, Service {
  readonly #parts: DnsSdCollaborators & { readonly drops: DiscoveryDrops; readonly random: () => number };
  readonly #links: MulticastLinks;
  readonly #services = new Set<ServiceResponder>();
  readonly #browsers = new Set<ServiceBrowser>();

  constructor(parts: DnsSdCollaborators) {
    this.#parts = { random: Math.random, ...parts, drops: new DiscoveryDrops() };
    this.#links = new MulticastLinks({
      clock: this.#parts.clock,
      logger: this.#parts.logger,
      watch: this.#parts.watch,
      drops: this.#parts.drops,
      open: parts.open ?? openMulticastSocket,
    });
  }

  async start(): Promise<void> {
    await this.#links.start();
  }

  /** What was not heeded since the start, by reason. */
  drops(): Readonly<Record<DiscoveryDrop, number>> {
    return this.#parts.drops.counts();
  }

  advertise(service: AnnouncedService): AsyncDisposable {
    checkService(service);
    const responder = new ServiceResponder(
      { name: service.name, type: service.type, port: service.port, txt: service.txt, host: this.#parts.hostLabel },
      this.#parts,
    );
    this.#services.add(responder);
    const leave = this.#join(responder);
    return {
      [Symbol.asyncDispose]: async () => {
        leave();
        this.#services.delete(responder);
        await responder[Symbol.asyncDispose]();
      },
    };
  }

  browse(type: string, ear: ServiceListener, signal: AbortSignal): void {
    if (signal.aborted) return;
    const browser = new ServiceBrowser({ clock: this.#parts.clock, drops: this.#parts.drops, random: this.#parts.random, type, ear });
    this.#browsers.add(browser);
    const leave = this.#join(browser);
    signal.addEventListener('abort', () => {
      leave();
      this.#browsers.delete(browser);
      browser[Symbol.dispose]();
    });
  }

  /** Says goodbye for what is still announced. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const browser of this.#browsers) browser[Symbol.dispose]();
    await Promise.all([...this.#services].map((service) => service[Symbol.asyncDispose]()));
    this.#browsers.clear();
    this.#services.clear();
    await this.#links[Symbol.asyncDispose]();
  }

  #join(user: LinkObserver): () => void {
    for (const link of this.#links.all()) if (link.isOpen) user.onLinkUp(link);
    return this.#links.use(user);
  }
}

function checkService({ name, type, txt }: AnnouncedService): void {
  const bytes = Buffer.byteLength(name);
  if (bytes === 0 || bytes > MAX_LABEL_BYTES || name.includes('.')) {
    throw new AtmoError('VALIDATION_ERROR', `Service name ${JSON.stringify(name)} must have 1 to 63 bytes and no dot`);
  }
  if (!/^_[a-z0-9-]{1,15}\._(tcp|udp)$/i.test(type)) {
    throw new AtmoError('VALIDATION_ERROR', `Service type ${JSON.stringify(type)} is not of the form _name._tcp`);
  }
  const long = Object.entries(txt).find(([key, value]) => Buffer.byteLength(`${key}=${value}`) > MAX_TEXT_BYTES);
  if (long !== undefined) throw new AtmoError('VALIDATION_ERROR', `Attribute ${long[0]} of a service is longer than 255 bytes`);
}
