import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ConformanceHub } from './conformance-hub.ts';
import { conformance, inspector, MISSING_CHECKS } from './foreign-checks.ts';
import { legacyClient, modernClient } from './mcp-clients.ts';

const LIMIT_MS = 300_000;
if (MISSING_CHECKS !== undefined) console.warn(`skipped: ${MISSING_CHECKS}`);

let lab: ConformanceHub;
beforeAll(async () => {
  lab = await ConformanceHub.start();
});
afterAll(() => lab[Symbol.asyncDispose]());

describe.skipIf(MISSING_CHECKS !== undefined)('programs of others', () => {
  test.each(['2025-11-25', '2026-07-28'])('the conformance suite finds what %s requires', { timeout: LIMIT_MS }, async (revision) => {
    const { code, text } = await conformance(lab.openUrl, revision);
    expect(code, text.slice(-6_000)).toBe(0);
    expect(text).toContain('tools-call-image');
  });

  test.each(['/mcp', '/mcp/devices'])('the inspector finds no mistake in the schemas of %s', { timeout: LIMIT_MS }, async (path) => {
    const { code, text } = await inspector(`${lab.hub.url}${path}`, lab.token, ['--strict', '--method', 'tools/list']);
    expect(code, text.slice(-4_000)).toBe(0);
    expect(text).toContain(path === '/mcp' ? 'search_tools' : 'test_simple_text');
  });

  test('the inspector calls a tool', { timeout: LIMIT_MS }, async () => {
    const words = ['--method', 'tools/call', '--tool-name', 'read_tool', '--tool-arg', 'name=test_simple_text'];
    expect((await inspector(`${lab.hub.url}/mcp`, lab.token, words)).text).toContain('simple text response');
  });
});

describe.each([
  ['2026-07-28', modernClient],
  ['2025-11-25', legacyClient],
] as const)('a client of %s', (_era, connect) => {
  test('cancels a call on the hub by giving it up', async () => {
    const client = await connect({ kind: 'http', url: `${lab.hub.url}/mcp/devices`, token: lab.token });
    const waits = async () => (await client.call('test_cancelled')).structuredContent as { begun: number; cancelled: number };
    const before = await waits();
    const enough = new AbortController();
    const given = expect(client.call('test_waiting', {}, enough.signal)).rejects.toThrow();
    await expect.poll(waits).toMatchObject({ begun: before.begun + 1 });
    enough.abort();
    await given;
    await expect.poll(waits).toMatchObject({ cancelled: before.cancelled + 1 });
    await client.close();
  });
});
