import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import createClient from 'openapi-fetch';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { pythonClient } from '../../scripts/package/python-client.ts';
import type { JsonObject } from '../../src/core/json.ts';
import { type LiveClient, legacyClient, modernClient } from './mcp/mcp-clients.ts';
import { RunningHub } from './running-hub.ts';

const PORT = '18471';
const URL_OF_HUB = `http://127.0.0.1:${PORT}`;
const hasPython = (() => {
  try {
    execFileSync('python3', ['-c', 'import sys; sys.exit(sys.version_info < (3, 9))']);
    return true;
  } catch {
    return false;
  }
})();

let dir: string;
let hub: RunningHub;
let token: string;
let clients: readonly LiveClient[];
let python: PythonProgram | undefined;
let typed: ReturnType<typeof createClient<Record<string, never>>>;

/** A program in Python that runs on while the hub does not. */
class PythonProgram implements AsyncDisposable {
  readonly events: JsonObject[] = [];
  readonly #process: ChildProcess;
  readonly #answers: ((answer: JsonObject) => void)[] = [];

  constructor(folder: string) {
    const program = join(import.meta.dirname, 'python-program.py');
    const env = { ...process.env, ATMO_TOKEN: token, PYTHONWARNINGS: 'error' };
    this.#process = spawn('python3', [program, URL_OF_HUB, folder], { env, stdio: ['pipe', 'pipe', 'inherit'] });
    if (!this.#process.stdout) throw new TypeError('The program has no output');
    createInterface({ input: this.#process.stdout }).on('line', (line) => {
      const said = JSON.parse(line) as JsonObject;
      if ('event' in said) this.events.push(said);
      else this.#answers.shift()?.(said);
    });
  }

  ask(name: string, ...args: readonly unknown[]): Promise<JsonObject> {
    const { promise, resolve } = Promise.withResolvers<JsonObject>();
    this.#answers.push(resolve);
    this.#process.stdin?.write(`${JSON.stringify([name, args])}\n`);
    return promise;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#process.stdin?.end();
    if (this.#process.exitCode === null) await once(this.#process, 'exit');
  }
}

const start = () =>
  RunningHub.start({ stateDir: join(dir, 'state'), config: { matter: { enabled: false } }, env: { ATMO_HTTP_PORT: PORT } });

async function registerTool(id: string): Promise<void> {
  const steps = [{ tool: 'echo', params: { value: { $param: 'said' } } }];
  const body = JSON.stringify({ id, name: id, description: 'Says it again.', input_schema: { said: 'string' }, steps });
  const answer = await hub.request('/api/v1/tools', { method: 'POST', headers: { 'content-type': 'application/json' }, body });
  expect(await answer.text()).toContain(id);
}

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'clients-restart-'));
  hub = await start();
  token = readFileSync(join(dir, 'state/owner.token'), 'utf8').trim();
  if (hasPython) {
    writeFileSync(join(dir, 'atmosphere_edge.py'), pythonClient((await hub.get('/openapi.json')) as JsonObject));
    python = new PythonProgram(dir);
  }
  const way = { kind: 'http', url: `${URL_OF_HUB}/mcp`, token } as const;
  clients = await Promise.all([legacyClient(way), modernClient(way)]);
  typed = createClient<Record<string, never>>({ baseUrl: URL_OF_HUB, headers: { authorization: `Bearer ${token}` } });
});
afterAll(async () => {
  await python?.[Symbol.asyncDispose]();
  for (const client of clients ?? []) await client.close().catch(() => undefined);
  await hub[Symbol.asyncDispose]();
  rmSync(dir, { recursive: true, force: true });
});

describe.skipIf(!hasPython)('the Python client (which needs python3 3.9 or newer)', () => {
  test('lists, calls, follows events and raises typed errors', async () => {
    expect(await python?.ask('call', 'core:echo', { value: 'hello' })).toEqual({ result: 'hello' });
    expect(await python?.ask('call', 'core:echo', { nonsense: 1 })).toMatchObject({ class: 'WrongRequest', error: 'VALIDATION_ERROR' });
    expect(await python?.ask('call', 'core:no_such', {})).toMatchObject({ class: 'WrongRequest', error: 'TOOL_NOT_FOUND' });
    expect(await python?.ask('read', 'nothing/here')).toMatchObject({ class: 'WrongRequest', error: 'SENSOR_NOT_FOUND' });
    expect(await python?.ask('get_device', 'nothing')).toMatchObject({ class: 'WrongRequest', error: 'DEVICE_NOT_FOUND' });
    expect(await python?.ask('approvals')).toEqual({ result: [] });
    expect(JSON.stringify(await python?.ask('tools'))).toContain('core:echo@');
    const dangerous = await python?.ask('rotate_owner_token', {});
    expect(dangerous).toMatchObject({ class: 'ApprovalRequired', details: { approval_id: expect.any(String) } });
    const job = await python?.ask('start', 'hub:verify_audit');
    expect(job).toEqual({ result: expect.any(String) });
    expect(await python?.ask('wait', job?.result)).toMatchObject({ result: expect.any(Object) });
    await registerTool('first');
    await expect
      .poll(() => python?.events.map(({ event }) => event), { timeout: 10_000 })
      .toEqual(expect.arrayContaining([expect.stringMatching(/created|discovered/)]));
  });
});

test('a hub that is killed and started again is used on by every client, without a restart of their programs', async () => {
  for (const client of clients) expect((await client.tools()).length).toBeGreaterThan(0);
  const { response } = await typed.GET('/healthz' as never);
  expect(response.status).toBe(200);
  const known = python?.events.length ?? 0;
  // A session is stored a second after it begins.
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  await hub.kill();
  const waiting = python?.ask('call', 'core:echo', { value: 'again' });
  await expect(typed.GET('/healthz' as never)).rejects.toThrow();
  hub = await start();
  if (python) expect(await waiting).toEqual({ result: 'again' });
  expect((await typed.GET('/healthz' as never)).response.status).toBe(200);
  for (const client of clients) {
    expect((await client.tools()).length).toBeGreaterThan(0);
    expect(await client.call('home_overview')).not.toMatchObject({ isError: true });
  }
  if (!python) return;
  await expect.poll(() => python?.events.slice(known).map(({ event }) => event), { timeout: 15_000 }).toContain('gap');
  const missed = python.events.length;
  await registerTool('second');
  await expect
    .poll(() => python?.events.slice(missed).map(({ event }) => event), { timeout: 10_000 })
    .toEqual(expect.arrayContaining([expect.stringMatching(/created|discovered/)]));
});

test('a reader of events by the rules of EventSource is told that events are missing, and gets those that follow', async () => {
  const before = await firstMessages('', 0);
  expect(before).toContain('retry: 2000');
  const text = await firstMessages('an-event-of-the-process-before', 1);
  expect(text).toMatch(/event: gap\ndata: \{"last_event_id":"an-event-of-the-process-before"\}/);
});

/** Reads the stream until it has the retry time and `messages` messages. */
async function firstMessages(lastEventId: string, messages: number): Promise<string> {
  const abort = new AbortController();
  const headers = lastEventId === '' ? {} : { 'last-event-id': lastEventId };
  const { body } = await hub.request('/api/v1/events', { headers, signal: abort.signal });
  let text = '';
  for await (const chunk of body ?? []) {
    text += Buffer.from(chunk).toString();
    if (text.includes('retry:') && text.split('\nevent: ').length + (text.startsWith('event: ') ? 1 : 0) > messages) break;
  }
  abort.abort();
  return text;
}
