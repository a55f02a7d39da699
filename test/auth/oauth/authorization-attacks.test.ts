import { beforeAll, describe, expect, test } from 'vitest';
import { publicFetch } from '../../../src/connectors/web/public-fetch.ts';
import { ANN } from '../people/people-fixture.ts';
import { CALLBACK, CHALLENGE, oauthLab } from './oauth-fixture.ts';

type Lab = Awaited<ReturnType<typeof oauthLab>>;
const ISSUER = 'http://127.0.0.1:8081';
const LOOPBACK = 'http://127.0.0.1:8000/cb';
const PRIVATE = 'com.example.app:/cb';

/** Addresses that no client can register, since whoever reads the code there is not the client that a person sees. */
const UNREGISTRABLE: readonly (readonly [why: string, uri: unknown])[] = [
  ['plain http to another machine', 'http://chat.example/callback'],
  ['plain http in the network of the home', 'http://192.168.1.5/cb'],
  ['plain http to a private network', 'http://10.0.0.1/cb'],
  ['plain http to the metadata of a cloud', 'http://169.254.169.254/latest'],
  ['plain http to a local IPv6 address', 'http://[fd00::1]/cb'],
  ['plain http to every address', 'http://0.0.0.0/cb'],
  ['plain http to every IPv6 address', 'http://[::]/cb'],
  ['a name that begins with localhost', 'http://localhost.evil.example/cb'],
  ['a name that begins with a loopback address', 'http://127.0.0.1.evil.example/cb'],
  ['a script', 'javascript:alert(1)'],
  ['a script with a comment that looks like an address', 'javascript://chat.example/%0aalert(1)'],
  ['a script of the old kind', 'vbscript:msgbox(1)'],
  ['a document in the address', 'data:text/html,<script>alert(1)</script>'],
  ['a document of the browser', 'blob:https://chat.example/1'],
  ['a blank document', 'about:blank'],
  ['a file', 'file:///etc/passwd'],
  ['a file server', 'ftp://chat.example/cb'],
  ['a web socket', 'wss://chat.example/cb'],
  ['a plain web socket', 'ws://127.0.0.1/cb'],
  ['a scheme without a dot, which any application can take', 'myapp:/cb'],
  ['a scheme without a dot that looks like an address', 'myapp://chat.example/cb'],
  ['an extension of a browser', 'chrome-extension://abcdef/cb'],
  ['an intent of Android', 'intent://scan/#Intent;scheme=x;end'],
  ['a fragment', 'https://chat.example/cb#x'],
  ['an empty fragment', 'https://chat.example/cb#'],
  ['a user with a password', 'https://user:pw@chat.example/cb'],
  ['a user', 'https://user@chat.example/cb'],
  ['a host that hides behind a user', 'https://chat.example@evil.example/cb'],
  ['a step up in the path', 'https://chat.example/a/../cb'],
  ['a step up that is encoded', 'https://chat.example/a/%2e%2e/cb'],
  ['a step up that is half encoded', 'https://chat.example/a/.%2E/cb'],
  ['a step to itself', 'https://chat.example/./cb'],
  ['no scheme', '//chat.example/cb'],
  ['a path alone', '/cb'],
  ['a word', 'cb'],
  ['nothing', ''],
  ['a space before it', ' https://chat.example/cb'],
  ['a space in it', 'https://chat.example/c b'],
  ['a tab in it', 'https://chat.example/c\tb'],
  ['a new line, which could end a header', 'https://chat.example/cb\r\nSet-Cookie: a=b'],
  ['a zero byte', 'https://chat.example/cb\0'],
  ['a letter of another alphabet', 'https://ch\u0430t.example/cb'],
  ['a backslash', 'https://chat.example\\@evil.example/cb'],
  ['markup', 'https://chat.example/"><script>'],
  ['a wildcard host that is no URI', 'https://*.{example}/cb'],
  ['a very long path', `https://chat.example/${'a'.repeat(1_025)}`],
];

