import type { Clock } from '../../core/clock.ts';
import type { HubContext } from '../../core/context.ts';
import { AtmoError } from '../../core/errors.ts';
import type {
  NoticeMessage,
  PeopleReach,
  PushBrowser,
  PushBrowsers,
  PushOwner,
  PushSubscriptionKeys,
  Urgency,
} from '../../core/notices.ts';
import { hostRule } from '../web/address-policy.ts';
import type { FetchPublic, PublicResponse } from '../web/public-fetch.ts';
import type { PushConfig } from './push-config.ts';
import { PushSubscriptions, type SubscribedBrowser, type SubscribedPeople } from './push-subscriptions.ts';

/** Name and kind of the way to a person's browsers. */
const WAY = 'push';
const PREFIX = `${WAY}:`;
/** The setting with the push services in private networks. */
export const PUSH_HOSTS_SETTING = 'connectors.push.allowed_hosts';
const MAX_ANSWER_BYTES = 16_384;
const SHOWN = 200;
/** Longest time for which a push service keeps a message for a browser that is offline, in seconds (RFC 8030 §5.2). */
const MAX_TTL_SECONDS = 3 * 86_400;
/** Longest text in a message, in characters. Push services take messages of 4,096 bytes (RFC 8030 §7.2), which may be escaped. */
const MAX_TEXT = 900;
/** Content coding of an encrypted message (RFC 8188). */
const CODING = 'aes128gcm';
const GONE: ReadonlySet<number> = new Set([404, 410]);
const LATER: ReadonlySet<number> = new Set([429, 500, 502, 503, 504]);

/** Urgencies of RFC 8030 §5.3. */
const URGENCIES = { low: 'low', medium: 'normal', high: 'high', critical: 'high' } as const satisfies Record<Urgency, string>;

/** The key pair with which the hub identifies itself to push services (RFC 8292), both raw in base64url. */
export interface VapidKey {
  readonly publicKey: string;
  readonly privateKey: string;
}

interface WebPushCollaborators extends Pick<HubContext, 'clock' | 'logger' | 'store'> {
  /** Fetches from the public internet, and from the hosts that the configuration allows. */
  readonly fetch: FetchPublic;
  readonly key: VapidKey;
  readonly people: SubscribedPeople;
  /** Returns the address of the hub's page. */
  readonly pageUrl: () => string;
}

/** Reaches the browsers of persons by Web Push (RFC 8030), with encrypted messages (RFC 8291). web-push is loaded by the first message. */
export class WebPush implements PeopleReach, PushBrowsers {
  readonly #collaborators: WebPushCollaborators;
  readonly #config: PushConfig;
  readonly #subscriptions: PushSubscriptions;

  constructor(collaborators: WebPushCollaborators, config: PushConfig) {
    this.#collaborators = collaborators;
    this.#config = config;
    this.#subscriptions = new PushSubscriptions(collaborators);
  }

  get publicKey(): string {
    return this.#collaborators.key.publicKey;
  }

  persons(): readonly string[] {
    return this.#subscriptions.persons();
  }

