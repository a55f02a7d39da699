import { createHash, createPublicKey } from 'node:crypto';
import type { PeopleAdministration } from '../../core/auth/people.ts';
import type { HubContext } from '../../core/context.ts';
import { AtmoError } from '../../core/errors.ts';
import { isJsonObject, type Json } from '../../core/json.ts';
import type { PushBrowser, PushOwner, PushSubscriptionKeys } from '../../core/notices.ts';

const SPACE = 'notices.push';
const MAX_OF_PERSON = 16;
const MAX_BROWSERS = 256;
const POINT_BYTES = 65;
const AUTH_BYTES = 16;

/** A browser with its subscription, which is a secret. */
export interface SubscribedBrowser extends PushBrowser, PushSubscriptionKeys {
  /** Id of the sign-in with which the subscription ends. */
  readonly signIn?: string;
}

/** Says whose browsers still get messages. */
export type SubscribedPeople = Pick<PeopleAdministration, 'find' | 'signIns'>;

interface SubscriptionCollaborators extends Pick<HubContext, 'clock' | 'store'> {
  readonly people: SubscribedPeople;
}

/** Stores the subscriptions of browsers to Web Push. A subscription is deleted once its person or sign-in has ended. */
export class PushSubscriptions {
  readonly #collaborators: SubscriptionCollaborators;

  constructor(collaborators: SubscriptionCollaborators) {
    this.#collaborators = collaborators;
  }

  persons(): readonly string[] {
    return this.#all().map(({ person }) => person);
  }

  of(person: string): readonly SubscribedBrowser[] {
    return this.#all().filter((browser) => browser.person === person);
  }

  get(id: string): SubscribedBrowser | undefined {
    return this.#all().find((browser) => browser.id === id);
  }

  /**
   * Stores a subscription. A known endpoint belongs to this person from now on. Throws VALIDATION_ERROR (malformed keys) or
   * RESOURCE_EXCEEDED (too many browsers).
   */
  add({ person, signIn }: PushOwner, { endpoint, p256dh, auth }: PushSubscriptionKeys, label: string): SubscribedBrowser {
    requireKeys(p256dh, auth);
    const { host, href } = new URL(endpoint);
    const id = createHash('sha256').update(href).digest('hex').slice(0, 16);
    this.#requireRoom(person, id);
    const { clock, store } = this.#collaborators;
    const browser = { id, person, label, service: host, createdAtMs: clock.now(), endpoint: href, p256dh, auth };
    store.set(SPACE, id, { ...browser, ...(signIn !== undefined && { signIn }) });
    return browser;
  }

  /** Returns whether the browser was there. */
  remove(id: string): boolean {
    return this.#collaborators.store.delete(SPACE, id);
  }

  #all(): readonly SubscribedBrowser[] {
    const { people, store } = this.#collaborators;
    const signedIn = new Set(people.signIns().map(({ id }) => id));
    const isThere = ({ person, signIn }: SubscribedBrowser) =>
      people.find(person) !== undefined && (signIn === undefined || signedIn.has(signIn));
    const all = store.entries(SPACE).flatMap(({ value }) => readBrowser(value) ?? []);
    for (const browser of all) if (!isThere(browser)) store.delete(SPACE, browser.id);
    return all.filter(isThere);
  }

  #requireRoom(person: string, id: string): void {
    const others = this.#all().filter((browser) => browser.id !== id);
    const own = others.filter((browser) => browser.person === person);
    if (own.length < MAX_OF_PERSON && others.length < MAX_BROWSERS) return;
    throw new AtmoError('RESOURCE_EXCEEDED', `${person} has messages sent to ${own.length} browsers already; remove one of them first`);
  }
}

/** Throws VALIDATION_ERROR unless the keys are a P-256 point and 16 bytes (RFC 8291 §3.1, §3.2). */
function requireKeys(p256dh: string, auth: string): void {
  const point = Buffer.from(p256dh, 'base64url');
  if (point.length === POINT_BYTES && Buffer.from(auth, 'base64url').length === AUTH_BYTES && isOnCurve(point)) return;
  throw new AtmoError('VALIDATION_ERROR', 'The keys are not those of a browser subscription: p256dh is a P-256 key, auth has 16 bytes');
}

function isOnCurve(point: Buffer): boolean {
  const [x = '', y = ''] = [point.subarray(1, 33), point.subarray(33)].map((part) => part.toString('base64url'));
  try {
    return createPublicKey({ key: { kty: 'EC', crv: 'P-256', x, y }, format: 'jwk' }).asymmetricKeyType === 'ec' && point[0] === 4;
  } catch {
    return false;
  }
}

function readBrowser(value: Json | undefined): SubscribedBrowser | undefined {
  if (!isJsonObject(value)) return undefined;
  const texts = [value.id, value.person, value.label, value.service, value.endpoint, value.p256dh, value.auth];
  return texts.every((text) => typeof text === 'string') ? (value as unknown as SubscribedBrowser) : undefined;
}
