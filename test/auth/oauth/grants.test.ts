import { describe, expect, test } from 'vitest';
import { GrantedTokens } from '../../../src/auth/oauth/access-tokens.ts';
import { OWNER } from '../../../src/core/auth/principal.ts';
import { objectOf } from '../../../src/core/json.ts';
import { HOST, TOKEN } from '../../http/http-fixture.ts';
import { ANN, browser, TIM } from '../people/people-fixture.ts';
import { tokenServices } from '../tokens/token-fixture.ts';
import { oauthLab } from './oauth-fixture.ts';

const DAY_MS = 86_400_000;
const endReason = (lab: Awaited<ReturnType<typeof oauthLab>>) =>
  lab.notes.findLast(({ event }) => event === 'oauth.grant_ended')?.data.reason;

describe('an access ends', () => {
  test('when the person is removed', async () => {
    const lab = await oauthLab();
    const { access, renewal, clientId } = await lab.connected({ token: await lab.signedInToken(TIM) });
    await lab.people.remove('tim');
    expect([lab.isValid(access), endReason(lab)]).toEqual([false, 'signed_out']);
    expect((await lab.refresh(clientId, renewal)).json.error).toBe('invalid_grant');
  });

  test('when the person gets another role, and comes not back with the old one', async () => {
    const lab = await oauthLab();
    const { access, renewal, clientId } = await lab.connected({ token: await lab.signedInToken(ANN) });
    await lab.people.change({ ...ANN, role: 'child' });
    expect([lab.isValid(access), endReason(lab)]).toEqual([false, 'role_changed']);
    await lab.people.change(ANN);
    expect((await lab.refresh(clientId, renewal)).json.error).toBe('invalid_grant');
  });

  test('when the sign-in with which it was given ends, and not with another one', async () => {
    const lab = await oauthLab();
    const [phone, laptop] = [await lab.signedIn(ANN, browser()), await lab.signedIn(ANN, browser())];
    const { access } = await lab.connected({ token: phone.token });
    await lab.people.endSignIn(laptop.signIn.id);
    expect(lab.isValid(access)).toBe(true);
    await lab.people.endSignIn(phone.signIn.id);
    expect([lab.isValid(access), endReason(lab)]).toEqual([false, 'signed_out']);
  });

  test('when its sign-in ended before the client exchanged the code, though another one lives', async () => {
    const lab = await oauthLab();
    const [phone] = [await lab.signedIn(ANN, browser()), await lab.signedIn(ANN, browser())];
    const clientId = await lab.register();
    const code = (await lab.consent(lab.query(clientId), phone.token)).searchParams.get('code') ?? '';
    await lab.people.endSignIn(phone.signIn.id);
    expect((await lab.exchange(clientId, code)).json.error).toBe('invalid_grant');
  });

  test('when the token of its person was revoked before the client exchanged the code', async () => {
    const lab = await oauthLab();
    await lab.people.add(ANN);
    const permissions = ['device:control:*', 'device:read:*', 'sensor:read:*'];
    const { token, principal } = lab.tokens.issuer.issue({ agentId: 'ann', permissions, ttlMs: 3_600_000 }, OWNER);
    const clientId = await lab.register();
    const until = new Date(lab.clock.now() + 3_600_000).toISOString();
    const code = (await lab.consent(lab.query(clientId), token, lab.choice({ until }))).searchParams.get('code') ?? '';
    lab.tokens.issuer.revoke(principal.token?.id ?? '');
    expect((await lab.exchange(clientId, code)).json.error).toBe('invalid_grant');
  });

  test('at a start or a renewal, when a crash came between the end of its sign-in and that of the access', async () => {
    const lab = await oauthLab();
    const phone = await lab.signedIn(ANN, browser());
    const { access, renewal, clientId } = await lab.connected({ token: phone.token });
    const { id, ...signIn } = phone.signIn;
    lab.store.set('people.sign-ins', id, { ...signIn, endedAtMs: lab.clock.now() });
    expect((await lab.refresh(clientId, renewal)).json.error).toBe('invalid_grant');
    const other = await lab.connected({ token: (await lab.signedIn(ANN, browser())).token });
    for (const { key, value } of lab.store.entries('people.sign-ins')) {
      lab.store.set('people.sign-ins', key, { ...(value as object), endedAtMs: lab.clock.now() });
    }
    const again = await oauthLab({ clock: lab.clock, store: lab.store, hub: lab.hub });
    expect([again.isValid(access), again.isValid(other.access), again.grants.list()]).toEqual([false, false, []]);
  });

  test('with the token of a person who has no sign-in, and lasts no longer than this token', async () => {
    const lab = await oauthLab();
    await lab.people.add(ANN);
    const permissions = ['device:control:*', 'device:read:*', 'sensor:read:*'];
    const login = () => lab.tokens.issuer.issue({ agentId: 'ann', permissions, ttlMs: 2 * 3_600_000 }, OWNER);
    const { token, principal } = login();
    const { json } = await lab.open(lab.query(await lab.register()), token);
    const end = new Date(lab.clock.now() + 2 * 3_600_000).toISOString();
    expect(Date.parse(json.choices.max_until)).toBe(Date.parse(end));
    expect((await lab.allow(json.request_id, token)).status).toBe(400);
    const { access } = await lab.connected({ token, chosen: lab.choice({ until: end }) });
    lab.tokens.issuer.revoke(principal.token?.id ?? '');
    expect([lab.isValid(access), endReason(lab)]).toEqual([false, 'signed_out']);
  });

  test('when one of its tokens is revoked in the list of tokens, or its client revokes it', async () => {
    const lab = await oauthLab();
    const one = await lab.connected();
    const renewed = (await lab.refresh(one.clientId, one.renewal)).json.access_token;
    lab.tokens.issuer.revoke(lab.tokens.issuer.principalOf(one.access).token?.id ?? '');
    expect([lab.isValid(renewed), endReason(lab)]).toEqual([false, 'token_revoked']);
    for (const text of ['renewal', 'access'] as const) {
      const other = await lab.connected();
      const revoked = (clientId: string) => lab.form('/oauth/revoke', { token: other[text], client_id: clientId });
      expect((await revoked('c-other')).status).toBe(200);
      expect(lab.isValid(other.access)).toBe(true);
      expect((await revoked(other.clientId)).status).toBe(200);
      expect([lab.isValid(other.access), endReason(lab)]).toEqual([false, 'revoked_by_client']);
    }
  });

  test('before it began, when the person withdraws between consent and exchange', async () => {
    const lab = await oauthLab();
    const signIn = await lab.signedIn(ANN);
    const clientId = await lab.register();
    const codeOf = async (token: string) => (await lab.consent(lab.query(clientId), token)).searchParams.get('code') ?? '';
    const [first, second] = [await codeOf(signIn.token), await codeOf(signIn.token)];
    expect((await lab.exchange(clientId, first)).status).toBe(200);
    await lab.people.endSignIn(signIn.signIn.id);
    expect((await lab.exchange(clientId, second)).json.error).toBe('invalid_grant');
    expect(lab.grants.list()).toEqual([]);
    const third = await codeOf((await lab.signedIn(ANN)).token);
    await lab.people.change({ ...ANN, role: 'child' });
    await lab.people.change(ANN);
    expect((await lab.exchange(clientId, third)).json.error).toBe('invalid_grant');
  });

  test('at the end that the person chose, to the minute', async () => {
    const lab = await oauthLab();
    const until = new Date(lab.clock.now() + 90 * 60_000).toISOString();
    const { renewal, clientId } = await lab.connected({ chosen: lab.choice({ until }) });
    lab.clock.advance(3_600_000);
    const { json } = await lab.refresh(clientId, renewal);
    expect(json.expires_in).toBe(1_800);
    lab.clock.advance(30 * 60_000);
    expect((await lab.refresh(clientId, json.refresh_token)).json.error).toBe('invalid_grant');
    expect((await lab.get('/api/v1/oauth/grants', TOKEN)).json.grants).toEqual([]);
  });

  test('at a start, for tokens whose access a crash has left', async () => {
    const lab = await oauthLab();
    const { access } = await lab.connected();
    for (const { key } of lab.store.entries('oauth.grants')) lab.store.delete('oauth.grants', key);
    const again = await oauthLab({ clock: lab.clock, store: lab.store, hub: lab.hub });
    expect(again.isValid(access)).toBe(false);
  });
});

