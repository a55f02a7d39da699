import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { sha256Hex } from '../../../src/codec/hashes.ts';
import { SESSION_RETENTION } from '../../../src/mcp/session-store.ts';
import { RunningHub } from '../running-hub.ts';

const HEADERS = { accept: 'application/json, text/event-stream', 'content-type': 'application/json', 'mcp-protocol-version': '2025-11-25' };
const OPENING = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } };

let stateDir: string;
let hub: RunningHub;
beforeAll(async () => {
  stateDir = mkdtempSync(join(tmpdir(), 'mcp-sessions-'));
  hub = await RunningHub.start({ stateDir, config: { matter: { enabled: false } } });
});
afterAll(async () => {
  await hub[Symbol.asyncDispose]();
  rmSync(stateDir, { recursive: true, force: true });
});

async function send(method: string, params: object, session?: string): Promise<Response> {
  const headers = { ...HEADERS, ...(session !== undefined && { 'mcp-session-id': session }) };
  return hub.request('/mcp', { method: 'POST', headers, body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }) });
}

async function begin(): Promise<string> {
  const answer = await send('initialize', OPENING);
  await answer.text();
  return answer.headers.get('mcp-session-id') ?? '';
}

async function ping(session: string) {
  const answer = await send('ping', {}, session);
  return { status: answer.status, text: await answer.text() };
}

/** What the files of the store hold; the hub lets nobody else open it. */
function written(): string {
  const files = readdirSync(stateDir).filter((name) => name.startsWith('state.db'));
  return files.map((name) => readFileSync(join(stateDir, name), 'latin1')).join();
}

test('a session outlives an orderly restart of the hub at once, and a kill once it was written', async () => {
  const first = await begin();
  expect(await hub.stop()).toBe(0);
  hub = await RunningHub.start({ stateDir });
  // Before anything else changes, so that the first write, soon after the start, has it; the next one comes half a minute later.
  const second = await begin();
  expect(await ping(first)).toMatchObject({ status: 200 });
  await expect.poll(() => written().includes(sha256Hex(second)), { timeout: SESSION_RETENTION.writeEveryMs + 15_000 }).toBe(true);
  const third = await begin();
  await hub.kill();
  hub = await RunningHub.start({ stateDir });
  expect(await ping(first)).toMatchObject({ status: 200 });
  expect(await ping(second)).toMatchObject({ status: 200 });
  expect(await ping(third)).toEqual({ status: 404, text: expect.stringContaining('There is no such session') });
});
