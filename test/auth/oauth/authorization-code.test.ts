import { expect, test } from 'vitest';
import { oauthLab } from './oauth-fixture.ts';

test('a client that a person has allowed gets a token for an hour, and a refresh token', async () => {
  const lab = await oauthLab();
  const clientId = await lab.register();
  const location = await lab.consent(lab.query(clientId));
  expect(location.origin + location.pathname).toBe('https://chat.example/callback');
  expect(location.searchParams.get('state')).toBe('s1');
  expect(location.searchParams.get('iss')).toBe('http://127.0.0.1:8081');
  const { status, json, headers } = await lab.exchange(clientId, location.searchParams.get('code') ?? '');
  expect([status, json.token_type, json.expires_in]).toEqual([200, 'Bearer', 3_600]);
  expect(headers.get('cache-control')).toBe('no-store');
  expect(json.scope.split(' ')).toContain('device:control:@type/light');
  const called = await lab.json('/mcp', { jsonrpc: '2.0', id: 1, method: 'ping' }, json.access_token);
  expect(called.status).not.toBe(401);
  expect((await lab.get('/api/v1/devices', json.access_token)).status).toBe(401);
});