const NOT_A_LIST: readonly (readonly [string, unknown])[] = [
  ['a text', CALLBACK],
  ['a list with a number', [CALLBACK, 7]],
  ['a list in a list', [[CALLBACK]]],
  ['an object', { 0: CALLBACK }],
  ['nothing', null],
  ['nine addresses', Array.from({ length: 9 }, (_, index) => `${CALLBACK}/${index}`)],
];

describe('a registration is refused', () => {
  let lab: Lab;
  beforeAll(async () => {
    lab = await oauthLab();
  });

  test.each(UNREGISTRABLE)('for an address with %s', async (_, uri) => {
    const { status, json } = await lab.json('/oauth/register', { redirect_uris: [CALLBACK, uri] });
    expect([status, json.error]).toEqual([400, 'invalid_redirect_uri']);
    expect(json.error_description).toMatch(/\w/);
  });

  test.each(NOT_A_LIST)('for addresses that are %s', async (_, uris) => {
    expect((await lab.json('/oauth/register', { redirect_uris: uris })).json.error).toBe('invalid_redirect_uri');
  });

  test.each([
    ['without an address', {}, 'invalid_redirect_uri'],
    ['for passwords', { redirect_uris: [CALLBACK], grant_types: ['password'] }, 'invalid_client_metadata'],
    ['for tokens in the address', { redirect_uris: [CALLBACK], grant_types: ['implicit'] }, 'invalid_client_metadata'],
    ['for a client that acts for nobody', { redirect_uris: [CALLBACK], grant_types: ['client_credentials'] }, 'invalid_client_metadata'],
    ['for answers other than codes', { redirect_uris: [CALLBACK], response_types: ['token'] }, 'invalid_client_metadata'],
  ])('%s', async (_, metadata, error) => {
    expect((await lab.json('/oauth/register', metadata)).json.error).toBe(error);
  });

  test('that is larger than 64 KiB, or no object', async () => {
    expect((await lab.json('/oauth/register', { redirect_uris: [CALLBACK], client_name: 'x'.repeat(70_000) })).status).toBe(413);
    expect((await lab.json('/oauth/register', '[1]')).json.error).toBe('invalid_client_metadata');
    expect((await lab.form('/oauth/register', { client_name: 'x' })).status).toBe(415);
  });

  test('nowhere leaves anything', () => {
    expect(lab.store.entries('oauth.clients')).toEqual([]);
  });
});

/** Addresses that are not those of a client with CALLBACK, LOOPBACK, PRIVATE and one with a query. */
const FOREIGN_REDIRECTS: readonly (readonly [why: string, uri: string])[] = [
  ['another site', 'https://evil.example/callback'],
  ['another path', 'https://chat.example/other'],
  ['a longer path', `${CALLBACK}/more`],
  ['a shorter path', 'https://chat.example/call'],
  ['a slash at the end', `${CALLBACK}/`],
  ['two slashes', 'https://chat.example//callback'],
  ['an encoded letter', 'https://chat.example/%63allback'],
  ['a query', `${CALLBACK}?next=https://evil.example`],
  ['an empty query', `${CALLBACK}?`],
  ['a fragment', `${CALLBACK}#x`],
  ['another port', 'https://chat.example:8443/callback'],
  ['the port written out', 'https://chat.example:443/callback'],
  ['plain http', 'http://chat.example/callback'],
  ['another spelling of the host', 'https://CHAT.example/callback'],
  ['a subdomain', 'https://a.chat.example/callback'],
  ['a longer domain', 'https://chat.example.evil.example/callback'],
  ['a dot behind the domain', 'https://chat.example./callback'],
  ['a user that looks like the host', 'https://chat.example@evil.example/callback'],
  ['a step up', 'https://chat.example/x/../callback'],
  ['a backslash', 'https://chat.example\\@evil.example/callback'],
  ['a space at the end', `${CALLBACK} `],
  ['a new line at the end', `${CALLBACK}\n`],
  ['a zero byte at the end', `${CALLBACK}\0`],
  ['a loopback address with another path', 'http://127.0.0.1:8000/evil'],
  ['a loopback address by another name', 'http://localhost:8000/cb'],
  ['another loopback address', 'http://[::1]:8000/cb'],
  ['a loopback address over https', 'https://127.0.0.1:8000/cb'],
  ['a loopback address with a query', `${LOOPBACK}?x=1`],
  ['a loopback address with two ports', 'http://127.0.0.1:8000:9000/cb'],
  ['a loopback address as a user', 'http://127.0.0.1:8000@evil.example/cb'],
  ['a loopback address in a longer name', 'http://127.0.0.1.evil.example/cb'],
  ['a private scheme with another path', 'com.example.app:/other'],
  ['a longer private scheme', 'com.example.app.evil:/cb'],
  ['a private scheme with a host', 'com.example.app://evil.example/cb'],
  ['the registered query with more', 'https://chat.example/q?x=1&y=2'],
  ['the registered query with another value', 'https://chat.example/q?x=2'],
  ['a script', 'javascript:alert(1)'],
];

