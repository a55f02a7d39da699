import { type JsonObject, objectsOf } from '../../core/json.ts';
import type { HubClient } from './hub-client.ts';
import { Observable } from './observable.ts';
import { bytesOfBase64Url } from './signing-key.ts';

/** A subscription of this browser at its push service, as the Push API has it. */
export interface BrowserSubscription {
  readonly endpoint: string;
  readonly options: { readonly applicationServerKey: ArrayBuffer | null };
  toJSON(): { readonly endpoint?: string; readonly keys?: Record<string, string> };
  unsubscribe(): Promise<boolean>;
}

/** Port: what the browser lets a page do about push messages. */
export interface PushBrowser {
  /** Undefined while there is no service worker that could receive a message. */
  manager():
    | {
        getSubscription(): Promise<BrowserSubscription | null>;
        subscribe(options: { userVisibleOnly: boolean; applicationServerKey: Uint8Array<ArrayBuffer> }): Promise<BrowserSubscription>;
      }
    | undefined;
  permission(): 'default' | 'denied' | 'granted';
  askPermission(): Promise<'default' | 'denied' | 'granted'>;
  /** A name by which a person knows this browser in a list, such as `Chrome on Android`. */
  label(): string;
}

/** `unknown` until the browser was asked; `impossible` if it has no push; `denied` if the person has forbidden notifications here. */
export type PushState = 'unknown' | 'impossible' | 'denied' | 'off' | 'on';

interface IdStorage {
  getItem(key: string): string | null;
  setItem(key: string, value: string): void;
  removeItem(key: string): void;
}

const ID_KEY = 'atmosphere-push';
const SUBSCRIPTIONS = '/api/v1/push/subscriptions';

/** Makes this browser one that the hub reaches by push messages, and ends that. */
export class PushSubscriptions extends Observable {
  readonly #hub: Pick<HubClient, 'get' | 'post' | 'delete'>;
  readonly #browser: PushBrowser;
  /** Keeps the id of the hub's record, so that this browser can take it back. */
  readonly #storage: IdStorage;
  #state: PushState = 'unknown';

  constructor(hub: Pick<HubClient, 'get' | 'post' | 'delete'>, { browser, storage }: { browser: PushBrowser; storage: IdStorage }) {
    super();
    this.#hub = hub;
    this.#browser = browser;
    this.#storage = storage;
  }

  get state(): PushState {
    return this.#state;
  }

  /**
   * Finds out whether this browser is subscribed. If it is, but the hub does not know it any more or has another key, subscribes anew:
   * a push service ends subscriptions now and then, and the hub forgets those that have ended.
   */
  async refresh(): Promise<void> {
    const manager = this.#browser.manager();
    if (!manager) return this.#become('impossible');
    if (this.#browser.permission() === 'denied') return this.#become('denied');
    if (this.#storage.getItem(ID_KEY) === null) return this.#become('off');
    if (!(await this.#isKnown(await manager.getSubscription()))) await this.#subscribe();
    this.#become('on');
  }

  /** Subscribes this browser, after asking the person for the permission. Rejects with HubError if the hub does not take it. */
  async turnOn(): Promise<void> {
    if (!this.#browser.manager()) return this.#become('impossible');
    const permission = await this.#browser.askPermission();
    if (permission !== 'granted') return this.#become(permission === 'denied' ? 'denied' : 'off');
    await this.#subscribe();
    this.#become('on');
  }

  /** Ends the subscription at the push service first: from then on nothing reaches this browser, whatever the hub does. */
  async turnOff(): Promise<void> {
    const subscription = await this.#browser.manager()?.getSubscription();
    await subscription?.unsubscribe();
    const id = this.#storage.getItem(ID_KEY);
    this.#storage.removeItem(ID_KEY);
    this.#become(this.#state === 'impossible' ? 'impossible' : 'off');
    if (id !== null) await this.#hub.delete(`${SUBSCRIPTIONS}/${encodeURIComponent(id)}`);
  }

  async #isKnown(subscription: BrowserSubscription | null): Promise<boolean> {
    if (!subscription || !isOfKey(subscription, await this.#key())) return false;
    const { subscriptions } = await this.#hub.get(SUBSCRIPTIONS);
    return objectsOf(subscriptions).some(({ subscription_id: id }) => id === this.#storage.getItem(ID_KEY));
  }

  async #subscribe(): Promise<void> {
    const manager = this.#browser.manager();
    if (!manager) return;
    const key = await this.#key();
    const before = await manager.getSubscription();
    // A subscription belongs to one key; the browser refuses another while it exists.
    if (before && !isOfKey(before, key)) await before.unsubscribe();
    const made = await manager.subscribe({ userVisibleOnly: true, applicationServerKey: key });
    const body: JsonObject = { ...(made.toJSON() as JsonObject), label: this.#browser.label() };
    const { subscription_id: id } = await this.#hub.post(SUBSCRIPTIONS, body);
    this.#storage.setItem(ID_KEY, String(id));
  }

  async #key(): Promise<Uint8Array<ArrayBuffer>> {
    const { key } = await this.#hub.get('/api/v1/push/key');
    return bytesOfBase64Url(String(key));
  }

  #become(state: PushState): void {
    this.#state = state;
    this.changed();
  }
}

function isOfKey({ options }: BrowserSubscription, key: Uint8Array): boolean {
  const own = new Uint8Array(options.applicationServerKey ?? new ArrayBuffer());
  return own.length === key.length && own.every((byte, index) => byte === key[index]);
}
