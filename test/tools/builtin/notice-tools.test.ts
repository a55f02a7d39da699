import { describe, expect, test } from 'vitest';
import type { Person } from '../../../src/core/auth/people.ts';
import type { Principal } from '../../../src/core/auth/principal.ts';
import { AtmoError } from '../../../src/core/errors.ts';
import { isJsonObject, type JsonObject } from '../../../src/core/json.ts';
import type { PushBrowser, PushBrowsers } from '../../../src/core/notices.ts';
import { noticeTools } from '../../../src/tools/builtin/notice-tools.ts';
import { listAuthorizer, makePipeline } from '../../calls/pipeline-fixture.ts';
import { aboutDevice, household } from '../../notices/notices-fixture.ts';

const person = (name: string): Person => ({ name, title: name, role: 'adult', limits: {} });
const PEOPLE = [person('ann'), person('bob')];
const ANN: Principal = { id: 'ann', kind: 'agent', permissions: ['notice:own'] };
const BOB: Principal = { id: 'bob', kind: 'agent', permissions: ['notice:own', 'admin:hub'] };
const CLAUDE: Principal = { id: 'claude', kind: 'agent', permissions: ['*', 'admin:hub'] };

/** Browsers in memory. */
function browsersFake(): PushBrowsers {
  const known: PushBrowser[] = [];
  return {
    publicKey: 'the-key',
    list: (name) => known.filter((one) => one.person === name),
    add: ({ person: name, signIn }, { endpoint }, label) => {
      expect(signIn).toBe(`sign-in of ${name}`);
      const browser = { id: 'a'.repeat(16), person: name, label, service: new URL(endpoint).host, createdAtMs: 0 };
      known.push(browser);
      return browser;
    },
    remove: (name, id) => {
      const index = known.findIndex((one) => one.person === name && one.id === id);
      if (index < 0) throw new AtmoError('NOT_FOUND', 'none');
      known.splice(index, 1);
    },
  };
}

async function home() {
  const { notices, settings, publisher } = await household();
  const setup = makePipeline();
  const people = {
    find: (name: string) => PEOPLE.find((one) => one.name === name),
    personOf: ({ id }: Principal) => PEOPLE.find((one) => one.name === id),
    signInOf: ({ id }: Principal) => `sign-in of ${id}`,
  };
  const ports = { people, notices, choices: settings, browsers: browsersFake(), authorizer: listAuthorizer };
  for (const tool of noticeTools(ports)) setup.registry.register(tool);
  const call = (tool: string, params: JsonObject, principal: Principal) => setup.pipeline.call({ tool: `hub:${tool}`, params, principal });
  const result = async (tool: string, params: JsonObject, principal: Principal): Promise<JsonObject> => {
    const answer = await call(tool, params, principal);
    if (answer.status === 'success' && isJsonObject(answer.result)) return answer.result;
    return expect.fail(JSON.stringify(answer));
  };
  const refusal = async (tool: string, params: JsonObject, principal: Principal) => {
    const answer = await call(tool, params, principal);
    return answer.status === 'error' ? answer.error.code : 'none';
  };
  const leak = aboutDevice('leak', 'Cellar');
  return { publisher, leak, result, refusal, setup };
}