  removePerson(name: string): void {
    for (const { id } of this.#subscriptions.of(name)) this.#subscriptions.remove(id);
  }

  list(person: string): readonly PushBrowser[] {
    return this.#subscriptions.of(person);
  }

  add(owner: PushOwner, subscription: PushSubscriptionKeys, label: string): PushBrowser {
    this.#requireEndpoint(subscription.endpoint);
    return this.#subscriptions.add(owner, subscription, label);
  }

  remove(person: string, id: string): void {
    if (this.#subscriptions.get(id)?.person === person && this.#subscriptions.remove(id)) return;
    throw new AtmoError('NOT_FOUND', `${person} has no browser ${id} that gets messages`);
  }

  waysOf(person: string) {
    const addresses = this.#subscriptions.of(person).map(({ id }) => `${PREFIX}${id}`);
    return addresses.length > 0 ? [{ name: WAY, kind: WAY, addresses }] : [];
  }

  /** Returns whether `send` takes this address. */
  isAddress(address: string): boolean {
    return address.startsWith(PREFIX);
  }

  async send(address: string, message: NoticeMessage, signal: AbortSignal): Promise<string> {
    const browser = this.#subscriptions.get(address.slice(PREFIX.length));
    if (browser?.person !== message.recipient) throw new AtmoError('NOT_FOUND', 'The browser gets no messages any more');
    const { url, method, headers, body } = await this.#request(browser, message);
    const response = await this.#collaborators.fetch({ url, method, headers, body, signal, maxBytes: MAX_ANSWER_BYTES });
    this.#requireTaken(browser, response);
    return message.id;
  }

  async #request({ endpoint, p256dh, auth }: SubscribedBrowser, message: NoticeMessage) {
    const { default: webPush } = await import('web-push');
    const { key, clock } = this.#collaborators;
    const { cipherText } = webPush.encrypt(p256dh, auth, payloadOf(message), CODING);
    const { origin } = new URL(endpoint);
    const { Authorization } = webPush.getVapidHeaders(origin, this.#contact(), key.publicKey, key.privateKey, CODING);
    const headers = {
      authorization: Authorization,
      'content-type': 'application/octet-stream',
      'content-encoding': CODING,
      'content-length': String(cipherText.length),
      ttl: String(secondsLeft(message, clock)),
      urgency: URGENCIES[message.urgency],
      // The service replaces an undelivered message by a later one with the same topic (RFC 8030 §5.4), so a repeat is shown once.
      topic: message.id,
    };
    return { url: endpoint, method: 'POST' as const, headers, body: cipherText };
  }

  /** Returns whom a push service may ask (RFC 8292 §2.1). Some services refuse addresses that do not begin with `https:` or `mailto:`. */
  #contact(): string {
    const { contact } = this.#config;
    const url = this.#collaborators.pageUrl();
    return contact ?? (url.startsWith('https:') ? url : 'https://atmosphere-edge.example');
  }

  /** Removes a browser that is gone. Throws unless the push service has taken the message. */
  #requireTaken(browser: SubscribedBrowser, { status, body }: PublicResponse): void {
    if (status >= 200 && status < 300) return;
    const { service, id, person } = browser;
    if (GONE.has(status)) {
      this.#subscriptions.remove(id);
      this.#collaborators.logger.info('push.browser_gone', { person, subscription_id: id });
      throw new AtmoError('SERVICE_REFUSED', `The browser of ${person} gets no messages any more (${service} answered ${status})`, {
        status,
      });
    }
    const said = new TextDecoder().decode(body.subarray(0, SHOWN)).replaceAll(/\s+/g, ' ').trim();
    const problem = `The push service ${service} answered ${status}${said === '' ? '' : `: ${said}`}`;
    throw new AtmoError(LATER.has(status) ? 'SERVICE_UNAVAILABLE' : 'SERVICE_REFUSED', problem, { status });
  }

  /** Throws VALIDATION_ERROR for an endpoint that no message may go to: http is for hosts that the owner allowed. */
  #requireEndpoint(text: string): void {
    const url = URL.parse(text);
    const isHttps = url?.protocol === 'https:';
    const isAllowed = url?.protocol === 'http:' && hostRule(this.#config.allowedHosts)(url, url.hostname);
    if (url && (isHttps || isAllowed) && url.username === '' && url.password === '') return;
    throw new AtmoError(
      'VALIDATION_ERROR',
      `The endpoint of a browser is an https address; others only for hosts in ${PUSH_HOSTS_SETTING}`,
    );
  }
}

/** Returns the message as the page's service worker reads it. */
function payloadOf({ id, kind, title, message, path, urgency, count }: NoticeMessage): string {
  const text = message.length > MAX_TEXT ? `${message.slice(0, MAX_TEXT)}…` : message;
  return JSON.stringify({ id, kind, title, text, path, urgency, count });
}

function secondsLeft({ untilMs }: NoticeMessage, clock: Clock): number {
  return Math.min(MAX_TTL_SECONDS, Math.max(1, Math.ceil((untilMs - clock.now()) / 1_000)));
}
