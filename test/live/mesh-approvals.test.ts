import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { fakeClockLibrary } from '../../scripts/network-lab/debian-tool.ts';
import type { CallAnswer } from '../../src/calls/request-and-answer.ts';
import { openApproverKey, ownerDecision, rawKeyOf, readApproverKey, signedDecision } from '../../src/cli/identity/approver-key.ts';
import type { JsonObject } from '../../src/core/json.ts';
import { MAIN } from './main-program.ts';
import type { DoorAnswer, RequestWish } from './mesh/host-door.ts';
import { LabMesh } from './mesh/lab-mesh.ts';
import type { MeshHub } from './mesh/mesh-hub.ts';
import { until } from './mesh/until.ts';

const CLI_PORT = '18085';
const INVITE = { permissions: ['*', 'admin:approvals'] };
const OPEN_GATE = '/api/v1/tools/lab:open_gate/invoke';
const CLOCK = fakeClockLibrary();
const KNOWN_LIMIT_MS = 30_000;

const GATE = `
import { appendFileSync } from 'node:fs';

export function createTool({ file }) {
  return {
    definition: {
      name: 'open_gate',
      namespace: 'lab',
      description: 'Opens the gate of the yard.',
      parameters: {
        type: 'object',
        required: ['visitor'],
        properties: { visitor: { type: 'string', description: 'Who comes in' } },
        additionalProperties: false,
      },
      permissions: ['lab:gate'],
      execution: { timeout_ms: 10000, idempotent: false, side_effects: true, async_allowed: true },
      metadata: { dangerous: true },
    },
    async execute({ visitor }) {
      appendFileSync(file, visitor + '\\n');
      return { visitor };
    },
  };
}`;

let mesh: LabMesh;
/** Has the gate. */
let a: MeshHub;
/** Has the callers. */
let b: MeshHub;
let cook: string;
let guest: string;
let ann: string;

beforeAll(async () => {
  mesh = await new LabMesh().start();
  const [yard, house] = await mesh.lab.addHosts(2);
  if (!yard || !house) throw new Error('The lab has no hosts');
  writeFileSync(join(mesh.dir, 'gate.mjs'), GATE, { mode: 0o600 });
  const entry = { name: 'open_gate', source: 'file:./gate.mjs', config: { file: join(mesh.dir, 'gate.log') } };
  writeFileSync(join(mesh.dir, 'gate.yaml'), JSON.stringify({ tools: [entry] }), { mode: 0o600 });
  [a, b] = await Promise.all([
    mesh.addHub(yard, { config: { tools: { manifest: join(mesh.dir, 'gate.yaml') } } }),
    mesh.addHub(house, { env: { ATMO_HTTP_PORT: CLI_PORT } }),
  ]);
  await a.result('hub:mesh_create', { passphrase: 'a passphrase for the lab' });
  const { invite } = await a.result('hub:mesh_invite', INVITE);
  await b.result('hub:mesh_join', { invite: String(invite) });
  await knowsGate();
  cook = await agentOf('cook', ['*']);
  guest = await agentOf('guest', ['*']);
  mkdirSync(join(mesh.dir, 'ann'));
  ann = join(mesh.dir, 'ann/approver.key');
  await a.result('hub:enroll_approver', { person: 'ann', key: rawKeyOf(openApproverKey(ann)) });
});
afterAll(() => mesh?.[Symbol.asyncDispose]());

async function knowsGate(): Promise<void> {
  const ask = async () => (await b.peer(a))?.isReachable && (await b.door.send('/api/v1/tools/lab:open_gate')).status === 200;
  await until(KNOWN_LIMIT_MS, ask, 'the gate to be known');
}

async function agentOf(id: string, permissions: readonly string[]): Promise<string> {
  const { token } = await b.result('hub:mint_token', { agent_id: id, permissions: [...permissions], ttl_seconds: 7_200 });
  return String(token);
}

/** Visitors who were let in. */
function openings(): readonly string[] {
  const file = join(mesh.dir, 'gate.log');
  return existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : [];
}