describe('notices', () => {
  test('are listed to the person and marked as read by the person alone', async () => {
    const { publisher, leak, result } = await home();
    publisher.begin(leak);
    const { notices, unread } = await result('list_notices', {}, ANN);
    expect([notices, unread]).toMatchObject([
      [{ kind: 'leak', text: 'Cellar senses water. Turn off the water and go and look.', path: leak.path, is_read: false }],
      1,
    ]);
    expect(await result('mark_notices_read', {}, ANN)).toEqual({ marked: 1 });
    expect(await result('list_notices', { unread: true }, ANN)).toEqual({ notices: [], unread: 0 });
    publisher.end(leak.name);
    expect(await result('list_notices', {}, BOB)).toMatchObject({ notices: [{ ended_at: expect.any(String) }], unread: 1 });
  });

  test('are listed in the language of the person, which the person can choose', async () => {
    const { publisher, leak, result } = await home();
    publisher.begin(leak);
    expect(await result('set_notice_settings', { page_language: 'de' }, ANN)).toMatchObject({ language: 'de', rules: [] });
    expect(await result('list_notices', {}, ANN)).toMatchObject({
      notices: [{ title: 'Wasser ausgelaufen', text: 'Cellar meldet Wasser. Dreh das Wasser ab und sieh nach.' }],
    });
    expect(await result('set_notice_settings', { language: 'en' }, ANN)).toMatchObject({ language: 'en' });
    expect(await result('set_notice_settings', { page_language: 'de' }, ANN)).toMatchObject({ language: 'en' });
    expect(await result('list_notices', {}, BOB)).toMatchObject({ notices: [{ title: 'Water leak' }] });
  });

  test('are for persons: an agent gets none, whatever it may do', async () => {
    const { refusal } = await home();
    for (const tool of ['list_notices', 'mark_notices_read', 'show_notice_settings', 'list_push_subscriptions']) {
      expect(await refusal(tool, {}, CLAUDE), tool).toBe('PERMISSION_DENIED');
    }
    expect(await refusal('list_notices', {}, { ...ANN, permissions: ['device:control:*'] })).toBe('TOOL_NOT_FOUND');
  });
});

describe('how a person is told', () => {
  test('is chosen by the person, and by administrators of the hub for others', async () => {
    const { result, refusal } = await home();
    const rules = [{ kinds: ['battery'], from: '22:00', to: '07:00', ways: [] }, { ways: ['mail', 'push'] }];
    expect(await result('set_notice_settings', { rules }, ANN)).toMatchObject({
      person: 'ann',
      rules,
      ways: [{ name: 'phone' }, { name: 'mail' }],
    });
    expect(await result('show_notice_settings', { person: 'ann' }, BOB)).toMatchObject({ person: 'ann', rules });
    expect(await result('set_notice_settings', { person: 'ann', rules: [] }, BOB)).toMatchObject({ rules: [] });
    expect(await refusal('set_notice_settings', { person: 'bob', rules: [] }, ANN)).toBe('PERMISSION_DENIED');
    expect(await refusal('show_notice_settings', { person: 'bob' }, ANN)).toBe('PERMISSION_DENIED');
    expect(await refusal('show_notice_settings', { person: 'eve' }, BOB)).toBe('NOT_FOUND');
    expect(await refusal('set_notice_settings', { rules: [{ kinds: ['weather'], ways: [] }] }, ANN)).toBe('VALIDATION_ERROR');
  });
});

describe('browsers', () => {
  const keys = { p256dh: 'A'.repeat(87), auth: 'B'.repeat(22) };
  const endpoint = 'https://push.example/secret-of-the-browser';

  test('belong to their person; their addresses and secrets are told to nobody and stand in no event', async () => {
    const { result, refusal, setup } = await home();
    const heard: unknown[] = [];
    setup.events.listen((event) => heard.push(event));
    expect(await result('push_key', {}, ANN)).toEqual({ key: 'the-key' });
    const { subscription_id: id } = await result('add_push_subscription', { endpoint, keys, label: 'phone' }, ANN);
    const { subscriptions } = await result('list_push_subscriptions', {}, ANN);
    expect(subscriptions).toMatchObject([{ subscription_id: id, label: 'phone', service: 'push.example' }]);
    expect(await result('list_push_subscriptions', {}, BOB)).toEqual({ subscriptions: [] });
    expect(await refusal('remove_push_subscription', { subscription_id: String(id) }, BOB)).toBe('NOT_FOUND');
    expect(await result('remove_push_subscription', { subscription_id: String(id) }, ANN)).toEqual({ success: true });
    expect(heard.length).toBeGreaterThan(4);
    for (const secret of ['secret-of-the-browser', keys.auth]) expect(JSON.stringify([heard, subscriptions])).not.toContain(secret);
  });
});
