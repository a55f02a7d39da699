import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { CliIo } from '../../../src/cli/cli-io.ts';
import { agentOfSettings } from '../../../src/cli/mcp/host-settings.ts';
import type { JsonObject } from '../../../src/core/json.ts';
import { atmo, withDirectory } from '../cli-fixture.ts';

const HUB = 'http://127.0.0.1:8081';
const CODE = 'AAAA-BBBB';
const ENDED = { error: { code: 'TOKEN_INVALID', message: 'This sign-in has ended', details: {}, retryable: false } };

/** A hub that takes an invitation and mints tokens. `asked` gets the path of each request. */
function invitingHub({ endsSignIn = false } = {}) {
  const asked: string[] = [];
  const answers: Readonly<Record<string, JsonObject>> = {
    '/api/v1/sign-ins/challenge': { challenge: 'c' },
    '/api/v1/sign-ins': { person: 'ann', token: 'at1.ann', sign_in_id: 's1', expires_at: '2100-01-01T00:00:00.000Z' },
    '/api/v1/tools/spawn_agent/invoke': {
      status: 'success',
      result: { agent_id: 'ann/desktop', token: 'at1.agent', expires_at: '2100-01-01T00:00:00.000Z' },
    },
  };
  const fetch: CliIo['fetch'] = async (url) => {
    const { pathname } = new URL(url);
    asked.push(pathname);
    if (endsSignIn && pathname === '/api/v1/tools') return Response.json(ENDED, { status: 401 });
    return Response.json(answers[pathname] ?? {});
  };
  return { asked, fetch };
}

describe('the settings of a host', () => {
  test('sign in with the invitation at the first start alone, and make a token for the agent', async () => {
    await withDirectory(async (dir) => {
      const { asked, fetch } = invitingHub();
      const env = { HOME: dir, ATMO_URL: HUB, ATMO_FINGERPRINT: '', ATMO_INVITATION: CODE, ATMO_TOKEN: '', ATMO_AGENT: 'desktop' };
      expect(await atmo(['mcp'], { env, fetch })).toMatchObject({ code: 0, out: '', err: expect.stringContaining('signed in') });
      expect(asked).toEqual(['/api/v1/sign-ins/challenge', '/api/v1/sign-ins', '/api/v1/tools/spawn_agent/invoke']);
      expect(await atmo(['mcp'], { env, fetch })).toMatchObject({ code: 0, err: '' });
      expect(asked.slice(3)).toEqual(['/api/v1/tools']);
      const folder = join(dir, '.config/atmosphere-edge');
      expect(JSON.parse(readFileSync(join(folder, 'agents/desktop.json'), 'utf8'))).toMatchObject({ agent_id: 'ann/desktop' });
      const elsewhere = { ...env, ATMO_URL: 'http://127.0.0.1:9999' };
      expect(await atmo(['mcp'], { env: elsewhere, fetch })).toMatchObject({
        code: 2,
        err: expect.stringContaining(`signed in at ${HUB}`),
      });
      expect(asked).toHaveLength(4);
    });
  });

  test('sign in anew where the hub has ended the sign-in, so that a new invitation in the settings is enough', async () => {
    await withDirectory(async (dir) => {
      const env = { HOME: dir, ATMO_URL: HUB, ATMO_INVITATION: CODE, ATMO_AGENT: 'desktop' };
      await atmo(['mcp'], { env, fetch: invitingHub().fetch });
      const { asked, fetch } = invitingHub({ endsSignIn: true });
      const again = await atmo(['mcp'], { env: { ...env, ATMO_INVITATION: 'CCCC-DDDD' }, fetch });
      expect(again).toMatchObject({ code: 0, err: expect.stringContaining('signed in') });
      expect(asked.slice(0, 3)).toEqual(['/api/v1/tools', '/api/v1/sign-ins/challenge', '/api/v1/sign-ins']);
    });
  });

  test('send an invitation to no hub over a network in clear', async () => {
    await withDirectory(async (dir) => {
      const { asked, fetch } = invitingHub();
      const env = { HOME: dir, ATMO_URL: 'http://192.168.1.20:8081', ATMO_INVITATION: CODE, ATMO_AGENT: 'desktop' };
      expect(await atmo(['mcp'], { env, fetch })).toMatchObject({ code: 2, err: expect.stringContaining('https://') });
      expect(asked).toEqual([]);
    });
  });

  test('with a fingerprint and an address without TLS are refused, since nothing would be compared', async () => {
    await withDirectory(async (dir) => {
      const { asked, fetch } = invitingHub();
      const env = { HOME: dir, ATMO_URL: HUB, ATMO_FINGERPRINT: 'AB'.repeat(32), ATMO_INVITATION: CODE };
      expect(await atmo(['mcp'], { env, fetch })).toMatchObject({ code: 2, err: expect.stringContaining('leave the fingerprint out') });
      const line = ['login', HUB, '--fingerprint', 'AB'.repeat(32)];
      expect(await atmo(line, { env: { HOME: dir }, fetch })).toMatchObject({ code: 2, err: expect.stringContaining('take https://') });
      expect(asked).toEqual([]);
    });
  });

  test('with a token use that token, whatever the name of the agent is', () => {
    expect(agentOfSettings({ ATMO_TOKEN: 'at1.x', ATMO_AGENT: 'desktop' })).toBeUndefined();
    expect(agentOfSettings({ ATMO_TOKEN: '', ATMO_AGENT: 'desktop' })).toBe('desktop');
    expect(agentOfSettings({ ATMO_TOKEN: '', ATMO_AGENT: '' })).toBeUndefined();
  });
});
