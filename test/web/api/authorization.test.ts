import { describe, expect, test } from 'vitest';
import { isAnswerAddress, isOnThisMachine } from '../../../src/core/auth/redirect-address.ts';
import type { JsonObject } from '../../../src/core/json.ts';
import {
  Authorization,
  type AuthorizationRequest,
  type ConsentChoices,
  firstLife,
  grantsNothing,
  initialChoice,
  isWholeHub,
  livesWithin,
  trustIn,
  untilOf,
} from '../../../src/web/api/authorization.ts';
import { HubError } from '../../../src/web/api/hub-client.ts';

const NOW = Date.parse('2026-05-01T12:00:00.000Z');
const BACK = 'http://127.0.0.1:7777/callback?code=c&state=s&iss=http%3A%2F%2Fhub';
const CHOICES: ConsentChoices = {
  areas: [
    { slug: 'kitchen', name: 'Kitchen' },
    { slug: 'hall', name: 'Hall' },
  ],
  kinds: [{ id: 'light', is_harmless: true }],
  can_lock: true,
  can_valve: true,
  can_admin: true,
  default_until: '2026-07-30T12:00:00.000Z',
  max_until: '2027-05-01T12:00:00.000Z',
};
const REQUEST = {
  request_id: 'r/1',
  client: { name: 'Claude', host: 'claude.ai', kind: 'registered' },
  redirect_host: '127.0.0.1:7777',
  is_device: false,
  resource: 'http://hub/mcp',
  expires_at: '2026-05-01T12:10:00.000Z',
  asks_for: { control: true, readings: true },
  choices: { ...CHOICES },
};

type Answer = JsonObject | Error | Promise<JsonObject>;

/** A hub that answers each path with the next of its answers, and repeats the last one. */
function flowWith(answers: Readonly<Record<string, readonly Answer[]>>) {
  const sent: { path: string; body: JsonObject }[] = [];
  const visited: string[] = [];
  const left = new Map(Object.entries(answers).map(([path, list]) => [path, [...list]]));
  const post = async (path: string, body: JsonObject = {}) => {
    sent.push({ path, body });
    const list = left.get(path) ?? [];
    const answer = (list.length > 1 ? list.shift() : list[0]) ?? new HubError('NOT_FOUND', `no ${path}`, { status: 404 });
    if (answer instanceof Error) throw answer;
    return answer;
  };
  const hub = { post: post as never };
  const agree = async (subject: string) => ({ challenge: 'c', signature: `signed ${subject}` });
  const flow = new Authorization({ hub, agree, navigate: (url) => visited.push(url) });
  return { flow, sent, visited };
}

const PATHS = {
  open: '/api/v1/oauth/requests',
  code: '/api/v1/oauth/device-codes',
  preview: '/api/v1/oauth/requests/r%2F1/preview',
  allow: '/api/v1/oauth/requests/r%2F1/allow',
  deny: '/api/v1/oauth/requests/r%2F1/deny',
};
const GRANTED = { permissions: ['sensor:read:*', 'device:control:@type/light'], until: '2026-07-30T12:00:00.000Z' };
const LESS = { permissions: ['sensor:read:*'], until: '2026-07-30T12:00:00.000Z' };

async function openedFlow(answers: Readonly<Record<string, readonly Answer[]>> = {}) {
  const world = flowWith({ [PATHS.open]: [REQUEST], [PATHS.preview]: [GRANTED], ...answers });
  await world.flow.openQuery('client_id=c&state=a%3Fb');
  return world;
}