/** Asks hub B to open the gate of hub A. */
async function open(visitor: string, token?: string): Promise<{ readonly status: number; readonly answer: CallAnswer }> {
  const headers = { 'idempotency-key': `let ${visitor} in`.replaceAll(' ', '-') };
  const { status, body } = await b.door.send(OPEN_GATE, { visitor }, { headers, ...(token !== undefined && { token }) });
  return { status, answer: body as unknown as CallAnswer };
}

/** The id of the request that asking has made. */
async function asked(visitor: string, token?: string): Promise<string> {
  const { answer } = await open(visitor, token);
  expect(answer).toMatchObject({ error: { code: 'APPROVAL_REQUIRED' } });
  return answer.status === 'error' ? String(answer.error.details.approval_id) : '';
}

/** The same as a request of its own, not as a repetition. */
async function openAnew(visitor: string, token: string): Promise<{ readonly answer: CallAnswer }> {
  const { body } = await b.door.send(OPEN_GATE, { visitor }, { token });
  return { answer: body as unknown as CallAnswer };
}

/** A job with which hub B asks hub A to open the gate once people have agreed. */
async function waitingJob(visitor: string, token: string): Promise<JsonObject> {
  return (await b.door.send(`${OPEN_GATE}?async=true&wait_for_approval=true`, { visitor }, { token })).body as JsonObject;
}

/** The job as hub B tells it. */
async function jobOf({ job_id: id }: JsonObject, token: string): Promise<JsonObject> {
  return (await b.door.send(`/api/v1/jobs/${id}`, undefined, { token })).body as JsonObject;
}

/** What hub B answers to a request that is meant for hub A. */
function atA(path: string, body?: JsonObject, wish: RequestWish = {}): Promise<DoorAnswer> {
  return b.door.send(path, body, { ...wish, headers: { 'x-hub': a.name } });
}

/** `atmo` beside hub B, as its owner, with an approver key in the home. */
function atmo(...argv: readonly string[]): Promise<{ readonly code: number; readonly json: JsonObject }> {
  const environment = { PATH: process.env.PATH, HOME: join(mesh.dir, 'ann'), ATMO_STATE_DIR: b.stateDir, ATMO_HTTP_PORT: CLI_PORT };
  const [command, ...args] = b.host.command([process.execPath, MAIN, ...argv, '--json']);
  return new Promise((resolve) => {
    execFile(command, args, { env: environment, timeout: 60_000 }, (error, stdout, stderr) => {
      const code = typeof error?.code === 'number' ? error.code : 0;
      resolve({ code, json: stdout === '' ? { stderr } : (JSON.parse(stdout) as JsonObject) });
    });
  });
}

const codeOf = ({ answer }: { readonly answer: CallAnswer }): string => (answer.status === 'error' ? answer.error.code : 'success');