describe('nobody is sent', () => {
  let lab: Lab;
  let clientId: string;
  beforeAll(async () => {
    lab = await oauthLab();
    clientId = await lab.register({ redirect_uris: [CALLBACK, LOOPBACK, PRIVATE, 'https://chat.example/q?x=1'] });
  });

  test.each(FOREIGN_REDIRECTS)('to an address with %s', async (_, uri) => {
    const { status, json } = await lab.open(lab.query(clientId, { redirect_uri: uri }));
    expect([status, json.redirect_to]).toEqual([400, undefined]);
    expect(json.detail).toMatch(/address/);
  });

  test.each([
    ['without an address', (id: string) => lab.query(id, { redirect_uri: undefined })],
    ['with an empty address', (id: string) => lab.query(id, { redirect_uri: '' })],
    ['with two addresses', (id: string) => `${lab.query(id)}&redirect_uri=https://evil.example`],
    ['with two clients', (id: string) => `${lab.query(id)}&client_id=other`],
    ['without a client', () => lab.query('').replace('client_id=&', '')],
    ['for an unknown client', () => lab.query('c-unknown')],
    ['for a client named by a path', () => lab.query('../oauth.grants')],
    ['for a client named __proto__', () => lab.query('__proto__')],
    ['with a query that is too long', (id: string) => lab.query(id, { state: 'x'.repeat(8_200) })],
    ['with nothing', () => '?'],
  ])('%s', async (_, query) => {
    const { status, json } = await lab.open(query(clientId));
    expect([status, json.redirect_to]).toEqual([400, undefined]);
  });

  test.each([
    ['the registered address', CALLBACK, 'chat.example'],
    ['a loopback address with any port', 'http://127.0.0.1:55555/cb', '127.0.0.1'],
    ['a loopback address without a port', 'http://127.0.0.1/cb', '127.0.0.1'],
    ['a private scheme', PRIVATE, 'com.example.app:'],
    ['an address with a query', 'https://chat.example/q?x=1', 'chat.example'],
  ])('elsewhere than to the own addresses, such as %s', async (_, uri, host) => {
    expect((await lab.open(lab.query(clientId, { redirect_uri: uri }))).json.redirect_host).toBe(host);
  });
});

