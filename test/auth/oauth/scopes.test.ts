import { describe, expect, test } from 'vitest';
import { OWNER } from '../../../src/core/auth/principal.ts';
import { ANN } from '../people/people-fixture.ts';
import { CALLBACK, oauthLab } from './oauth-fixture.ts';

const DEVICE = 'urn:ietf:params:oauth:grant-type:device_code';
const BOTH = { control: true, readings: true };

describe('the page proposes what the scopes of a client ask for', () => {
  test.each([
    ['no scope at all', undefined, BOTH],
    ['an empty scope', '', BOTH],
    ['reading', 'device:read:* sensor:read:*', { control: false, readings: true }],
    ['control', 'device:control:*', { control: true, readings: false }],
    ['control of one lamp after a challenge', 'sensor:read:* device:control:hall-lamp', BOTH],
    ['scopes that mean nothing here', 'openid offline_access mcp:tools', BOTH],
    ['a refresh token beside reading', 'sensor:read:* offline_access', { control: false, readings: true }],
    ['everything', '* admin:* device:control:@type/lock', { control: true, readings: false }],
  ])('%s', async (_, scope, requested) => {
    const lab = await oauthLab();
    const { json } = await lab.open(lab.query(await lab.register(), { scope }));
    expect(json.asks_for).toEqual(requested);
    expect(json.choices).not.toHaveProperty('locks');
  });

  test('also of a device, which polls', async () => {
    const lab = await oauthLab();
    const clientId = await lab.register({ grant_types: [DEVICE], redirect_uris: undefined });
    const { json: codes } = await lab.form('/oauth/device_authorization', { client_id: clientId, scope: 'sensor:read:*' });
    const { json } = await lab.json('/api/v1/oauth/device-codes', { user_code: codes.user_code }, await lab.signedInToken(ANN));
    expect(json.asks_for).toEqual({ control: false, readings: true });
  });

  test.each(['a  b', ' a', 'a"b', 'a\\b', 'ä', 'a\tb'])('a malformed list (%j) goes back to the client as a mistake', async (scope) => {
    const lab = await oauthLab();
    const { json } = await lab.open(lab.query(await lab.register(), { scope }));
    const address = new URL(String(json.redirect_to));
    expect([address.origin + address.pathname, address.searchParams.get('error')]).toEqual([CALLBACK, 'invalid_scope']);
    const clientId = await lab.register({ grant_types: [DEVICE], redirect_uris: undefined });
    expect((await lab.form('/oauth/device_authorization', { client_id: clientId, scope })).json.error).toBe('invalid_scope');
  });
});

describe('the scopes of a client give nothing by themselves', () => {
  test('a client that asks for everything gets what the page has shown, and is told so', async () => {
    const lab = await oauthLab();
    const asked = { scope: '* admin:* device:control:* device:control:@type/lock' };
    const { permissions } = await lab.connected({ changes: asked, chosen: lab.choice({ control: false }) });
    expect(permissions.every((permission) => /^(?:device|sensor):read:@type\//.test(permission))).toBe(true);
  });

  test('a client that asks for reading gets control if the person switches it on', async () => {
    const lab = await oauthLab();
    const { permissions } = await lab.connected({ changes: { scope: 'sensor:read:*' }, chosen: lab.choice() });
    expect(permissions).toContain('device:control:@type/light');
  });

  test('a renewal gives what was shown, whatever scope comes with it', async () => {
    const lab = await oauthLab();
    const { clientId, renewal, permissions } = await lab.connected({ chosen: lab.choice({ control: false }) });
    const { json } = await lab.refresh(clientId, renewal, { scope: '* admin:* device:control:*' });
    expect(String(json.scope).split(' ')).toEqual(permissions);
  });
});

describe('an application that calls a tool of MCP without the scope for it', () => {
  const MODERN = { accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2026-07-28' };
  const call = (name: string) => ({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: {} } });

  test.each([
    ['control_tool', 'device:control:*', { control: false }],
    ['sensitive_tool', 'device:control:*', { control: false }],
    ['read_sensor', 'sensor:read:*', { readings: false }],
    ['sensor_history', 'sensor:read:*', { readings: false }],
  ])('%s is told to ask the person for %s, and where', async (name, scope, chosen) => {
    const lab = await oauthLab();
    const { access } = await lab.connected({ chosen: lab.choice(chosen) });
    const { status, headers } = await lab.json('/mcp', call(name), access, MODERN);
    const metadata = 'http://127.0.0.1:8081/.well-known/oauth-protected-resource/mcp';
    const challenge = `error="insufficient_scope", scope="${scope}", resource_metadata="${metadata}"`;
    expect([status, headers.get('www-authenticate')]).toEqual([403, expect.stringContaining(challenge)]);
    const inBatch = await lab.json('/mcp', [call('home_overview'), call(name)], access, MODERN);
    expect(inBatch.status).toBe(403);
  });

  test('with the scope, or with another tool, gets the answer of the tool', async () => {
    const lab = await oauthLab();
    const { access } = await lab.connected({ chosen: lab.choice({ readings: false }) });
    for (const name of ['control_tool', 'home_overview', 'no_such_tool'])
      expect((await lab.json('/mcp', call(name), access, MODERN)).status).not.toBe(403);
  });

  test('with administration alone still administrates by control_tool', async () => {
    const lab = await oauthLab();
    const { access } = await lab.connected({ chosen: lab.choice({ control: false, readings: false, administration: true }) });
    expect((await lab.json('/mcp', call('control_tool'), access, MODERN)).status).not.toBe(403);
  });

  test('an agent with a token of its own learns nothing of OAuth', async () => {
    const lab = await oauthLab();
    const { token } = lab.tokens.issuer.issue({ agentId: 'reader', permissions: ['sensor:read:*'], ttlMs: 3_600_000 }, OWNER);
    expect((await lab.json('/mcp', call('control_tool'), token, MODERN)).status).not.toBe(403);
  });
});
