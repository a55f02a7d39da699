import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { CallAnswer } from '../../src/calls/request-and-answer.ts';
import { openApproverKey, rawKeyOf } from '../../src/cli/identity/approver-key.ts';
import { type JsonObject, objectOf } from '../../src/core/json.ts';
import { MAIN } from './main-program.ts';
import { RunningHub } from './running-hub.ts';

const PORT = '18085';
const RULES = `rules:
  - { name: two for approvers, effect: approve, persons: 2, when: { tool: "hub:enroll_approver" } }
  - { name: ask before a sequence, effect: approve, when: { tool: "core:sequence" } }
`;

let dir: string;
let hub: RunningHub;
let agentToken: string;
let ben: JsonObject;

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'approvals-live-'));
  for (const folder of ['state', 'owner', 'ann']) mkdirSync(join(dir, folder), { mode: 0o700 });
  writeFileSync(join(dir, 'config.yaml'), 'matter:\n  enabled: false\n');
  ben = { person: 'ben', key: rawKeyOf(openApproverKey(join(dir, 'ben.key'))), label: 'phone' };
  hub = await start();
});
afterAll(async () => {
  await hub[Symbol.asyncDispose]();
  rmSync(dir, { recursive: true, force: true });
});

function start(): Promise<RunningHub> {
  return RunningHub.start({
    stateDir: join(dir, 'state'),
    env: { ATMO_HTTP_PORT: PORT, ATMO_CONFIG: join(dir, 'config.yaml'), HOME: join(dir, 'owner') },
  });
}

async function powerCut(): Promise<void> {
  await hub.kill();
  hub = await start();
}

/** `atmo` as a process of its own, in somebody's home. */
function atmo(home: string, ...argv: readonly string[]): Promise<{ code: number; json: JsonObject }> {
  const env = { PATH: process.env.PATH, HOME: join(dir, home), ATMO_STATE_DIR: join(dir, 'state'), ATMO_HTTP_PORT: PORT };
  return new Promise((resolve) => {
    execFile(process.execPath, [MAIN, ...argv, '--json'], { env, timeout: 60_000 }, (error, stdout, stderr) => {
      const code = typeof error?.code === 'number' ? error.code : 0;
      resolve({ code, json: stdout === '' ? { stderr } : (JSON.parse(stdout) as JsonObject) });
    });
  });
}

async function asAgent(params: JsonObject): Promise<CallAnswer> {
  const headers = { authorization: `Bearer ${agentToken}`, 'content-type': 'application/json' };
  const path = '/api/v1/tools/hub%3Aenroll_approver/invoke';
  return (await (await hub.request(path, { method: 'POST', headers, body: JSON.stringify(params) })).json()) as CallAnswer;
}

/** Starts a sequence as a job that waits for approval. */
async function waitingJob(value: string): Promise<JsonObject> {
  const headers = { authorization: `Bearer ${agentToken}`, 'content-type': 'application/json' };
  const path = '/api/v1/tools/sequence/invoke?async=true&wait_for_approval=true';
  const body = JSON.stringify({ steps: [{ tool: 'echo', params: { value } }] });
  return (await (await hub.request(path, { method: 'POST', headers, body })).json()) as JsonObject;
}

const jobOf = async ({ job_id: id }: JsonObject) => objectOf(await hub.get(`/api/v1/jobs/${id}`));

const codeOf = (answer: CallAnswer): string => (answer.status === 'error' ? answer.error.code : 'success');