/** Mistakes that the client is told of at its own address (RFC 6749 §4.1.2.1). */
const MISTAKES: readonly (readonly [why: string, error: string, changes: Record<string, string | undefined>])[] = [
  ['no response type', 'unsupported_response_type', { response_type: undefined }],
  ['a token as answer', 'unsupported_response_type', { response_type: 'token' }],
  ['an id token as answer', 'unsupported_response_type', { response_type: 'id_token' }],
  ['a code and a token', 'unsupported_response_type', { response_type: 'code token' }],
  ['a code in capital letters', 'unsupported_response_type', { response_type: 'CODE' }],
  ['no challenge', 'invalid_request', { code_challenge: undefined }],
  ['an empty challenge', 'invalid_request', { code_challenge: '' }],
  ['no method, which would mean plain', 'invalid_request', { code_challenge_method: undefined }],
  ['the method plain', 'invalid_request', { code_challenge_method: 'plain' }],
  ['the method s256', 'invalid_request', { code_challenge_method: 's256' }],
  ['an unknown method', 'invalid_request', { code_challenge_method: 'S512' }],
  ['a short challenge', 'invalid_request', { code_challenge: CHALLENGE.slice(1) }],
  ['a long challenge', 'invalid_request', { code_challenge: `${CHALLENGE}A` }],
  ['a challenge with padding', 'invalid_request', { code_challenge: `${CHALLENGE.slice(1)}=` }],
  ['a challenge in the other alphabet', 'invalid_request', { code_challenge: `+${CHALLENGE.slice(1)}` }],
  ['an answer in the fragment', 'invalid_request', { response_mode: 'fragment' }],
  ['an answer in a form', 'invalid_request', { response_mode: 'form_post' }],
  ['an answer in a message', 'invalid_request', { response_mode: 'web_message' }],
  ['a request object', 'invalid_request', { request: 'eyJ' }],
  ['a request elsewhere', 'invalid_request', { request_uri: 'https://evil.example/r' }],
  ['a very long state', 'invalid_request', { state: 'x'.repeat(2_049) }],
  ['a resource of another site', 'invalid_target', { resource: 'https://evil.example/mcp' }],
  ['a resource of a name that begins alike', 'invalid_target', { resource: `${ISSUER}.evil.example/mcp` }],
  ['a resource at another port', 'invalid_target', { resource: 'http://127.0.0.1:9999/mcp' }],
  ['a resource by another scheme', 'invalid_target', { resource: 'https://127.0.0.1:8081/mcp' }],
  ['a resource by another name of the hub', 'invalid_target', { resource: 'http://localhost:8081/mcp' }],
  ['a resource behind a user', 'invalid_target', { resource: 'http://127.0.0.1:8081@evil.example/mcp' }],
  ['a resource with a user', 'invalid_target', { resource: 'http://a@127.0.0.1:8081/mcp' }],
  ['a resource with a fragment', 'invalid_target', { resource: `${ISSUER}/mcp#x` }],
  ['the metrics', 'invalid_target', { resource: `${ISSUER}/metrics` }],
  ['the document of the API', 'invalid_target', { resource: `${ISSUER}/openapi.json` }],
  ['the authorization server itself', 'invalid_target', { resource: `${ISSUER}/oauth/token` }],
  ['a version of the API that is not there', 'invalid_target', { resource: `${ISSUER}/api/v2` }],
  ['one route of the API', 'invalid_target', { resource: `${ISSUER}/api/v1/tokens` }],
  ['a name that begins like the endpoint', 'invalid_target', { resource: `${ISSUER}/mcpx` }],
  ['areas without a name', 'invalid_target', { resource: `${ISSUER}/mcp/areas` }],
  ['something below an area', 'invalid_target', { resource: `${ISSUER}/mcp/areas/hall/x` }],
  ['something below the devices', 'invalid_target', { resource: `${ISSUER}/mcp/devices/x` }],
  ['a step up to the metrics', 'invalid_target', { resource: `${ISSUER}/mcp/../metrics` }],
  ['an encoded step up', 'invalid_target', { resource: `${ISSUER}/mcp/%2e%2e/metrics` }],
  ['a path alone', 'invalid_target', { resource: '/mcp' }],
  ['an empty resource', 'invalid_target', { resource: '' }],
  ['a name of another kind', 'invalid_target', { resource: 'urn:hub:mcp' }],
];

