import { describe, expect, test } from 'vitest';
import { WebPush } from '../../../src/connectors/push/web-push.ts';
import type { FetchPublic } from '../../../src/connectors/web/public-fetch.ts';
import type { SignIn } from '../../../src/core/auth/people.ts';
import type { AtmoError } from '../../../src/core/errors.ts';
import { silentLogger } from '../../../src/core/logger.ts';
import type { NoticeMessage } from '../../../src/core/notices.ts';
import { ManualClock } from '../../manual-clock.ts';
import { MemoryKeyValueStore } from '../../memory-key-value-store.ts';
import { receiver, vapidClaims, vapidKeys } from './push-receiver.ts';

const PAGE = 'https://home.example:8081';
const ENDPOINT = 'https://push.example/send/1';
const MESSAGE: Omit<NoticeMessage, 'atMs' | 'untilMs'> = {
  id: 'ab'.repeat(16),
  recipient: 'ann',
  kind: 'approval',
  urgency: 'high',
  title: 'Approval needed',
  message: 'kitchen wants: Unlock Front door (Hall). Decide until 12:04.',
  path: '/#/approvals/1',
  link: `${PAGE}/#/approvals/1`,
  count: 3,
};

/** Web Push over a push service that answers with a status. */
function pushOver(status: () => number = () => 201, allowedHosts: readonly string[] = []) {
  const clock = new ManualClock(Date.now());
  const store = new MemoryKeyValueStore(clock);
  const key = vapidKeys();
  const requests: Parameters<FetchPublic>[0][] = [];
  const fetch: FetchPublic = async (request) => {
    requests.push(request);
    return { status: status(), url: request.url, headers: new Headers(), body: new TextEncoder().encode('said') };
  };
  const persons = new Set(['ann', 'bob']);
  const signIns: SignIn[] = [];
  const people = {
    find: (name: string) => (persons.has(name) ? ({ name, title: name, role: 'adult', limits: {} } as const) : undefined),
    signIns: () => signIns,
  };
  const push = new WebPush({ clock, logger: silentLogger, store, fetch, key, people, pageUrl: () => PAGE }, { allowedHosts });
  const browser = receiver();
  const subscribe = (person = 'ann', endpoint = ENDPOINT, signIn?: string) =>
    push.add({ person, signIn }, { endpoint, ...browser.keys }, 'phone');
  const message = (change: Partial<NoticeMessage> = {}) => ({ ...MESSAGE, atMs: clock.now(), untilMs: clock.now() + 600_000, ...change });
  const send = (address: string, change: Partial<NoticeMessage> = {}) => push.send(address, message(change), AbortSignal.timeout(5_000));
  return { push, key, browser, requests, subscribe, send, clock, persons, signIns, store };
}

const refusal = (code: AtmoError['code']) => expect.objectContaining({ code });

describe('a subscription that is over', () => {
  test('does not come back for the next person of the same name', () => {
    const { push, subscribe, persons, store } = pushOver();
    subscribe();
    subscribe('bob', `${ENDPOINT}/2`);
    expect(push.persons()).toEqual(['ann', 'bob']);
    persons.delete('ann');
    push.removePerson('ann');
    persons.add('ann');
    expect([push.list('ann'), push.list('bob').length, store.entries('notices.push').length]).toEqual([[], 1, 1]);
  });

  test('ends with its sign-in, and one without a sign-in ends with its person', async () => {
    const { push, subscribe, send, persons, signIns, store, requests } = pushOver();
    signIns.push({ id: 's1', person: 'ann', label: 'phone', key: 'k', createdAtMs: 0, seenAtMs: 0 });
    const { id } = subscribe('ann', ENDPOINT, 's1');
    const { id: other } = subscribe('ann', `${ENDPOINT}/old`);
    expect(
      push
        .list('ann')
        .map((one) => one.id)
        .sort(),
    ).toEqual([id, other].sort());
    signIns.pop();
    await expect(send(`push:${id}`)).rejects.toThrow(refusal('NOT_FOUND'));
    expect(push.waysOf('ann')).toMatchObject([{ addresses: [`push:${other}`] }]);
    persons.delete('ann');
    expect(push.waysOf('ann')).toEqual([]);
    expect([requests, store.entries('notices.push')]).toEqual([[], []]);
  });
});

