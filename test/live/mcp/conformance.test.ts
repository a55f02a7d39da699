import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ConformanceHub } from './conformance-hub.ts';
import { conformance, inspector, MISSING_CHECKS } from './foreign-checks.ts';
import { legacyClient, modernClient } from './mcp-clients.ts';

const LIMIT_MS = 300_000;
/**
 * What the suite has beside the requirements of a revision, with the checks that this hub does not pass: the extension for tasks, and
 * what the suite's own server cannot do yet. The suite runs it with the rest, and fails for none.
 */
const BESIDE: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  '2025-11-25': {},
  '2026-07-28': {
    // What goes wrong inside a tool is its result, with isError; no task of this hub fails by the protocol.
    'tasks-lifecycle': ['sep-2663-tasks-get-status-failed'],
    'tasks-capability-negotiation': [],
    'tasks-wire-fields': [],
    'tasks-request-state-removal': [],
    // A tool asks within its call and waits there for the answers; what becomes a task asks nothing.
    'tasks-mrtr-input': ['sep-2663-tasks-get-status-input-required', 'tasks-mrtr-tasks-update-resumes', 'tasks-mrtr-partial-fulfillment'],
    'tasks-request-headers': [],
    'tasks-dispatch-and-envelope': [],
    // No tool needs tasks: each answers other clients as well, with its result or with the id of a job.
    'tasks-required-task-error': ['sep-2663-server-returns-missing-capability-when-required'],
    'tasks-mrtr-composition': ['sep-2663-mrtr-synchronous-before-task-creation'],
    // Some servers of models refuse a whole request for conditions at the root of parameters. Calls are held against the tool's own schema.
    'json-schema-2020-12': ['sep-2106-composition-keywords-preserved', 'sep-2106-conditional-keywords-preserved'],
    'http-header-validation': [],
    'http-custom-header-server-validation': [],
  },
};
if (MISSING_CHECKS !== undefined) console.warn(`skipped: ${MISSING_CHECKS}`);

let lab: ConformanceHub;
beforeAll(async () => {
  lab = await ConformanceHub.start();
});
afterAll(() => lab[Symbol.asyncDispose]());

describe.skipIf(MISSING_CHECKS !== undefined)('programs of others', () => {
  test.each(Object.entries(BESIDE))(
    'the conformance suite finds what %s requires and what it has beside',
    async (revision, beside) => {
      const { code, text, results } = await conformance(lab.openUrl, revision);
      expect(code, text.slice(-6_000)).toBe(0);
      expect(text).toContain('tools-call-image');
      const found = Object.keys(beside).map((name) => [name, results[name]?.failed]);
      expect(Object.fromEntries(found), text.slice(-6_000)).toEqual(beside);
      expect(Object.keys(beside).filter((name) => !results[name]?.passed)).toEqual([]);
    },
    LIMIT_MS,
  );

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