describe('a request of an application', () => {
  test('is sent to the hub as the application wrote it, and begins with everything harmless for 90 days', async () => {
    const { flow, sent } = await openedFlow();
    expect(sent[0]).toEqual({ path: PATHS.open, body: { query: 'client_id=c&state=a%3Fb' } });
    expect(sent[1]).toEqual({
      path: PATHS.preview,
      body: {
        choice: {
          ...{ areas: 'all', kinds: 'all', control: true, readings: true, locks: false, valves: false, administration: false },
          until: '2026-07-30T12:00:00.000Z',
        },
      },
    });
    expect([flow.stage, flow.canAllow, flow.preview]).toEqual(['open', true, GRANTED]);
  });

  test('is allowed with exactly the permissions that were shown, and goes where the hub says', async () => {
    const { flow, sent, visited } = await openedFlow({ [PATHS.allow]: [{ redirect_to: BACK }] });
    await flow.allow();
    expect(sent.at(-1)).toMatchObject({ path: PATHS.allow, body: { permissions: GRANTED.permissions, choice: { locks: false } } });
    expect(sent.at(-1)?.body.proof).toEqual({ challenge: 'c', signature: 'signed r/1 sensor:read:* device:control:@type/light' });
    expect([flow.stage, visited]).toEqual(['sent', [BACK]]);
  });

  test('cannot be allowed while the hub computes what a new choice grants', async () => {
    const later = Promise.withResolvers<JsonObject>();
    const { flow, sent, visited } = await openedFlow({ [PATHS.preview]: [GRANTED, later.promise] });
    const changed = flow.choose({ control: false });
    expect([flow.canAllow, flow.preview]).toEqual([false, undefined]);
    await flow.allow();
    expect(sent.map(({ path }) => path)).not.toContain(PATHS.allow);
    later.resolve(LESS);
    await changed;
    expect([flow.canAllow, flow.preview, visited]).toEqual([true, LESS, []]);
  });

  test('shows what the last choice grants, also if an older answer comes later', async () => {
    const older = Promise.withResolvers<JsonObject>();
    const { flow } = await openedFlow({ [PATHS.preview]: [GRANTED, older.promise, LESS] });
    const first = flow.choose({ control: true });
    await flow.choose({ control: false });
    older.resolve(GRANTED);
    await first;
    expect(flow.preview).toEqual(LESS);
  });

  test('that would grant nothing is not sent to the hub, and cannot be allowed', async () => {
    const { flow, sent } = await openedFlow();
    for (const nothing of [{ areas: [] }, { areas: 'all', kinds: [] }, { kinds: 'all', control: false, readings: false }] as const) {
      await flow.choose(nothing);
      expect([flow.canAllow, flow.preview, grantsNothing(flow.choice ?? expect.unreachable())]).toEqual([false, undefined, true]);
    }
    await flow.allow();
    expect(sent.map(({ path }) => path)).toEqual([PATHS.open, PATHS.preview]);
    await flow.choose({ administration: true });
    expect(flow.canAllow).toBe(true);
  });

  test('that the hub refuses to grant can be changed, and not be allowed', async () => {
    const tooMany = new HubError('VALIDATION_ERROR', 'These are too many rooms', { status: 400 });
    const { flow } = await openedFlow({ [PATHS.preview]: [GRANTED, tooMany, LESS] });
    await flow.choose({ areas: ['kitchen', 'hall'] });
    expect([flow.stage, flow.problem, flow.canAllow]).toEqual(['open', 'These are too many rooms', false]);
    await flow.choose({ areas: ['kitchen'] });
    expect([flow.problem, flow.canAllow]).toEqual([undefined, true]);
  });

  test('is shown anew if the person has less now than was shown', async () => {
    const conflict = new HubError('CONFLICT', 'other permissions', { status: 409 });
    const { flow, visited } = await openedFlow({ [PATHS.preview]: [GRANTED, LESS], [PATHS.allow]: [conflict] });
    await flow.allow();
    expect([flow.stage, flow.preview, visited]).toEqual(['open', LESS, []]);
    expect(flow.problem).toMatch(/has changed/);
  });

  test('can be denied while nothing is chosen, and the application learns it', async () => {
    const denied = 'https://claude.ai/cb?error=access_denied';
    const { flow, visited } = await openedFlow({ [PATHS.deny]: [{ redirect_to: denied }] });
    await flow.choose({ areas: [] });
    await flow.deny();
    expect([flow.stage, visited]).toEqual(['sent', [denied]]);
  });

  test('that the hub has forgotten is over, and one that it could not take can be answered again', async () => {
    const away = new HubError('HUB_UNREACHABLE', 'The hub does not answer');
    const gone = new HubError('NOT_FOUND', 'This request has ended', { status: 404 });
    const { flow, visited } = await openedFlow({ [PATHS.allow]: [away, gone] });
    await flow.allow();
    expect([flow.stage, flow.problem, flow.canAllow]).toEqual(['open', 'The hub does not answer', true]);
    await flow.allow();
    expect([flow.stage, flow.problem, visited]).toEqual(['failed', 'This request has ended', []]);
  });

  test('with a mistake is shown with the way back, and leads nowhere by itself', async () => {
    const error = 'https://evil.example/cb?error=invalid_scope&error_description=No+such+scope';
    const { flow, visited } = flowWith({ [PATHS.open]: [{ redirect_to: error }] });
    await flow.openQuery('x');
    expect([flow.stage, flow.problem, flow.mistakeUrl, visited]).toEqual(['mistaken', 'No such scope', error, []]);
    const script = flowWith({ [PATHS.open]: [{ redirect_to: 'javascript:alert(1)' }] });
    await script.flow.openQuery('x');
    expect([script.flow.stage, script.flow.mistakeUrl]).toEqual(['failed', undefined]);
  });

  test('of an unknown client is shown and leads nowhere', async () => {
    const { flow, visited } = flowWith({ [PATHS.open]: [new HubError('NOT_FOUND', 'No such client', { status: 404 })] });
    await flow.openQuery('x');
    expect([flow.stage, flow.problem, visited]).toEqual(['failed', 'No such client', []]);
  });

  test.each(['javascript:alert(1)', 'data:text/html,x', 'blob:http://hub/1', 'file:///etc/passwd', 'vbscript:x', 'not an address'])(
    'never leads to %s',
    async (url) => {
      const { flow, visited } = await openedFlow({ [PATHS.allow]: [{ redirect_to: url }] });
      await flow.allow();
      expect([flow.stage, visited, isAnswerAddress(url)]).toEqual(['failed', [], false]);
    },
  );

  test.each(['https://claude.ai/cb', BACK, 'com.example.app:/cb', 'cursor://anysphere.cursor-mcp/oauth/callback'])(
    'may lead to %s',
    (url) => expect(isAnswerAddress(url)).toBe(true),
  );

  test('does not replace one that the person has opened since', async () => {
    const slow = Promise.withResolvers<JsonObject>();
    const { flow } = flowWith({ [PATHS.open]: [slow.promise, REQUEST], [PATHS.preview]: [GRANTED] });
    const first = flow.openQuery('slow');
    await flow.openQuery('fast');
    slow.resolve({ redirect_to: 'https://elsewhere.example/' });
    await first;
    expect([flow.stage, flow.request?.request_id, flow.mistakeUrl]).toEqual(['open', 'r/1', undefined]);
  });
});

