import { describe, expect, it } from 'vitest';
import { ask, HOST, makeHttpApi } from '../http/http-fixture.ts';

const METADATA = `http://${HOST}/.well-known/oauth-protected-resource`;

describe('who comes to the MCP door', () => {
  it('without a token is told where the metadata of the resource stand, and which scopes to ask for', async () => {
    const { httpApi } = makeHttpApi();
    for (const path of ['/mcp', '/mcp/devices', '/mcp/areas/Kids%20room']) {
      const { status, headers } = await ask(httpApi, path, { token: null, body: {} });
      expect([status, headers.get('www-authenticate')]).toEqual([
        401,
        `Bearer realm="atmosphere-edge", resource_metadata="${METADATA}${path}", scope="device:read:* device:control:* sensor:read:*"`,
      ]);
    }
  });

  it('with a wrong token is told that it is invalid', async () => {
    const { httpApi } = makeHttpApi();
    const { headers } = await ask(httpApi, '/mcp', { token: 'guess', body: {} });
    expect(headers.get('www-authenticate')).toContain(`error="invalid_token", resource_metadata="${METADATA}/mcp"`);
  });

  it('reads the metadata without a token', async () => {
    const { httpApi } = makeHttpApi();
    for (const [path, resource] of [
      ['', ''],
      ['/mcp', '/mcp'],
      ['/mcp/areas/Kids%20room', '/mcp/areas/Kids%20room'],
    ]) {
      const { json } = await ask(httpApi, `/.well-known/oauth-protected-resource${path}`, { token: null });
      expect(json).toEqual({
        resource: `http://${HOST}${resource}`,
        resource_name: 'atmosphere-edge',
        authorization_servers: [`http://${HOST}`],
        bearer_methods_supported: ['header'],
        scopes_supported: ['device:read:*', 'device:control:*', 'sensor:read:*'],
      });
    }
  });

  it('reads of no authorization server where the owner has switched it off', async () => {
    const { httpApi } = makeHttpApi({ oauth: undefined });
    expect((await ask(httpApi, '/.well-known/oauth-protected-resource/mcp', { token: null })).json).not.toHaveProperty(
      'authorization_servers',
    );
    for (const path of ['/.well-known/oauth-authorization-server', '/oauth/authorize', '/oauth/token', '/api/v1/oauth/grants']) {
      expect((await ask(httpApi, path)).status).toBe(404);
    }
  });

  it('gets no challenge of its own at other routes', async () => {
    const { httpApi } = makeHttpApi();
    const { headers } = await ask(httpApi, '/api/v1/tools', { token: null });
    expect(headers.get('www-authenticate')).toBe('Bearer realm="atmosphere-edge"');
  });

  it('from another host or page is refused before anything else', async () => {
    const { httpApi } = makeHttpApi();
    expect((await ask(httpApi, '/mcp', { body: {}, headers: { origin: 'http://evil.example' } })).status).toBe(403);
    expect((await ask(httpApi, '/mcp', { body: {}, headers: { host: 'evil.example' } })).status).toBe(403);
  });

  it('with scopes narrowed to reading may not call', async () => {
    const { httpApi } = makeHttpApi();
    const { status, headers } = await ask(httpApi, '/mcp', { body: {}, headers: { 'x-caller-scopes': 'read_registry' } });
    expect([status, headers.get('www-authenticate')]).toEqual([403, expect.stringContaining('error="insufficient_scope"')]);
  });
});