describe('the client is told', () => {
  let lab: Lab;
  let clientId: string;
  beforeAll(async () => {
    lab = await oauthLab();
    clientId = await lab.register();
  });
  const errorIn = (address: string) => {
    const { origin, pathname, searchParams } = new URL(address);
    expect([origin + pathname, searchParams.get('iss'), searchParams.has('code')]).toEqual([CALLBACK, ISSUER, false]);
    expect(searchParams.get('error_description')).toMatch(/^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/);
    return searchParams.get('error');
  };

  test.each(MISTAKES)('of a request with %s', async (_, error, changes) => {
    const { status, json } = await lab.open(lab.query(clientId, changes));
    expect(status).toBe(200);
    expect(errorIn(json.redirect_to)).toBe(error);
  });

  test('of a state that is too long without this state, and of any other mistake with the whole state', async () => {
    const stateFor = async (state: string) => {
      const { json } = await lab.open(lab.query(clientId, { state, response_type: 'token' }));
      return new URL(json.redirect_to).searchParams.get('state');
    };
    expect(await stateFor('x'.repeat(2_048))).toBe('x'.repeat(2_048));
    expect(await stateFor('x'.repeat(2_049))).toBeNull();
  });

  test.each([
    'response_type=code',
    `code_challenge=${CHALLENGE}`,
    'code_challenge_method=S256',
    'state=other',
    'scope=a&scope=b',
    'resource=a&resource=b',
  ])('of a request that says twice: %s', async (more) => {
    expect(errorIn((await lab.open(`${lab.query(clientId)}&${more}`)).json.redirect_to)).toBe('invalid_request');
  });

  test('nothing in a state can end its parameter, and nothing is granted by any of these', async () => {
    const state = '"&code=stolen#\r\nLocation: https://evil.example';
    const { json } = await lab.open(lab.query(clientId, { state, response_type: 'token' }));
    expect(new URL(json.redirect_to).searchParams.get('state')).toBe(state);
    expect(json.redirect_to).not.toMatch(/[\r\n#]/);
    expect(lab.store.entries('oauth.requests')).toEqual([]);
  });
});

const DOCUMENT = 'https://app.example/client.json';
const documentOf = (changes: Readonly<Record<string, unknown>> = {}) =>
  JSON.stringify({ client_id: DOCUMENT, client_name: 'App', redirect_uris: [CALLBACK], ...changes });

describe('a client by its metadata document is refused', () => {
  test.each([
    ['with another client_id', /another client_id/, documentOf({ client_id: 'https://app.example/other.json' })],
    ['without a client_id', /another client_id/, documentOf({ client_id: undefined })],
    ['that has a secret', /prove who it is/, documentOf({ client_secret: 'x' })],
    ['that authenticates with a secret', /prove who it is/, documentOf({ token_endpoint_auth_method: 'client_secret_basic' })],
    ['that authenticates with a key', /prove who it is/, documentOf({ token_endpoint_auth_method: 'private_key_jwt' })],
    ['without the address of the request', /not one that the application/, documentOf({ redirect_uris: ['https://app.example/cb'] })],
    ['without addresses', /not one that the application/, documentOf({ redirect_uris: undefined })],
    ['with a script as address', /has to be https/, documentOf({ redirect_uris: [CALLBACK, 'javascript:alert(1)'] })],
    ['that is a list', /another client_id/, '[]'],
    ['that is no JSON', /another client_id/, '<html>'],
    ['that is empty', /another client_id/, ''],
    ['of more than 5 KB', /more than 5120 bytes/, documentOf({ padding: 'x'.repeat(5_200) })],
  ])('%s', async (_, reason, text) => {
    const lab = await oauthLab({ documents: { [DOCUMENT]: text } });
    const { status, json } = await lab.open(lab.query(DOCUMENT));
    expect([status, json.redirect_to, json.request_id]).toEqual([400, undefined, undefined]);
    expect(json.detail).toMatch(reason);
  });

  test.each([
    ...['https://127.0.0.1/c', 'https://10.0.0.1/c', 'https://192.168.0.1/c', 'https://172.16.0.1/c', 'https://169.254.169.254/latest'],
    ...['https://[::1]/c', 'https://[fd00::1]/c', 'https://[fe80::1]/c', 'https://[::ffff:a00:1]/c', 'https://0.0.0.0/c'],
    ...['https://100.64.0.1/c', 'https://224.0.0.1/c', 'https://router.example/c', 'https://router.example:8443/c'],
  ])('at %s, which is not on the internet', async (address) => {
    const lab = await oauthLab({ fetch: publicFetch({ resolve: async () => [{ address: '192.168.0.1', family: 4 }] }) });
    const { status, json } = await lab.open(lab.query(address));
    expect([status, json.redirect_to]).toEqual([400, undefined]);
    expect(json.detail).toContain('is not on the public internet');
  });

  test.each([
    ['plain http', 'http://app.example/client.json'],
    ['no path', 'https://app.example/'],
    ['no path and no slash', 'https://app.example'],
    ['a query', `${DOCUMENT}?v=2`],
    ['a fragment', `${DOCUMENT}#x`],
    ['a user', 'https://a@app.example/client.json'],
    ['a step up', 'https://app.example/x/../client.json'],
    ['capital letters in the host', 'https://APP.example/client.json'],
    ['the port written out', 'https://app.example:443/client.json'],
    ['a backslash', 'https://app.example\\client.json'],
    ['a very long path', `https://app.example/${'a'.repeat(600)}`],
  ])('whose address has %s, without being fetched', async (_, address) => {
    const lab = await oauthLab({ documents: { [DOCUMENT]: documentOf() } });
    expect((await lab.open(lab.query(address))).status).toBe(400);
    expect(lab.fetched).toEqual([]);
  });

  test('for anybody who is not signed in: nobody else makes the hub fetch anything', async () => {
    const lab = await oauthLab({ documents: { [DOCUMENT]: documentOf() } });
    expect((await lab.open(lab.query(DOCUMENT), 'guess')).status).toBe(401);
    expect((await lab.form('/oauth/device_authorization', { client_id: DOCUMENT })).status).toBe(200);
    await lab.exchange(DOCUMENT, 'x');
    expect(lab.fetched).toEqual([]);
  });

  test('never while it fits: it is fetched once for five minutes, and failures for half a minute', async () => {
    const lab = await oauthLab({ documents: { [DOCUMENT]: documentOf() } });
    for (let count = 0; count < 3; count++) {
      const opened = await lab.open(lab.query(DOCUMENT));
      expect(opened.json.client, opened.text).toMatchObject({
        name: 'App',
        host: 'app.example',
        kind: 'metadata_document',
      });
      await lab.open(lab.query('https://gone.example/c'));
    }
    expect(lab.fetched).toEqual([DOCUMENT, 'https://gone.example/c']);
    lab.clock.advance(301_000);
    await lab.open(lab.query(DOCUMENT));
    expect(lab.fetched).toHaveLength(3);
  });
});

test.each([
  ['line breaks', 'Claude\r\nSet-Cookie: a=b'],
  ['control characters', 'Claude\u0000\u0007\u001b[31m'],
  ['characters that turn the text', 'Claude\u202eevil'],
  ['invisible characters', 'Cla\u200bude\u2060'],
  ['a very long name', 'Claude'.repeat(100)],
])('a name with %s is shown as one line of visible characters', async (_, name) => {
  const lab = await oauthLab();
  const { json } = await lab.open(lab.query(await lab.register({ client_name: name })));
  expect(json.client.name).toMatch(/^[\x20-\x7e]{6,64}$/);
});

test('a person who opens more than sixteen requests loses the oldest of them, and nobody else does', async () => {
  const lab = await oauthLab();
  const [clientId, ann] = [await lab.register(), await lab.signedInToken(ANN)];
  const open = async (token?: string) => String((await lab.open(lab.query(clientId), token)).json.request_id);
  const ofAnn = await open(ann);
  lab.clock.advance(1_000);
  const oldest = await open();
  for (let count = 0; count < 16; count++) {
    lab.clock.advance(1_000);
    await open();
  }
  expect((await lab.allow(oldest)).status).toBe(404);
  expect((await lab.allow(ofAnn, ann)).status).toBe(200);
});