describe('approvals on a running hub', () => {
  test('the first start makes the key with which the owner agrees; the token alone gets nothing done', async () => {
    expect(statSync(join(dir, 'state/owner.key')).mode & 0o777).toBe(0o600);
    const raw = { approve: false } as const;
    expect(codeOf(await hub.call('hub:enroll_approver', ben, raw))).toBe('APPROVAL_REQUIRED');
    expect(codeOf(await hub.call('hub:enroll_approver', ben, raw))).toBe('APPROVAL_REQUIRED');
    expect(await hub.get('/api/v1/approvers')).toMatchObject({ approvers: [{ person: 'owner' }] });
  });

  test('a login gives a person a token and an approver key', async () => {
    expect(await atmo('owner', 'login', '--person', 'nobody-yet')).toMatchObject({ code: 0 });
    rmSync(join(dir, 'owner/.config'), { recursive: true });
    expect(await atmo('ann', 'login', '--person', 'ann')).toMatchObject({ code: 0, json: { person: 'ann' } });
    expect((await atmo('ann', 'approvers')).json).toMatchObject({
      approvers: [{ person: 'ann' }, { person: 'nobody-yet' }, { person: 'owner' }],
    });
  });

  test('two persons let an agent do one thing once, with the power cut after each of them', async () => {
    const minted = await hub.result('hub:mint_token', { agent_id: 'kitchen', permissions: ['*', 'admin:approvals'], ttl_seconds: 3_600 });
    agentToken = String(minted.token);
    writeFileSync(join(dir, 'state/rules.yaml'), RULES, { mode: 0o600 });
    await powerCut();
    const asked = await asAgent(ben);
    const id = asked.status === 'error' ? String(asked.error.details.approval_id) : '';
    expect(asked).toMatchObject({ error: { code: 'APPROVAL_REQUIRED', details: { needed: 2, given: 0 } } });

    expect(await atmo('ann', 'approve', id)).toMatchObject({ code: 0, json: { state: 'pending', given: 1 } });
    await powerCut();
    expect(await atmo('ann', 'approve', id)).toMatchObject({ code: 2, json: { error: { code: 'CONFLICT' } } });
    expect(await asAgent(ben)).toMatchObject({ error: { code: 'APPROVAL_REQUIRED', details: { approval_id: id, given: 1 } } });
    expect(await atmo('owner', 'approve', id)).toMatchObject({ code: 0, json: { state: 'approved', given: 2 } });
    await powerCut();

    expect(codeOf(await asAgent({ ...ben, label: 'another phone' }))).toBe('APPROVAL_REQUIRED');
    expect(await asAgent(ben)).toMatchObject({ status: 'success', result: { person: 'ben', label: 'phone' } });
    await powerCut();
    expect(codeOf(await asAgent(ben))).toBe('APPROVAL_REQUIRED');
    expect((await atmo('ann', 'approve', id)).json).toMatchObject({ error: { code: 'CONFLICT' } });
  });

  test('a job that waits outlives a power cut, runs when a person approves, and does not run again after another one', async () => {
    const job = await waitingJob('first');
    expect(job).toMatchObject({ status: 'waiting' });
    await powerCut();
    expect(await jobOf(job)).toMatchObject({ status: 'waiting' });
    expect(await atmo('ann', 'approve', String(job.approval_id))).toMatchObject({ code: 0 });
    await expect.poll(() => jobOf(job)).toMatchObject({ status: 'succeeded', result: { completed: 1 } });
    const done = await jobOf(job);
    await powerCut();
    expect(await jobOf(job)).toEqual(done);
  });

  test('a power cut right after an approval loses no job: it has run, runs after the start, or says that nobody knows', async () => {
    for (const value of ['second', 'third']) {
      const job = await waitingJob(value);
      const approving = atmo('ann', 'approve', String(job.approval_id));
      if (value === 'second') await approving;
      await powerCut();
      await approving;
      const ended = ['succeeded', 'failed'];
      if ((await jobOf(job)).status === 'waiting') await atmo('ann', 'approve', String(job.approval_id));
      await expect.poll(async () => ended.includes(String((await jobOf(job)).status))).toBe(true);
      const { status, error } = await jobOf(job);
      if (status === 'failed') expect(error).toMatchObject({ code: expect.stringMatching(/^(OUTCOME_UNKNOWN|SHUTTING_DOWN)$/) });
    }
  });

  test('and the journal can prove it afterwards', async () => {
    const { rows } = await hub.result('hub:read_audit', { kind: 'note', limit: 100 });
    const text = JSON.stringify(rows);
    for (const event of ['approval.requested', 'approval.given', 'approval.used', 'approver.enrolled']) expect(text).toContain(event);
    expect(text).toContain('"person":"ann"');
    expect(text).not.toContain(agentToken);
    expect(hub.log.join('\n')).not.toContain(agentToken);
  });
});