describe('a code of a device', () => {
  test('that is wrong can be entered again; the right one is decided here, and the browser stays', async () => {
    const { redirect_host: _, ...rest } = REQUEST;
    const request = { ...rest, is_device: true };
    const wrong = new HubError('NOT_FOUND', 'No device shows this code', { status: 404 });
    const { flow, sent, visited } = flowWith({
      [PATHS.code]: [wrong, request],
      [PATHS.preview]: [GRANTED],
      [PATHS.allow]: [{ done: true }],
    });
    await flow.openCode('AAAA-AAAA');
    expect([flow.stage, flow.problem]).toEqual(['idle', 'No device shows this code']);
    await flow.openCode('WDJB-MJHT');
    expect(sent[1]).toEqual({ path: PATHS.code, body: { user_code: 'WDJB-MJHT' } });
    await flow.allow();
    expect([flow.stage, visited]).toEqual(['allowed', []]);
  });

  test('can be denied', async () => {
    const { flow } = flowWith({ [PATHS.code]: [REQUEST], [PATHS.preview]: [GRANTED], [PATHS.deny]: [{ done: true }] });
    await flow.openCode('WDJB-MJHT');
    await flow.deny();
    expect(flow.stage).toBe('denied');
  });
});

describe('how long the access lasts', () => {
  const guest = { ...CHOICES, default_until: '2026-05-03T00:00:00.000Z', max_until: '2026-05-03T00:00:00.000Z' };

  test('is never longer than the person has', () => {
    expect(initialChoice({ ...REQUEST, choices: guest }).until).toBe('2026-05-03T00:00:00.000Z');
    expect(untilOf('day', guest, NOW)).toBe('2026-05-02T12:00:00.000Z');
    expect(untilOf('week', guest, NOW)).toBe('2026-05-03T00:00:00.000Z');
    expect(livesWithin(guest, NOW)).toEqual(['day', 'week']);
  });

  test('can be up to a year, and begins with what the hub proposes, also where the clock of the browser is wrong', () => {
    expect(livesWithin(CHOICES, NOW)).toEqual(['day', 'week', 'month', 'quarter', 'year']);
    for (const skew of [-3_600_000, 0, 3_600_000]) {
      expect(firstLife(CHOICES, NOW + skew)).toBe('quarter');
      expect(firstLife(guest, NOW + skew)).toBe('week');
    }
  });
});

test.each([true, false])('what is chosen first is what the application asks for, and nothing that does harm (control: %s)', (control) => {
  const { until: _, ...chosen } = initialChoice({ ...REQUEST, asks_for: { control, readings: !control } });
  const harmless = { areas: 'all', kinds: 'all', locks: false, valves: false, administration: false };
  expect(chosen).toEqual({ ...harmless, control, readings: !control });
});

test.each([
  ['localhost', true],
  ['127.0.0.1:7777', true],
  ['[::1]:80', true],
  ['com.example.app:', true],
  ['claude.ai', false],
  ['localhost.example.com', false],
  ['127.0.0.1.example.com', false],
])('an answer to %s stays on the machine: %s', (host, isLocal) => expect(isOnThisMachine(host)).toBe(isLocal));

describe('how far an application is known', () => {
  const request = (kind: 'registered' | 'metadata_document', more: object = {}): AuthorizationRequest => ({
    ...REQUEST,
    client: { name: 'Claude', host: 'claude.ai', kind },
    redirect_host: 'claude.ai',
    ...more,
  });

  test('its document counts only where the answer goes to an address that the document names', () => {
    expect(trustIn(request('metadata_document'))).toBe('document');
    expect(trustIn(request('metadata_document', { redirect_host: 'localhost' }))).toBe('local');
    expect(trustIn(request('metadata_document', { redirect_host: 'com.example.app:' }))).toBe('local');
    expect(trustIn(request('registered'))).toBe('unknown');
  });

  test('a device is unknown whatever document it names', () => {
    expect(trustIn(request('metadata_document', { redirect_host: undefined, is_device: true }))).toBe('unknown');
  });

  test('a resource beside the MCP endpoint is the interface of the page too', () => {
    for (const path of ['/mcp', '/mcp/devices', '/mcp/areas/kitchen']) expect(isWholeHub(`https://hub.example${path}`), path).toBe(false);
    for (const path of ['', '/', '/api', '/api/v1', '/mcpx']) expect(isWholeHub(`https://hub.example${path}`), path).toBe(true);
  });
});