describe('a session of MCP', () => {
  const INITIALIZE = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } };
  const accept = { accept: 'application/json, text/event-stream' };
  const begun = async (lab: Awaited<ReturnType<typeof oauthLab>>, token: string) => {
    const answer = await lab.json('/mcp', { jsonrpc: '2.0', id: 1, method: 'initialize', params: INITIALIZE }, token, accept);
    const session = { ...accept, 'mcp-session-id': answer.headers.get('mcp-session-id') ?? '', 'mcp-protocol-version': '2025-11-25' };
    await lab.json('/mcp', { jsonrpc: '2.0', method: 'notifications/initialized' }, token, session);
    return (by: string) => lab.json('/mcp', { jsonrpc: '2.0', id: 2, method: 'ping' }, by, session);
  };

  test('goes on with the next token of its access, before and after the one before has ended', async () => {
    const lab = await oauthLab();
    const { access, renewal, clientId } = await lab.connected();
    const ping = await begun(lab, access);
    const second = (await lab.refresh(clientId, renewal)).json;
    expect([(await ping(access)).status, (await ping(second.access_token)).status]).toEqual([200, 200]);
    for (let count = 0; count < 3; count++) {
      lab.clock.advance(19 * 60_000);
      expect((await ping(second.access_token)).status).toBe(200);
    }
    lab.clock.advance(5 * 60_000);
    expect((await ping(second.access_token)).status).toBe(401);
    const third = (await lab.refresh(clientId, second.refresh_token)).json.access_token;
    expect((await ping(third)).status).toBe(200);
  });

  test('is not there for another access, even of the same client and person', async () => {
    const lab = await oauthLab();
    const { access, clientId } = await lab.connected();
    const ping = await begun(lab, access);
    const code = (await lab.consent(lab.query(clientId))).searchParams.get('code') ?? '';
    const other = (await lab.exchange(clientId, code)).json.access_token;
    expect([(await ping(other)).status, (await ping(access)).status]).toEqual([404, 200]);
  });
});

