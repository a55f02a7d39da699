import { expect, test } from 'vitest';
import { McpHttpClient } from '../../../src/cli/mcp/http-client.ts';

/** A hub that refuses the first token with this code, and a credential that could get another. */
async function sentAfter(code: string) {
  const tokens: string[] = [];
  let renewals = 0;
  const door = new McpHttpClient({
    url: 'http://127.0.0.1:8081',
    path: '/mcp',
    fetch: async (_url, init) => {
      tokens.push(new Headers(init.headers).get('authorization') ?? '');
      return tokens.length === 1 ? Response.json({ code }, { status: 401 }) : Response.json({});
    },
    credential: { token: async () => `token-${renewals}`, hub: () => undefined, renew: async () => ++renewals > 0 },
  });
  const { status } = await door.send({ method: 'POST', message: {}, signal: new AbortController().signal });
  return { status, tokens };
}

test('an expired token is replaced, and the request is repeated', async () => {
  expect(await sentAfter('TOKEN_EXPIRED')).toEqual({ status: 200, tokens: ['Bearer token-0', 'Bearer token-1'] });
});

test('a revoked token is not made again', async () => {
  expect(await sentAfter('TOKEN_INVALID')).toEqual({ status: 401, tokens: ['Bearer token-0'] });
});