describe('a dangerous tool of another hub', () => {
  test('asks the people of that hub, with the answer that it gives its own callers', async () => {
    const own = await a.door.send(OPEN_GATE, { visitor: 'the postman' });
    const { status, answer } = await open('the postman', cook);
    expect([own.status, status]).toEqual([202, 202]);
    const details = (from: unknown) => (from as { error: { details: JsonObject } }).error.details;
    expect(Object.keys(details(answer)).sort()).toEqual([...Object.keys(details(own.body)), 'node_id', 'node_name'].sort());
    expect(details(answer)).toMatchObject({ node_id: a.id, node_name: expect.any(String), needed: 1, given: 0 });
    expect(answer).toMatchObject({ error: { message: expect.stringMatching(/, by people of the hub \S+$/) } });
    expect(await b.get('/api/v1/approvals')).toEqual({ approvals: [] });
    expect(openings()).toEqual([]);
  });

  test('shows its requests to who asked and to who administers approvals there, and to nobody else', async () => {
    const id = await asked('the baker', cook);
    const seen = async (token?: string) => {
      const { body } = await atA('/api/v1/approvals', undefined, token === undefined ? {} : { token });
      return JSON.stringify(body).includes(id);
    };
    expect([await seen(cook), await seen(), await seen(guest)]).toEqual([true, true, false]);
    expect(await atA(`/api/v1/approvals/${id}`, undefined, { token: guest })).toMatchObject({ status: 404, body: { code: 'NOT_FOUND' } });
    expect(await atA(`/api/v1/approvals/${id}`)).toMatchObject({ body: { approval_id: id, hub: a.id, agent_id: `cook@${b.id}` } });
    const { json } = await atmo('approvals', '--hub', a.name);
    expect(JSON.stringify(json)).toContain(id);
  });

  test('runs once after a person of that hub has signed at this one', async () => {
    const id = await asked('the gardener', cook);
    expect(await atmo('approve', id, '--hub', a.name, '--key-file', ann)).toMatchObject({ code: 0, json: { state: 'approved', given: 1 } });
    expect(codeOf(await open('the gardener', guest))).toBe('APPROVAL_REQUIRED');
    const [first, again] = [await open('the gardener', cook), await open('the gardener', cook)];
    expect(first).toMatchObject({ status: 200, answer: { result: { visitor: 'the gardener' }, execution: { node_id: a.id } } });
    expect(again).toEqual(first);
    expect(openings()).toEqual(['the gardener']);
    expect(codeOf(await openAnew('the gardener', cook))).toBe('APPROVAL_REQUIRED');
  });

  test('stays shut after a denial', async () => {
    const id = await asked('a salesman', cook);
    expect(await atmo('deny', id, '--hub', a.name, '--key-file', ann)).toMatchObject({ code: 0, json: { state: 'denied' } });
    expect(codeOf(await open('a salesman', cook))).toBe('PERMISSION_DENIED');
    expect(await atmo('approve', id, '--hub', a.name, '--key-file', ann)).toMatchObject({ json: { error: { code: 'CONFLICT' } } });
    expect(openings()).not.toContain('a salesman');
  });

  test('waits there as a job, shows its people who asks, outlives that hub, and runs once when a person agrees', async () => {
    const job = await waitingJob('the nurse', cook);
    expect(job).toMatchObject({ status: 'waiting', node_id: a.id, node_name: a.name, waits_until: expect.any(String) });
    const { notices } = (await a.get('/api/v1/notices')) as { readonly notices: readonly JsonObject[] };
    expect(JSON.stringify(notices)).toContain(`cook of the hub \\"${b.name}\\" wants: `);
    const path = `/api/v1/approvals/${job.approval_id}`;
    expect(await a.get(path)).toMatchObject({ agent_id: `cook@${b.id}`, runs_when_approved: true, expires_at: job.waits_until });
    await a.kill();
    await a.start();
    await knowsGate();
    expect(await jobOf(job, cook)).toMatchObject({ status: 'waiting', node_id: a.id });
    expect(await atmo('approve', String(job.approval_id), '--hub', a.name, '--key-file', ann)).toMatchObject({ code: 0 });
    await until(KNOWN_LIMIT_MS, async () => (await jobOf(job, cook)).status === 'succeeded', 'the gate to be opened');
    expect(openings().filter((visitor) => visitor === 'the nurse')).toHaveLength(1);
  });

  test('ends a job that waits there when a person denies it, or when its token was revoked here', async () => {
    const denied = await waitingJob('a thief', cook);
    expect(await atmo('deny', String(denied.approval_id), '--hub', a.name, '--key-file', ann)).toMatchObject({ code: 0 });
    await until(KNOWN_LIMIT_MS, async () => (await jobOf(denied, cook)).status === 'failed', 'the job to end');
    expect(await jobOf(denied, cook)).toMatchObject({ error: { code: 'PERMISSION_DENIED' } });
    const temp = await b.result('hub:mint_token', { agent_id: 'temp', permissions: ['*'] });
    const job = await waitingJob('a ghost', String(temp.token));
    await b.result('hub:revoke_token', { token_id: String(temp.token_id) });
    const ended = async () => ((await a.get(`/api/v1/jobs/${job.job_id}`)) as JsonObject).status === 'failed';
    await until(KNOWN_LIMIT_MS, ended, 'the revocation to end the job');
    expect(openings()).not.toContain('a thief');
    expect(openings()).not.toContain('a ghost');
  });

  test('is not opened by the word of people of this hub, its owner among them', async () => {
    const ben = openApproverKey(join(mesh.dir, 'ben.key'));
    await b.result('hub:enroll_approver', { person: 'ben', key: rawKeyOf(ben) });
    const id = await asked('the owner of B');
    const path = `/api/v1/approvals/${id}`;
    const request = (await atA(path)).body as JsonObject;
    expect(request).toMatchObject({ agent_id: `owner@${b.id}` });
    // The command line does not even offer the owner's key there.
    expect(ownerDecision(request, b.stateDir)).toBeUndefined();
    const ownKey = readApproverKey(join(b.stateDir, 'owner.key'));
    const words = [
      signedDecision(request, { decision: 'approve', person: 'owner', key: ownKey }),
      signedDecision(request, { decision: 'approve', person: `owner@${b.id}`, key: ownKey }),
      signedDecision(request, { decision: 'approve', person: 'ben', key: ben }),
      signedDecision(request, { decision: 'approve', person: 'ann', key: ben }),
      signedDecision({ ...request, hub: b.id }, { decision: 'approve', person: 'ann', key: readApproverKey(ann) }),
    ];
    for (const word of words) expect(await atA(path, word)).toMatchObject({ status: 403, body: { code: 'PERMISSION_DENIED' } });
    expect(codeOf(await open('the owner of B'))).toBe('APPROVAL_REQUIRED');
    expect(openings()).not.toContain('the owner of B');
  });

  test('takes the signature of an enrolled person from an agent only with the right to hand it in', async () => {
    const id = await asked('the plumber', cook);
    const path = `/api/v1/approvals/${id}`;
    const word = signedDecision((await atA(path)).body as JsonObject, { decision: 'approve', person: 'ann', key: readApproverKey(ann) });
    expect((await atA(path, word, { token: cook })).status).toBe(404);
    expect((await atA(path, word, { token: await agentOf('clerk', ['*', 'admin:approvals']) })).body).toMatchObject({ state: 'approved' });
    expect(codeOf(await open('the plumber', cook))).toBe('success');
  });

  test('and both journals can prove it', async () => {
    const rowsOf = async (hub: MeshHub) => JSON.stringify(await hub.get('/api/v1/audit?limit=500'));
    const [there, here] = [await rowsOf(a), await rowsOf(b)];
    for (const note of ['approval.requested', 'approval.given', 'approval.used', 'approval.denied', `cook@${b.id}`, '"person":"ann"'])
      expect(there).toContain(note);
    expect(here).toContain('lab:open_gate');
    expect(here).toContain(a.id);
    const notes = (JSON.parse(here) as { rows: JsonObject[] }).rows
      .filter(({ kind }) => kind === 'note')
      .map((note) => JSON.stringify(note));
    expect(notes.filter((note) => note.includes('"event":"approval.') && note.includes('lab:open_gate'))).toEqual([]);
    // What ann has signed is evidence where it counts, and a secret where it passed by.
    const signatures = [...there.matchAll(/"signature":"(hE[\w-]{100,})"/g)].map(([, text]) => text ?? '');
    expect(signatures.length).toBeGreaterThanOrEqual(3);
    for (const signature of signatures) expect(here).not.toContain(signature);
  });

  test.skipIf(CLOCK === undefined)('does not wait for people longer than ten minutes', async () => {
    const id = await asked('a late guest', cook);
    await Promise.all([a.stop(), b.stop()]);
    const later = { LD_PRELOAD: CLOCK ?? '', FAKETIME: '+660s', FAKETIME_DONT_FAKE_MONOTONIC: '1' };
    await Promise.all([a.start(later), b.start(later)]);
    await knowsGate();
    expect(await atmo('approve', id, '--hub', a.name, '--key-file', ann)).toMatchObject({ json: { error: { code: 'CONFLICT' } } });
    expect(await asked('a late guest', cook)).not.toBe(id);
    expect(openings()).not.toContain('a late guest');
  });
});