describe('an access', () => {
  test('goes on after a restart, with its token, its refresh token and its address', async () => {
    const lab = await oauthLab();
    const { access, renewal, clientId } = await lab.connected();
    const again = await oauthLab({ clock: lab.clock, store: lab.store, hub: lab.hub });
    expect((await again.get('/api/v1/devices', access)).status).toBe(401);
    expect((await again.json('/mcp', { jsonrpc: '2.0', id: 1, method: 'ping' }, access)).status).not.toBe(401);
    expect((await again.refresh(clientId, renewal)).status).toBe(200);
  });

  test('takes a repeated refresh token after a crash between storing and answering', async () => {
    const lab = await oauthLab();
    const { renewal, clientId } = await lab.connected();
    await lab.refresh(clientId, renewal);
    const again = await oauthLab({ clock: lab.clock, store: lab.store, hub: lab.hub });
    expect((await again.refresh(clientId, renewal)).status).toBe(200);
  });

  test('gets narrower with its person at once, and never wider than it was shown', async () => {
    const lab = await oauthLab();
    const { access, renewal, clientId } = await lab.connected({
      token: await lab.signedInToken(ANN),
      chosen: lab.choice({ kinds: ['light'] }),
    });
    await lab.people.change({ ...ANN, limits: { rooms: ['hall'] } });
    expect(lab.isValid(access)).toBe(false);
    const narrow = (await lab.refresh(clientId, renewal)).json;
    expect(narrow.scope.split(' ').toSorted()).toEqual(
      ['device:control', 'device:read', 'sensor:read'].map((action) => `${action}:@area/hall/@type/light`),
    );
    await lab.people.change(ANN);
    const wide = (await lab.refresh(clientId, narrow.refresh_token)).json;
    expect(wide.scope).toContain('device:control:@type/light');
    expect(wide.scope).not.toMatch(/\*|lock|plug/);
  });

  test('waits for the hours in which its person is admitted, and does not end', async () => {
    const lab = await oauthLab();
    const hours = { from: '00:00', to: '23:00' };
    const at = new Date(lab.clock.now());
    const { renewal, clientId } = await lab.connected({ token: await lab.signedInToken({ ...TIM, limits: { hours } }) });
    lab.clock.advance(((23 * 60 + 30 - (at.getHours() * 60 + at.getMinutes()) + 1_440) % 1_440) * 60_000);
    const refused = await lab.refresh(clientId, renewal);
    expect([refused.status, refused.json.error]).toEqual([429, 'temporarily_unavailable']);
    lab.clock.advance(DAY_MS / 24);
    expect((await lab.refresh(clientId, renewal)).status).toBe(200);
  });

  test('has an agent below its person that is named like its client, the same when it asks again', async () => {
    const lab = await oauthLab();
    const ann = await lab.signedInToken(ANN);
    const agentOf = (access: string) => lab.tokens.issuer.inspect(access).principal.id;
    const { access, clientId } = await lab.connected({ token: ann });
    expect(agentOf(access)).toBe('ann/claude-ai');
    expect(agentOf((await lab.connected({ token: ann })).access)).toBe('ann/claude-ai-2');
    expect(agentOf((await lab.connected()).access)).toBe('monitor/claude-ai');
    const again = await lab.consent(lab.query(clientId), ann);
    expect(agentOf((await lab.exchange(clientId, again.searchParams.get('code') ?? '')).json.access_token)).toBe('ann/claude-ai');
    for (const [name, agent] of [
      ['Ann', 'ann/ann'],
      ['Owner', 'ann/owner-2'],
      ['ecosystem 1', 'ann/ecosystem-1-2'],
      ['Żółć', 'ann/zo-c'],
      ['日本', 'ann/application'],
    ]) {
      const other = await lab.register({ client_name: name });
      const code = (await lab.consent(lab.query(other), ann)).searchParams.get('code') ?? '';
      expect(agentOf((await lab.exchange(other, code)).json.access_token)).toBe(agent);
    }
  });

  test('has no name for which the rules of the owner hold something ready, and none of an agent of its person', async () => {
    const lab = await oauthLab({ agentsInRules: ['monitor/claude-ai', 'ann/*'] });
    const { access } = await lab.connected();
    expect(lab.tokens.issuer.inspect(access).principal.id).toBe('monitor/claude-ai-2');
    const ann = await lab.signedInToken(ANN);
    lab.tokens.issuer.issue({ agentId: 'claude-ai', permissions: ['device:read:*'], ttlMs: 3_600_000 }, lab.tokens.issuer.principalOf(ann));
    const { access: ofAnn } = await lab.connected({ token: ann });
    expect(lab.tokens.issuer.inspect(ofAnn).principal.id).toBe('ann/claude-ai-2');
  });

  test('can be given by a person to four applications also where others have filled the hub', async () => {
    const lab = await oauthLab();
    await lab.connected();
    const [{ key, value } = { key: '', value: {} }] = lab.store.entries('oauth.grants');
    const copyTo = (person: string, count: number) => {
      for (let index = 0; index < count; index++) lab.store.set('oauth.grants', `${person}-${index}`, { ...objectOf(value), person });
    };
    for (let child = 0; child < 8; child++) copyTo(`child-${child}`, 32);
    lab.store.delete('oauth.grants', key);
    copyTo('tim', 3);
    expect(() => lab.grants.requireRoom('tim')).not.toThrow();
    copyTo('tim', 4);
    expect(() => lab.grants.requireRoom('tim')).toThrow(/256 applications/);
    expect(() => lab.grants.requireRoom('child-0')).toThrow(/32 applications/);
  });

  test('nobody can make an agent with the name of an application, not even after its access has ended', async () => {
    const lab = await oauthLab();
    const ann = await lab.signedInToken(ANN);
    await lab.connected({ token: ann });
    const { issuer } = lab.tokens;
    const make = (agentId: string) => issuer.issue({ agentId, permissions: ['device:read:*'], ttlMs: 3_600_000 }, issuer.principalOf(ann));
    expect(() => make('claude-ai')).toThrow(/is the name of an application/);
    for (const { id } of lab.grants.list()) await lab.grants.end(id, 'ended_by_person');
    expect(() => make('claude-ai')).toThrow(expect.objectContaining({ code: 'CONFLICT' }));
    expect(make('helper').principal.id).toBe('ann/helper');
  });

  test('makes its agent no person, also where a person has the name of the application', async () => {
    const lab = await oauthLab();
    const { access } = await lab.connected({ token: await lab.signedInToken(ANN) });
    await lab.people.add({ ...ANN, name: 'claude-ai' });
    expect(lab.people.personOf(lab.tokens.issuer.inspect(access).principal)).toBeUndefined();
    expect((await lab.open(lab.query(await lab.register()), access)).status).toBe(401);
  });

  test('is good at no address of another hub of the mesh, nor are the tokens that come from it', async () => {
    const lab = await oauthLab();
    const { access } = await lab.connected({ token: await lab.signedInToken(ANN) });
    const { issuers, verifier: other } = await tokenServices({ clock: lab.clock });
    issuers.set(lab.tokens.hub.hubId, lab.tokens.hub.publicKey);
    const { principal } = other.verify(access);
    expect(principal.id).toBe(`ann@${lab.tokens.hub.hubId}/claude-ai`);
    const child = lab.tokens.issuer.issue(
      { agentId: 'helper', permissions: ['device:read:@type/light'], ttlMs: 600_000 },
      lab.tokens.issuer.principalOf(access),
    );
    for (const foreign of [principal, other.verify(child.token).principal]) {
      expect(() => new GrantedTokens().admit(foreign, 'POST /mcp')).toThrow(/another hub/);
    }
    const plain = lab.tokens.issuer.issue({ agentId: 'kitchen', permissions: ['device:read:*'], ttlMs: 600_000 }, OWNER);
    expect(new GrantedTokens().admit(other.verify(plain.token).principal, 'POST /mcp').id).toBe(`kitchen@${lab.tokens.hub.hubId}`);
  });

  test('is listed with its client, person, agent, rights and last use', async () => {
    const lab = await oauthLab();
    const { access } = await lab.connected({ token: await lab.signedInToken(ANN) });
    lab.clock.advance(60_000);
    await lab.get('/mcp', access);
    const [grant] = (await lab.get('/api/v1/oauth/grants', TOKEN)).json.grants;
    expect(grant).toMatchObject({ client_name: 'Claude AI', client_host: 'chat.example', agent_id: 'ann/claude-ai', person: 'ann' });
    expect(Date.parse(grant.last_used_at) - Date.parse(grant.created_at)).toBe(60_000);
    expect(Date.parse(grant.expires_at)).toBe(Date.parse(grant.created_at) + 90 * DAY_MS);
    expect(lab.tokens.issuer.list().find((record) => record.grant === grant.id)).toMatchObject({
      agentId: 'ann/claude-ai',
      client: 'Claude AI',
    });
  });

  test('is noted in the audit log from the registration to the end', async () => {
    const lab = await oauthLab();
    const { clientId, renewal } = await lab.connected();
    await lab.refresh(clientId, renewal);
    await lab.form('/oauth/revoke', { token: renewal, client_id: clientId });
    expect(lab.events().filter((event) => event.startsWith('oauth.'))).toEqual([
      'oauth.client_registered',
      'oauth.consent_given',
      'oauth.grant_begun',
      'oauth.token_renewed',
      'oauth.grant_ended',
    ]);
  });

  test('is noted with its client, person, agent and address', async () => {
    const lab = await oauthLab();
    const { clientId } = await lab.connected();
    const [grant] = lab.grants.list();
    const begun = lab.notes.find(({ event }) => event === 'oauth.grant_begun');
    expect(begun?.data).toMatchObject({
      client_id: clientId,
      person: grant?.person,
      agent_id: grant?.agentId,
      resource: grant?.resource.address,
    });
  });
});

