import { describe, expect, test } from 'vitest';
import { AtmoError } from '../../../src/core/errors.ts';
import { AGENT_TOKEN, ask, makeHttpApi } from '../http-fixture.ts';

const ROUTES = [
  ['POST', '/api/v1/tokens', 'mint_token', { agent_id: 'a', permissions: ['x:y'] }, { agent_id: 'a', permissions: ['x:y'] }],
  ['GET', '/api/v1/tokens', 'list_tokens', undefined, {}],
  ['POST', '/api/v1/tokens/inspect', 'show_token', { token: 'at1.x' }, { token: 'at1.x' }],
  ['DELETE', '/api/v1/tokens/0a1b', 'revoke_token', undefined, { token_id: '0a1b' }],
  ['POST', '/api/v1/tokens/rotate-owner', 'rotate_owner', {}, {}],
  [
    'GET',
    '/api/v1/audit?since=1h&until=2026-01-02T00:00:00Z&agent=a&tool=t&request=r&kind=refusal&before=9&limit=5',
    'read_audit',
    undefined,
    {
      since: '2025-12-31T23:00:00.000Z',
      until: '2026-01-02T00:00:00.000Z',
      agent: 'a',
      tool: 't',
      request: 'r',
      kind: 'refusal',
      before: 9,
      limit: 5,
    },
  ],
  ['GET', '/api/v1/audit/head', 'audit_head', undefined, {}],
  ['POST', '/api/v1/audit/verify', 'verify_audit', { seq: 1, hash: 'x' }, { seq: 1, hash: 'x' }],
  ['POST', '/api/v1/audit/replay', 'replay_audit', { limit: 3 }, { limit: 3 }],
  ['GET', '/api/v1/rules', 'list_rules', undefined, {}],
  ['POST', '/api/v1/rules/test', 'test_rules', { tool: 'dim' }, { tool: 'dim' }],
  ['GET', '/api/v1/clock', 'clock_status', undefined, {}],
  ['POST', '/api/v1/clock', 'set_clock', { time: 'now' }, { time: 'now' }],
] as const;

describe('administration over HTTP', () => {
  test.each(ROUTES)('%s %s is the call of hub:%s', async (method, path, name, body, params) => {
    const { httpApi, addTool, audited } = makeHttpApi();
    const seen: unknown[] = [];
    addTool({
      name,
      namespace: 'hub',
      requires: { permissions: ['admin:hub'] },
      parameters: { type: 'object' },
      handler: async (given) => {
        seen.push(given);
        return { done: name };
      },
    });
    const answer = await ask(httpApi, path, { method, ...(body && { body }) });
    expect([answer.status, answer.json, seen]).toEqual([name === 'mint_token' ? 201 : 200, { done: name }, [params]]);
    expect(audited.map(({ kind }) => kind)).toEqual(['intent', 'outcome']);
    const other = await ask(httpApi, path, { method, token: AGENT_TOKEN, ...(body && { body }) });
    expect([other.status, other.json.code, seen.length]).toEqual([404, 'TOOL_NOT_FOUND', 1]);
  });

  test('a call that waits for people is a problem with status 202 and what it waits for', async () => {
    const { httpApi, addTool } = makeHttpApi();
    const details = { approval_id: 'a-1', expires_at: 'soon', needed: 1, given: 0 };
    addTool({
      name: 'rotate_owner',
      namespace: 'hub',
      handler: async () => {
        throw new AtmoError('APPROVAL_REQUIRED', 'A person has to agree', details);
      },
    });
    const answer = await ask(httpApi, '/api/v1/tokens/rotate-owner', { body: {} });
    expect([answer.status, answer.headers.get('content-type')]).toEqual([202, 'application/problem+json']);
    expect(answer.json).toMatchObject({ code: 'APPROVAL_REQUIRED', details, retryable: true });
  });

  test('a narrowed call reads and does not act', async () => {
    const { httpApi } = makeHttpApi();
    const headers = { 'x-caller-scopes': 'read_registry' };
    expect((await ask(httpApi, '/api/v1/rules', { headers })).json.code).toBe('TOOL_NOT_FOUND');
    expect((await ask(httpApi, '/api/v1/clock', { headers, body: {} })).json.code).toBe('PERMISSION_DENIED');
  });
});
