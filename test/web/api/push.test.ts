import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../src/core/json.ts';
import { HubError } from '../../../src/web/api/hub-client.ts';
import { type BrowserSubscription, type PushBrowser, PushSubscriptions } from '../../../src/web/api/push.ts';
import { base64UrlOf } from '../../../src/web/api/signing-key.ts';

/** A push service and a browser, as far as the page sees them. */
class FakeBrowser implements PushBrowser {
  current: (BrowserSubscription & { isEnded: boolean }) | undefined;
  wish: 'default' | 'denied' | 'granted' = 'default';
  answer: 'default' | 'denied' | 'granted' = 'granted';
  hasWorker = true;
  made = 0;

  manager() {
    if (!this.hasWorker) return undefined;
    return {
      getSubscription: async () => this.current ?? null,
      subscribe: async ({ applicationServerKey }: { applicationServerKey: Uint8Array<ArrayBuffer> }) =>
        this.#subscribe(applicationServerKey),
    };
  }

  permission() {
    return this.wish;
  }

  async askPermission() {
    this.wish = this.answer;
    return this.answer;
  }

  label() {
    return 'Firefox on Android';
  }

  #subscribe(key: Uint8Array<ArrayBuffer>): BrowserSubscription {
    const endpoint = `https://push.example/${++this.made}`;
    const subscription = {
      endpoint,
      isEnded: false,
      options: { applicationServerKey: key.buffer },
      toJSON: () => ({ endpoint, keys: { p256dh: 'p', auth: 'a' } }),
      unsubscribe: async () => {
        subscription.isEnded = true;
        this.current = undefined;
        return true;
      },
    };
    this.current = subscription;
    return subscription;
  }
}

function lab() {
  const kept = new Map<string, string>();
  const hub = {
    key: base64UrlOf(Uint8Array.of(4, 1, 2, 3)),
    known: new Map<string, JsonObject>(),
    isAway: false,
    async get<Answer>(path: string): Promise<Answer> {
      this.check();
      const ids = [...this.known.keys()].map((id) => ({ subscription_id: id }));
      return (path.endsWith('/key') ? { key: this.key } : { subscriptions: ids }) as Answer;
    },
    async post<Answer>(_path: string, body: JsonObject = {}): Promise<Answer> {
      this.check();
      const id = `ps-${this.known.size + 1}`;
      this.known.set(id, body);
      return { subscription_id: id } as Answer;
    },
    async delete<Answer>(path: string): Promise<Answer> {
      this.check();
      this.known.delete(path.split('/').at(-1) ?? '');
      return {} as Answer;
    },
    check() {
      if (this.isAway) throw new HubError('HUB_UNREACHABLE', 'no answer');
    },
  };
  const browser = new FakeBrowser();
  const storage = {
    getItem: (key: string) => kept.get(key) ?? null,
    setItem: (key: string, value: string) => void kept.set(key, value),
    removeItem: (key: string) => void kept.delete(key),
  };
  return { hub, browser, push: new PushSubscriptions(hub, { browser, storage }) };
}

describe('notices in this browser', () => {
  test('are off until a person asks for them, and nobody is asked before', async () => {
    const { hub, browser, push } = lab();
    expect(push.state).toBe('unknown');
    await push.refresh();
    expect([push.state, browser.wish, hub.known.size]).toEqual(['off', 'default', 0]);
  });

  test('give the hub the subscription with the name of the browser', async () => {
    const { hub, push } = lab();
    await push.turnOn();
    expect(push.state).toBe('on');
    expect([...hub.known.values()]).toEqual([
      { endpoint: 'https://push.example/1', keys: { p256dh: 'p', auth: 'a' }, label: 'Firefox on Android' },
    ]);
  });

  test('are not subscribed where the person refuses', async () => {
    const { hub, browser, push } = lab();
    browser.answer = 'denied';
    await push.turnOn();
    expect([push.state, browser.made, hub.known.size]).toEqual(['denied', 0, 0]);
  });

  test('are impossible without a service worker', async () => {
    const { browser, push } = lab();
    browser.hasWorker = false;
    await push.refresh();
    await push.turnOn();
    expect([push.state, browser.made]).toEqual(['impossible', 0]);
  });

  test('stay as they are when the page is opened again', async () => {
    const { hub, browser, push } = lab();
    await push.turnOn();
    await push.refresh();
    expect([push.state, browser.made, hub.known.size]).toEqual(['on', 1, 1]);
  });

  test('come back when the push service or the hub has ended the subscription', async () => {
    const { hub, browser, push } = lab();
    await push.turnOn();
    browser.current = undefined;
    await push.refresh();
    expect([browser.made, hub.known.size]).toEqual([2, 2]);
    hub.known.clear();
    await push.refresh();
    expect(hub.known.size).toBe(1);
  });

  test('follow a new key of the hub', async () => {
    const { hub, browser, push } = lab();
    await push.turnOn();
    const before = browser.current;
    hub.key = base64UrlOf(Uint8Array.of(4, 9, 9, 9));
    await push.refresh();
    expect([before?.isEnded, browser.made]).toEqual([true, 2]);
  });

  test('end in the browser even if the hub does not answer', async () => {
    const { hub, browser, push } = lab();
    await push.turnOn();
    hub.isAway = true;
    await expect(push.turnOff()).rejects.toMatchObject({ code: 'HUB_UNREACHABLE' });
    expect([push.state, browser.current]).toEqual(['off', undefined]);
  });
});
