import type { HubContext } from '../../core/context.ts';
import { AtmoError } from '../../core/errors.ts';
import type { Service } from '../../core/lifecycle.ts';
import type { AnnouncedService, Discovery, ServiceListener } from './discovery.ts';
import { DiscoveryDrops, type LinkObserver, MulticastLinks, type OpenMulticastSocket, openMulticastSocket } from './multicast-links.ts';
import type { InterfaceWatch } from './network-interfaces.ts';
import { ServiceBrowser } from './service-browser.ts';
import { ServiceResponder } from './service-responder.ts';

interface DnsSdCollaborators extends Pick<HubContext, 'clock' | 'logger'> {
  /** Interface watch. It must be started before `DnsSd`, which does not dispose it. */
  readonly watch: InterfaceWatch;
  /** First label of this hub's host name. It must be unique in the network; hubs use their id. */
  readonly hostLabel: string;
  readonly open?: OpenMulticastSocket;
  /** Returns a random number from 0 to below 1; tests replace it. */
  readonly random?: () => number;
}

const MAX_LABEL_BYTES = 63;
const MAX_TEXT_BYTES = 255;

/** DNS-SD over multicast DNS on every interface, with IPv4 and IPv6. Shares port 5353 with other programs on the machine. */
export class DnsSd implements Discovery, Service {
  readonly #collaborators: ConstructorParameters<typeof ServiceResponder>[1];
  readonly #hostLabel: string;
  readonly #links: MulticastLinks;
  readonly #services = new Set<ServiceResponder>();
  readonly #browsers = new Set<ServiceBrowser>();

  constructor({ clock, logger, watch, hostLabel, open = openMulticastSocket, random = Math.random }: DnsSdCollaborators) {
    const drops = new DiscoveryDrops();
    this.#collaborators = { clock, logger, drops, random };
    this.#hostLabel = hostLabel;
    this.#links = new MulticastLinks({ clock, logger, watch, drops, open });
  }

  async start(): Promise<void> {
    await this.#links.start();
  }

  /** Returns the number of dropped messages since the start by reason. */
  drops(): Readonly<Record<string, number>> {
    return this.#collaborators.drops.counts();
  }

  advertise(service: AnnouncedService): AsyncDisposable {
    checkService(service);
    const { name, type, port, txt } = service;
    const responder = new ServiceResponder({ name, type, port, txt, host: this.#hostLabel }, this.#collaborators);
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

  browse(type: string, listener: ServiceListener, signal: AbortSignal): void {
    if (signal.aborted) return;
    const { clock, drops, random } = this.#collaborators;
    const browser = new ServiceBrowser({ clock, drops, random, type, listener });
    this.#browsers.add(browser);
    const leave = this.#join(browser);
    signal.addEventListener('abort', () => {
      leave();
      this.#browsers.delete(browser);
      browser[Symbol.dispose]();
    });
  }

  /** Stops browsing, and sends a goodbye for each announced service. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const browser of this.#browsers) browser[Symbol.dispose]();
    await Promise.all([...this.#services].map((service) => service[Symbol.asyncDispose]()));
    this.#browsers.clear();
    this.#services.clear();
    await this.#links[Symbol.asyncDispose]();
  }

  #join(observer: LinkObserver): () => void {
    for (const link of this.#links.all()) if (link.isOpen) observer.onLinkUp(link);
    return this.#links.subscribe(observer);
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