describe('a message by Web Push', () => {
  test('reaches the browser encrypted, signed by the hub, with time to live, urgency and a topic for its repeat', async () => {
    const { push, key, browser, requests, subscribe, send } = pushOver();
    const { id } = subscribe();
    const [way] = push.waysOf('ann');
    expect(way).toEqual({ name: 'push', kind: 'push', addresses: [`push:${id}`] });
    expect(await send(`push:${id}`)).toBe(MESSAGE.id);
    const [{ url, method, headers, body } = expect.fail('nothing was sent')] = requests;
    expect([url, method]).toEqual([ENDPOINT, 'POST']);
    expect(headers).toMatchObject({ ttl: '600', urgency: 'high', topic: MESSAGE.id, 'content-encoding': 'aes128gcm' });
    expect(vapidClaims(headers?.authorization ?? '', key.publicKey)).toMatchObject({ aud: 'https://push.example', sub: PAGE });
    expect(Buffer.from(body ?? []).toString('latin1')).not.toContain('Front door');
    const { kind, title, message: text, path, urgency, count } = MESSAGE;
    expect(browser.read(body ?? new Uint8Array())).toEqual({ id: MESSAGE.id, kind, title, text, path, urgency, count });
  });

  test('that is long is cut to what push services take', async () => {
    const { browser, requests, subscribe, send } = pushOver();
    await send(`push:${subscribe().id}`, { message: '<ü>'.repeat(4_000) });
    const body = requests[0]?.body ?? new Uint8Array();
    expect(body.length).toBeLessThanOrEqual(4_096);
    expect(String(browser.read(body).text)).toMatch(/^(<ü>)+…$/);
  });

  test.each<[number, AtmoError['code']]>([
    [404, 'SERVICE_REFUSED'],
    [410, 'SERVICE_REFUSED'],
  ])('to a browser that is gone (%i) removes the browser', async (status, code) => {
    const { push, subscribe, send } = pushOver(() => status);
    await expect(send(`push:${subscribe().id}`)).rejects.toEqual(refusal(code));
    expect([push.list('ann'), push.waysOf('ann')]).toEqual([[], []]);
  });

  test.each<[number, AtmoError['code']]>([
    [429, 'SERVICE_UNAVAILABLE'],
    [503, 'SERVICE_UNAVAILABLE'],
    [301, 'SERVICE_REFUSED'],
    [403, 'SERVICE_REFUSED'],
  ])('that the service answers with %i fails with %s and keeps the browser', async (status, code) => {
    const { push, subscribe, send } = pushOver(() => status);
    await expect(send(`push:${subscribe().id}`)).rejects.toEqual(refusal(code));
    expect(push.list('ann')).toHaveLength(1);
  });

  test('goes to nobody else: not to a browser of another person, nor to one that was removed', async () => {
    const { push, requests, subscribe, send } = pushOver();
    const { id } = subscribe('bob');
    await expect(send(`push:${id}`)).rejects.toEqual(refusal('NOT_FOUND'));
    push.remove('bob', id);
    await expect(send(`push:${id}`, { recipient: 'bob' })).rejects.toEqual(refusal('NOT_FOUND'));
    expect(requests).toEqual([]);
  });
});

describe('a subscription', () => {
  test('that is known replaces the earlier one, and belongs to the person who subscribed last', () => {
    const { push, subscribe } = pushOver();
    subscribe('ann');
    const { id } = subscribe('bob');
    expect([push.list('ann'), push.list('bob')]).toMatchObject([[], [{ id, person: 'bob', service: 'push.example', label: 'phone' }]]);
    expect(() => push.remove('ann', id)).toThrow(refusal('NOT_FOUND'));
  });

  test.each([
    ['http', 'http://push.example/1'],
    ['a host inside of the home without a word of the owner', 'http://192.168.1.9/1'],
    ['a password', 'https://a:b@push.example/1'],
    ['no address', 'https://'],
  ])('with %s is refused', (_name, endpoint) => {
    const { push, subscribe } = pushOver(() => 201, ['192.168.1.8']);
    expect(() => subscribe('ann', endpoint)).toThrow(refusal('VALIDATION_ERROR'));
    expect(subscribe('ann', 'http://192.168.1.8/1').service).toBe('192.168.1.8');
    expect(push.list('ann')).toHaveLength(1);
  });

  test('with keys that are none is refused, and so is the 17th of a person', () => {
    const { push, subscribe, browser } = pushOver();
    const { p256dh, auth } = browser.keys;
    const offCurve = Buffer.from(p256dh, 'base64url');
    offCurve[64] = (offCurve[64] ?? 0) ^ 1;
    for (const keys of [
      { p256dh, auth: 'AAAA' },
      { p256dh: 'AAAA', auth },
      { p256dh: offCurve.toString('base64url'), auth },
    ]) {
      expect(() => push.add({ person: 'ann', signIn: undefined }, { endpoint: ENDPOINT, ...keys }, '')).toThrow(
        refusal('VALIDATION_ERROR'),
      );
    }
    for (let count = 0; count < 16; count++) subscribe('ann', `${ENDPOINT}${count}`);
    expect(() => subscribe('ann', `${ENDPOINT}-more`)).toThrow(refusal('RESOURCE_EXCEEDED'));
    expect(subscribe('ann', `${ENDPOINT}3`).person).toBe('ann');
  });
});