test('the metadata name the issuer under which the client came, also behind a proxy and with a path inserted', async () => {
  const lab = await oauthLab({ proxyUrl: 'https://hub.example.org/' });
  for (const path of ['', '/mcp', '/mcp/areas/Hall']) {
    const { json } = await lab.get(`/.well-known/oauth-authorization-server${path}`);
    expect(json).toMatchObject({
      issuer: `http://${HOST}`,
      code_challenge_methods_supported: ['S256'],
      token_endpoint_auth_methods_supported: ['none'],
    });
    expect((await lab.get(`/.well-known/oauth-protected-resource${path}`)).json.authorization_servers).toEqual([`http://${HOST}`]);
  }
  const proxied = await lab.httpApi.app.request('http://hub.example.org/.well-known/oauth-authorization-server', {
    headers: { host: 'hub.example.org' },
  });
  expect(await proxied.json()).toMatchObject({ issuer: 'https://hub.example.org', token_endpoint: 'https://hub.example.org/oauth/token' });
});

test('the page of a consent is not kept, is in no frame and tells nobody from where it came', async () => {
  const lab = await oauthLab();
  for (const path of ['/oauth/authorize?client_id=x&unknown=1', '/oauth/device?user_code=BBBB-BBBB', '/oauth/device']) {
    const { status, headers } = await lab.get(path);
    expect(status).toBe(200);
    expect([headers.get('cache-control'), headers.get('referrer-policy'), headers.get('x-frame-options')]).toEqual([
      'no-store',
      'no-referrer',
      'DENY',
    ]);
    expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
    expect(headers.get('set-cookie')).toBeNull();
  }
});
