import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { HOST, makeDevice, TOKEN } from '../../http/http-fixture.ts';
import { ANN, TIM } from '../people/people-fixture.ts';
import { CALLBACK, CHALLENGE, oauthLab, VERIFIER } from './oauth-fixture.ts';

type Lab = Awaited<ReturnType<typeof oauthLab>>;
type Fields = Readonly<Record<string, string>>;

/** Exchanges of a good code that are refused, with the error; the code is used up afterwards where it was read. */
const EXCHANGES: readonly (readonly [why: string, error: string, changes: Fields])[] = [
  ['without a verifier', 'invalid_request', { code_verifier: '' }],
  ['with another verifier', 'invalid_grant', { code_verifier: 'w'.repeat(43) }],
  ['with the challenge as verifier, as plain would have it', 'invalid_grant', { code_verifier: CHALLENGE }],
  ['with a verifier that is cut', 'invalid_grant', { code_verifier: VERIFIER.slice(1) }],
  ['with a verifier that is longer', 'invalid_grant', { code_verifier: `${VERIFIER}v` }],
  ['with a verifier of other characters', 'invalid_grant', { code_verifier: `${VERIFIER.slice(1)} ` }],
  ['without the address', 'invalid_request', { redirect_uri: '' }],
  ['with another address', 'invalid_grant', { redirect_uri: 'https://evil.example/callback' }],
  ['with a longer address', 'invalid_grant', { redirect_uri: `${CALLBACK}/` }],
  ['without a client', 'invalid_request', { client_id: '' }],
  ['by another client', 'invalid_grant', { client_id: 'c-other' }],
  ['by a client that is named by an address', 'invalid_grant', { client_id: 'https://evil.example/c' }],
  ['for another resource of the hub', 'invalid_target', { resource: `http://${HOST}/api` }],
  ['for a resource of another site', 'invalid_target', { resource: 'https://evil.example/mcp' }],
  ['with another code', 'invalid_grant', { code: 'x'.repeat(43) }],
  ['without a code', 'invalid_request', { code: '' }],
  ['with a very long code', 'invalid_request', { code: 'x'.repeat(5_000) }],
  ['with the password of a person', 'unsupported_grant_type', { grant_type: 'password', username: 'owner', password: 'x' }],
  ['for nobody', 'unsupported_grant_type', { grant_type: 'client_credentials' }],
  ['in the implicit way', 'unsupported_grant_type', { grant_type: 'implicit' }],
  ['by an assertion', 'unsupported_grant_type', { grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer', assertion: 'eyJ' }],
  ['for another token', 'unsupported_grant_type', { grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange' }],
  ['without a grant type', 'invalid_request', { grant_type: '' }],
  ['as refresh token', 'invalid_request', { grant_type: 'refresh_token' }],
  ['as device code', 'invalid_request', { grant_type: 'urn:ietf:params:oauth:grant-type:device_code' }],
];

describe('a code is not exchanged', () => {
  let lab: Lab;
  let clientId: string;
  let code: string;
  beforeAll(async () => {
    lab = await oauthLab();
    clientId = await lab.register();
  });
  beforeEach(async () => {
    code = (await lab.consent(lab.query(clientId))).searchParams.get('code') ?? '';
  });

  test.each(EXCHANGES)('%s', async (_, error, changes) => {
    const { status, json } = await lab.exchange(clientId, code, changes);
    expect([status, json.error, json.access_token]).toEqual([400, error, undefined]);
    expect(json.error_description).toMatch(/\w/);
  });

  test('after a wrong verifier, even with the right one: somebody else knows it', async () => {
    await lab.exchange(clientId, code, { code_verifier: 'w'.repeat(43) });
    expect((await lab.exchange(clientId, code)).json.error).toBe('invalid_grant');
  });

  test('at another name of the hub, which another server could have named as its own', async () => {
    const host = `localhost:${HOST.split(':')[1]}`;
    expect((await lab.exchange(clientId, code, {})).status).toBe(200);
    const second = (await lab.consent(lab.query(clientId))).searchParams.get('code') ?? '';
    const fields = { grant_type: 'authorization_code', client_id: clientId, code: second, redirect_uri: CALLBACK, code_verifier: VERIFIER };
    const response = await lab.httpApi.app.request(`http://${host}/oauth/token`, {
      method: 'POST',
      body: new URLSearchParams(fields).toString(),
      headers: { host, 'content-type': 'application/x-www-form-urlencoded' },
    });
    expect([response.status, ((await response.json()) as { error: string }).error]).toEqual([400, 'invalid_grant']);
  });

  test('a minute later, or after the clock was set back', async () => {
    lab.clock.advance(60_000);
    expect((await lab.exchange(clientId, code)).json.error_description).toContain('expired');
    const next = (await lab.consent(lab.query(clientId))).searchParams.get('code') ?? '';
    lab.clock.advance(-3_600_000);
    expect((await lab.exchange(clientId, next)).json.error).toBe('invalid_grant');
    lab.clock.advance(3_600_000);
  });

  test('a second time, and what it gave ends', async () => {
    const { access_token: access, refresh_token: renewal } = (await lab.exchange(clientId, code)).json;
    expect((await lab.get('/mcp', access)).status).not.toBe(401);
    expect((await lab.exchange(clientId, code)).json.error).toBe('invalid_grant');
    expect([(await lab.get('/mcp', access)).status, lab.isValid(access)]).toEqual([401, false]);
    expect((await lab.refresh(clientId, renewal)).json.error).toBe('invalid_grant');
    expect(lab.notes.findLast(({ event }) => event === 'oauth.grant_ended')).toMatchObject({ data: { reason: 'code_reused' } });
  });

  test.each([
    ['as JSON', '{"grant_type":"authorization_code"}', 'application/json', 415],
    ['as text', 'grant_type=authorization_code', 'text/plain', 415],
    ['with a parameter twice', 'grant_type=authorization_code&grant_type=refresh_token', 'application/x-www-form-urlencoded', 400],
    ['with nothing', '', 'application/x-www-form-urlencoded', 400],
    ['with more than 64 KiB', `code=${'x'.repeat(70_000)}`, 'application/x-www-form-urlencoded', 413],
  ])('%s', async (_, body, type, expected) => {
    expect((await lab.form('/oauth/token', body, { 'content-type': type })).status).toBe(expected);
  });

  test('from a page of another site, and by GET', async () => {
    expect((await lab.form('/oauth/token', { code }, { origin: 'https://evil.example' })).status).toBe(403);
    expect((await lab.form('/oauth/token', { code }, { origin: 'null' })).status).toBe(403);
    expect((await lab.get(`/oauth/token?code=${code}`)).status).toBe(405);
  });
});

describe('a refresh token', () => {
  let lab: Lab;
  beforeAll(async () => {
    lab = await oauthLab();
  });

  test('that was replaced ends the access when it comes again after the next one was used', async () => {
    const { clientId, renewal, access } = await lab.connected();
    const next = (await lab.refresh(clientId, renewal)).json;
    await lab.get('/mcp', next.access_token);
    const stolen = await lab.refresh(clientId, renewal);
    expect([stolen.status, stolen.json.error]).toEqual([400, 'invalid_grant']);
    for (const token of [access, next.access_token]) expect(lab.isValid(token)).toBe(false);
    expect((await lab.refresh(clientId, next.refresh_token)).json.error).toBe('invalid_grant');
    expect(lab.notes.findLast(({ event }) => event === 'oauth.grant_ended')).toMatchObject({ data: { reason: 'refresh_token_reused' } });
  });

  test('may be repeated within a minute while nothing that replaced it was used: the answer was lost', async () => {
    const { clientId, renewal } = await lab.connected();
    const lost = (await lab.refresh(clientId, renewal)).json;
    const repeated = await lab.refresh(clientId, renewal);
    expect(repeated.status).toBe(200);
    expect([lab.isValid(lost.access_token), lab.isValid(repeated.json.access_token)]).toEqual([false, true]);
    // Whoever has the answer that was not lost after all shows that two know the token.
    expect((await lab.refresh(clientId, lost.refresh_token)).json.error).toBe('invalid_grant');
    expect(lab.isValid(repeated.json.access_token)).toBe(false);
  });

  test('may not be repeated after a minute, nor twice replaced', async () => {
    const { clientId, renewal } = await lab.connected();
    await lab.refresh(clientId, renewal);
    lab.clock.advance(60_000);
    expect((await lab.refresh(clientId, renewal)).json.error).toBe('invalid_grant');
    const other = await lab.connected();
    const second = (await lab.refresh(other.clientId, other.renewal)).json.refresh_token;
    await lab.refresh(other.clientId, second);
    expect((await lab.refresh(other.clientId, other.renewal)).json.error).toBe('invalid_grant');
    expect((await lab.refresh(other.clientId, second)).json.error).toBe('invalid_grant');
  });

  test('of another client ends the access, and one with a wrong secret changes nothing', async () => {
    const { clientId, renewal, access } = await lab.connected();
    const bytes = Buffer.from(renewal.slice(4), 'base64url');
    for (const place of [16, 40, 47]) {
      const forged = Buffer.from(bytes);
      forged[place] = (forged[place] ?? 0) ^ 1;
      expect((await lab.refresh(clientId, `ar1.${forged.toString('base64url')}`)).json.error).toBe('invalid_grant');
    }
    expect(lab.isValid(access)).toBe(true);
    expect((await lab.refresh('c-other', renewal)).json.error).toBe('invalid_grant');
    expect(lab.isValid(access)).toBe(false);
  });

  test.each(['ar1.', 'ar1.AAAA', 'at1.AAAA', 'x', '__proto__', 'ar1.\u0000', `ar1.${'A'.repeat(107)}`, `ar1.${'A'.repeat(3_000)}`])(
    'such as %j is not known',
    async (text) => {
      expect(['invalid_grant', 'invalid_request']).toContain((await lab.refresh('c-x', text)).json.error);
    },
  );

  test('is good for one of two requests that come at once, for no other resource, and for nothing but this', async () => {
    const { clientId, renewal, access } = await lab.connected();
    const both = await Promise.all([lab.refresh(clientId, renewal), lab.refresh(clientId, renewal)]);
    const given = both.filter(({ status }) => status === 200).map(({ json }) => json.access_token);
    expect(given.filter((token) => lab.isValid(token))).toHaveLength(1);
    const fresh = await lab.connected();
    expect((await lab.refresh(fresh.clientId, fresh.renewal, { resource: `http://${HOST}/api` })).json.error).toBe('invalid_target');
    expect((await lab.get('/mcp', fresh.renewal)).status).toBe(401);
    expect((await lab.refresh(clientId, access)).json.error).toBe('invalid_grant');
  });

  test('is stored as a digest, and stands in no row of the audit log', async () => {
    const { renewal, access, code } = await lab.connected();
    const stored = ['oauth.grants', 'oauth.codes', 'oauth.clients', 'access.tokens'].flatMap((space) => lab.store.entries(space));
    const text = JSON.stringify([stored, lab.notes]);
    for (const secret of [renewal, access, code, renewal.slice(70)]) expect(text).not.toContain(secret);
  });
});

/** Addresses for which a token of /mcp is good for nothing. */
const ELSEWHERE = ['/api/v1/devices', '/api/v1/tokens', '/api/v1/me', '/api/v1/oauth/grants', '/api/tools', '/metrics', '/openapi.json'];

describe('an access token', () => {
  let lab: Lab;
  let access: string;
  beforeAll(async () => {
    lab = await oauthLab();
    ({ access } = await lab.connected());
  });

  test.each([...ELSEWHERE, '/mcp/../api/v1/me', '/mcp/%2e%2e/api/v1/me', '/mcp%2f..%2fapi/v1/me'])(
    'of /mcp opens nothing at %s',
    async (path) => {
      expect([401, 404]).toContain((await lab.get(path, access)).status);
    },
  );

  test('of one room opens no other address of MCP', async () => {
    const { access: ofHall } = await lab.connected({ changes: { resource: `http://${HOST}/mcp/areas/Hall` } });
    const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };
    expect((await lab.json('/mcp', ping, ofHall)).status).toBe(401);
    expect((await lab.json('/mcp/areas/Kitchen', ping, ofHall)).status).toBe(401);
    expect((await lab.json('/mcp/areas/Hall', ping, ofHall)).status).not.toBe(401);
  });

  test('of the API cannot consent, see accesses or become a person', async () => {
    const { access: ofApi, clientId } = await lab.connected({ changes: { resource: `http://${HOST}/api` } });
    expect((await lab.open(lab.query(clientId), ofApi)).status).toBe(403);
    expect((await lab.get('/api/v1/oauth/grants', ofApi)).status).toBe(403);
    expect((await lab.get('/api/v1/me', ofApi)).json.person).toBeNull();
  });
});

describe('a consent is refused', () => {
  let lab: Lab;
  let ann: string;
  let tim: string;
  let clientId: string;
  beforeAll(async () => {
    lab = await oauthLab({
      devices: [makeDevice('lamp', { area: 'Hall' }), makeDevice('door', { area: 'Hall', deviceTypes: ['DoorLock'] })],
    });
    [ann, tim] = [await lab.signedInToken(ANN), await lab.signedInToken(TIM)];
    clientId = await lab.register();
  });
  const requestOf = async (token: string) => String((await lab.open(lab.query(clientId), token)).json.request_id);

  test.each([
    ['/api/v1/oauth/requests', { query: 'x' }],
    ['/api/v1/oauth/device-codes', { user_code: 'x' }],
    ['/api/v1/oauth/requests/1/preview', {}],
    ['/api/v1/oauth/requests/1/allow', {}],
    ['/api/v1/oauth/requests/1/deny', {}],
  ])('at %s without a token, with a wrong one, and from a page of another site', async (path, body) => {
    expect((await lab.json(path, body)).status).toBe(401);
    expect((await lab.json(path, body, 'guess')).status).toBe(401);
    for (const origin of ['https://evil.example', 'null', `https://${HOST}`])
      expect((await lab.json(path, body, TOKEN, { origin })).status).toBe(403);
    expect((await lab.json(path, 'query=x', TOKEN, { 'content-type': 'application/x-www-form-urlencoded' })).status).toBe(415);
  });

  test('from an agent, even one that is named like a person or made by one', async () => {
    const agent = lab.tokens.issuer.issue({ agentId: 'helper', permissions: ['*'], ttlMs: 3_600_000 }, OWNER_PRINCIPAL).token;
    const child = lab.tokens.issuer.issue(
      { agentId: 'helper', permissions: ['device:read:*'], ttlMs: 3_600_000 },
      lab.tokens.issuer.principalOf(ann),
    ).token;
    for (const token of [agent, child]) expect((await lab.open(lab.query(clientId), token)).status).toBe(403);
  });

  test('by another person, twice, and after ten minutes', async () => {
    const id = await requestOf(ann);
    expect((await lab.json(`/api/v1/oauth/requests/${id}/preview`, { choice: lab.choice() }, TOKEN)).status).toBe(404);
    expect((await lab.json(`/api/v1/oauth/requests/${id}/allow`, { choice: lab.choice(), permissions: [] }, TOKEN)).status).toBe(404);
    expect((await lab.json(`/api/v1/oauth/requests/${id}/deny`, {}, tim)).status).toBe(404);
    expect((await lab.allow(id, ann)).status).toBe(200);
    expect((await lab.allow(id, ann)).status).toBe(404);
    const late = await requestOf(ann);
    lab.clock.advance(600_000);
    expect((await lab.allow(late, ann)).status).toBe(404);
  });

  test('to anything but what was shown', async () => {
    const id = await requestOf(ann);
    const allow = (permissions: readonly string[]) =>
      lab.json(`/api/v1/oauth/requests/${id}/allow`, { choice: lab.choice(), permissions, ...lab.agreement(id, permissions, ann) }, ann);
    const { permissions } = (await lab.json(`/api/v1/oauth/requests/${id}/preview`, { choice: lab.choice() }, ann)).json;
    for (const other of [
      [],
      ['*'],
      ['admin:*'],
      permissions.slice(1),
      [...permissions, 'device:control:@type/lock'],
      [...permissions, permissions[0]],
    ]) {
      expect((await allow(other)).status).toBe(409);
    }
    expect((await allow(permissions.toReversed())).status).toBe(200);
  });

  test.each([
    ['no choice', undefined],
    ['a list', []],
    ['an unknown member', { permissions: ['*'] }],
    ['a prototype', JSON.parse('{"__proto__":{"locks":true},"control":true}')],
    ['a text for a switch', { locks: 'true' }],
    ['a number for a switch', { control: 1 }],
    ['no switch', { control: undefined }],
    ['a room that is no name', { areas: ['Hall'] }],
    ['a room that ends the grant', { areas: ['hall/@type/lock'] }],
    ['a room that adds another', { areas: ['hall+kitchen'] }],
    ['a room that is everything', { areas: ['*'] }],
    ['a room twice', { areas: ['hall', 'hall'] }],
    ['a number as room', { areas: [7] }],
    ['33 rooms', { areas: Array.from({ length: 33 }, (_, index) => `room-${index}`) }],
    ['another word for all rooms', { areas: '*' }],
    ['a lock among the kinds', { kinds: ['lock'] }],
    ['a valve among the kinds', { kinds: ['valve'] }],
    ['a type of locks among the kinds', { kinds: ['door-lock'] }],
    ['a kind that ends the grant', { kinds: ['light+lock'] }],
    ['a kind that is everything', { kinds: ['*'] }],
    ['no end', { until: undefined }],
    ['an end that is no time', { until: 'never' }],
    ['an end in the past', { until: '2020-01-01T00:00:00Z' }],
    ['an end in ten years', { until: '2036-01-01T00:00:00Z' }],
    ['nothing', { areas: [], kinds: [], control: false, readings: false }],
  ])('for a choice with %s', async (_, changes) => {
    const id = await requestOf(TOKEN);
    const choice = changes === undefined || Array.isArray(changes) ? changes : { ...lab.choice(), ...changes };
    const given = _ === 'a prototype' ? changes : choice;
    for (const step of ['preview', 'allow']) {
      expect((await lab.json(`/api/v1/oauth/requests/${id}/${step}`, { choice: given, permissions: [] }, TOKEN)).status).toBe(400);
    }
  });

  test('for rights that the person does not hold', async () => {
    const refused = async (token: string, changes: Readonly<Record<string, unknown>>) => {
      const id = await requestOf(token);
      return (await lab.json(`/api/v1/oauth/requests/${id}/preview`, { choice: lab.choice(changes) }, token)).status;
    };
    expect([
      await refused(tim, { locks: true }),
      await refused(tim, { valves: true }),
      await refused(tim, { administration: true }),
    ]).toEqual([403, 403, 403]);
    expect(await refused(ann, { administration: true })).toBe(403);
    expect([await refused(ann, { locks: true }), await refused(TOKEN, { administration: true })]).toEqual([200, 200]);
  });

  test('for the access of another person', async () => {
    await lab.connected({ token: ann });
    const [own] = (await lab.get('/api/v1/oauth/grants', ann)).json.grants;
    expect((await lab.get('/api/v1/oauth/grants', tim)).json.grants).toEqual([]);
    const end = (token: string) =>
      lab.httpApi.app.request(`http://${HOST}/api/v1/oauth/grants/${own.id}`, {
        method: 'DELETE',
        headers: { host: HOST, authorization: `Bearer ${token}` },
      });
    expect((await end(tim)).status).toBe(404);
    expect((await end(ann)).status).toBe(200);
    expect((await end(ann)).status).toBe(404);
  });
});

const OWNER_PRINCIPAL = { id: 'owner', kind: 'owner', permissions: ['*', 'admin:*'] } as const;

describe('the code of a device', () => {
  const DEVICE = 'urn:ietf:params:oauth:grant-type:device_code';
  const waiting = async (lab: Lab) => {
    const clientId = await lab.register({ grant_types: [DEVICE, 'refresh_token'] });
    const { json } = await lab.form('/oauth/device_authorization', { client_id: clientId });
    const poll = (changes: Fields = {}) =>
      lab.form('/oauth/token', { grant_type: DEVICE, client_id: clientId, device_code: json.device_code, ...changes });
    return { clientId, poll, ...json } as {
      clientId: string;
      poll: typeof poll;
      user_code: string;
      device_code: string;
      verification_uri: string;
    };
  };
  const opened = (lab: Lab, code: string, token = TOKEN) => lab.json('/api/v1/oauth/device-codes', { user_code: code }, token);

  test('waits for a person, and gives tokens once', async () => {
    const lab = await oauthLab();
    const device = await waiting(lab);
    expect(device.user_code).toMatch(/^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/);
    expect((await device.poll()).json.error).toBe('authorization_pending');
    expect((await device.poll()).json.error).toBe('slow_down');
    const { json } = await opened(lab, device.user_code.toLowerCase().replace('-', ' '));
    expect(json).toMatchObject({ is_device: true, client: { name: 'Claude AI' } });
    expect((await lab.allow(json.request_id)).json).toEqual({ done: true });
    lab.clock.advance(10_000);
    const tokens = await device.poll();
    expect([tokens.status, lab.isValid(tokens.json.access_token)]).toEqual([200, true]);
    expect((await device.poll()).json.error).toBe('invalid_grant');
    expect(lab.isValid(tokens.json.access_token)).toBe(false);
  });

  test('gives nothing to another client, after ten minutes, after a refusal, and for another code', async () => {
    const lab = await oauthLab();
    const device = await waiting(lab);
    expect((await device.poll({ client_id: 'c-other' })).json.error).toBe('invalid_grant');
    expect((await device.poll({ device_code: device.user_code })).json.error).toBe('invalid_grant');
    const { json } = await opened(lab, device.user_code);
    await lab.json(`/api/v1/oauth/requests/${json.request_id}/deny`, {}, TOKEN);
    expect((await device.poll()).json.error).toBe('access_denied');
    expect((await opened(lab, device.user_code)).status).toBe(404);
    const late = await waiting(lab);
    lab.clock.advance(300_000);
    const { json: inTime } = await opened(lab, late.user_code);
    lab.clock.advance(300_000);
    expect((await late.poll()).json.error).toBe('expired_token');
    expect((await opened(lab, late.user_code)).status).toBe(404);
    expect((await lab.allow(inTime.request_id)).json.error).toMatchObject({
      code: 'NOT_FOUND',
      message: 'The device does not wait any more; begin again there',
    });
  });

  test('cannot be guessed: ten wrong ones lock out the address and the person', async () => {
    const lab = await oauthLab();
    const device = await waiting(lab);
    const guesses = Array.from({ length: 10 }, (_, index) => `BBBB-BBB${'BCDFGHJKLM'[index]}`);
    for (const guess of guesses) expect((await opened(lab, guess)).status).toBe(404);
    expect((await opened(lab, device.user_code)).status).toBe(429);
    lab.clock.advance(31_000);
    expect((await opened(lab, device.user_code)).status).toBe(200);
  });

  test('cannot be asked for by an unknown client or by too many, nor for another resource', async () => {
    const lab = await oauthLab();
    const ask = (fields: Fields) => lab.form('/oauth/device_authorization', fields);
    expect([(await ask({ client_id: 'c-none' })).status, (await ask({})).json.error]).toEqual([401, 'invalid_request']);
    expect((await ask({ client_id: await lab.register() })).json.error).toBe('unauthorized_client');
    const clientId = await lab.register({ grant_types: [DEVICE] });
    expect((await ask({ client_id: clientId, resource: 'https://evil.example' })).json.error).toBe('invalid_target');
    for (let count = 0; count < 8; count++) expect((await ask({ client_id: clientId })).status).toBe(200);
    const refused = await ask({ client_id: clientId });
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '600']);
    lab.clock.advance(600_000);
    expect((await ask({ client_id: clientId })).status).toBe(200);
    expect((await lab.open(lab.query(clientId))).json.error.details.oauth_error).toBe('unauthorized_client');
  });

  test('cannot be asked for in the name of an application that has no device flow, and shows no host', async () => {
    const address = 'https://claude.example/client.json';
    const documentOf = (more: object) => JSON.stringify({ client_id: address, client_name: 'Claude', redirect_uris: [CALLBACK], ...more });
    const openedIn = async (lab: Lab) => {
      const codes = (await lab.form('/oauth/device_authorization', { client_id: address })).json;
      return opened(lab, String(codes.user_code));
    };
    for (const more of [{}, { grant_types: ['authorization_code', 'refresh_token'] }]) {
      const { status, json } = await openedIn(await oauthLab({ documents: { [address]: documentOf(more) } }));
      expect([status, json.error.details.oauth_error]).toEqual([400, 'unauthorized_client']);
    }
    const { json } = await openedIn(await oauthLab({ documents: { [address]: documentOf({ grant_types: [DEVICE] }) } }));
    expect(json.client).toMatchObject({ name: 'Claude', host: null });
  });
});

test('a token that is sent to another address of the hub is refused, and is no guess at a token', async () => {
  const lab = await oauthLab();
  const { access } = await lab.connected();
  for (let count = 0; count < 20; count++) expect((await lab.get(`/api/v1/devices?n=${count}`, access)).status).toBe(401);
  expect((await lab.get('/api/v1/devices', TOKEN)).status).toBe(200);
  expect((await lab.get('/api/v1/devices', 'wrong')).status).toBe(401);
});

test('clients whose access has ended leave their place to new ones', async () => {
  const lab = await oauthLab();
  const used = (await lab.connected()).clientId;
  const [grant] = lab.grants.list();
  const more = async (count: number) => {
    for (let index = 0; index < count; index++) {
      if (index % 20 === 0) lab.clock.advance(3_600_000);
      await lab.register();
    }
  };
  await more(260);
  expect((await lab.open(lab.query(used))).status).toBe(200);
  await lab.grants.end(grant?.id ?? '', 'ended_by_person');
  await more(260);
  expect((await lab.open(lab.query(used))).status).toBe(400);
});

test('the token endpoint answers every refusal in the form of OAuth', async () => {
  const lab = await oauthLab();
  const clientId = await lab.register();
  const codes = [];
  for (let count = 0; count < 33; count++) {
    codes.push((await lab.consent(lab.query(clientId))).searchParams.get('code') ?? '');
  }
  const answers = [];
  for (const code of codes) answers.push(await lab.exchange(clientId, code));
  expect(answers.map(({ status }) => status)).toEqual([...Array.from({ length: 32 }, () => 200), 400]);
  expect(answers.at(-1)?.json).toMatchObject({ error: 'invalid_request', error_description: expect.stringContaining('32 applications') });
});

test('an access is renewed 60 times an hour at most, and has two tokens at a time', async () => {
  const lab = await oauthLab();
  const { access, renewal, clientId } = await lab.connected();
  const texts = [access];
  let next = renewal;
  for (let count = 0; count < 60; count++) {
    const { json } = await lab.refresh(clientId, next);
    texts.push(String(json.access_token));
    next = String(json.refresh_token);
  }
  expect(texts.filter(lab.isValid)).toEqual(texts.slice(-2));
  const refused = await lab.refresh(clientId, next);
  expect([refused.status, refused.json.error, refused.headers.get('retry-after')]).toEqual([429, 'temporarily_unavailable', '3600']);
  lab.clock.advance(3_600_000);
  expect((await lab.refresh(clientId, next)).status).toBe(200);
});

test('the host of a registered client is that of the address that gets the answer', async () => {
  const lab = await oauthLab();
  const other = 'https://evil.example/callback';
  const clientId = await lab.register({ redirect_uris: ['https://claude.ai/callback', other] });
  const { json } = await lab.open(lab.query(clientId, { redirect_uri: other }));
  expect(json.client.host).toBe('evil.example');
});

test('registrations have bounds: 20 an hour from one address, and clients without access are forgotten after a day', async () => {
  const lab = await oauthLab();
  const first = await lab.register();
  for (let count = 1; count < 20; count++) await lab.register();
  const refused = await lab.json('/oauth/register', { redirect_uris: [CALLBACK] });
  expect([refused.status, refused.json.error]).toEqual([429, 'temporarily_unavailable']);
  lab.clock.advance(3_600_000);
  const used = (await lab.connected()).clientId;
  expect((await lab.open(lab.query(first))).status).toBe(200);
  lab.clock.advance(86_400_000);
  expect([(await lab.open(lab.query(first))).status, (await lab.open(lab.query(used))).status]).toEqual([400, 200]);
});
