import { expect, test } from 'vitest';
import { oauthLab } from './oauth-fixture.ts';

const CURSOR = 'cursor://anysphere.cursor-mcp/oauth/callback';
const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code';

test('the address of Cursor is taken as it is documented, and no other one without a dot in its scheme', async () => {
  const lab = await oauthLab();
  const register = (uri: string) => lab.json('/oauth/register', { client_name: 'Cursor', redirect_uris: [uri] });
  expect((await register(CURSOR)).status).toBe(201);
  for (const uri of [
    `${CURSOR}/`,
    `${CURSOR}?x=1`,
    'cursor://other/oauth/callback',
    'vscode://x/callback',
    'CURSOR://anysphere.cursor-mcp/oauth/callback',
  ])
    expect((await register(uri)).json.error, uri).toBe('invalid_redirect_uri');
});

test.each([
  [CURSOR, 'cursor:'],
  ['claude.ai:/callback', 'claude.ai:'],
  ['https://claude.ai/callback', 'claude.ai'],
  ['http://localhost:7777/callback', 'localhost'],
])('an answer to %s is shown as going to %s, so that no scheme looks like a host', async (uri, host) => {
  const lab = await oauthLab();
  const clientId = await lab.register({ redirect_uris: [uri] });
  expect((await lab.open(lab.query(clientId, { redirect_uri: uri }))).json.redirect_host).toBe(host);
});

test('a device that polls each five seconds is not slowed down by a request that travels faster than the one before', async () => {
  const lab = await oauthLab();
  const clientId = await lab.register({ grant_types: [DEVICE_GRANT] });
  const codes = (await lab.form('/oauth/device_authorization', { client_id: clientId })).json;
  const poll = async () =>
    (await lab.form('/oauth/token', { grant_type: DEVICE_GRANT, client_id: clientId, device_code: String(codes.device_code) })).json.error;
  expect(await poll()).toBe('authorization_pending');
  for (const waitMs of [4_100, 5_000, 4_000]) {
    lab.clock.advance(waitMs);
    expect(await poll()).toBe('authorization_pending');
  }
  lab.clock.advance(3_900);
  expect(await poll()).toBe('slow_down');
});
