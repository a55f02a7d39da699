import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { beforeEach, describe, expect, test } from 'vitest';
import type { ErrorBody } from '../../../src/core/errors.ts';
import type { JsonObject } from '../../../src/core/json.ts';
import { ApprovalElicitation } from '../../../src/mcp/calls/tool-runner.ts';
import type { McpCaller, ToolRun } from '../../../src/mcp/mcp-feature.ts';
import { makeApprovals } from '../../auth/approvals/approval-fixture.ts';
import { agent, makeTool } from '../../calls/pipeline-fixture.ts';
import { authenticatorOf, makeHttpApi } from '../../http/http-fixture.ts';
import { ManualClock } from '../../manual-clock.ts';
import { legacyClient, modernClient } from '../mcp-clients.ts';

const TOKEN = 'butler';
const FORMS = { elicitation: { form: {} } };

/** A hub with a front door that waits for Ann, and what was done to it. */
async function makeDoor() {
  const approvals = await makeApprovals();
  const ann = await approvals.enrol('ann');
  const opened: JsonObject[] = [];
  const authenticator = authenticatorOf({ [TOKEN]: agent('device:control:door') });
  const setup = makeHttpApi({ authenticator }, { approvals: approvals.queue });
  setup.addTool({
    name: 'front_door_unlock',
    namespace: 'matter',
    parameters: { type: 'object', properties: { seconds: { type: 'integer' } } },
    requires: { permissions: ['device:control:door'] },
    execution: { side_effects: true, async_allowed: true },
    metadata: { title: 'Unlock the front door', dangerous: true },
    handler: async (params) => ({ times: opened.push(params as JsonObject) }),
  });
  const approveAll = async () => {
    for (const { view } of approvals.queue.list()) if (view.state === 'pending') await approvals.say(view, ann);
  };
  return { ...setup, opened, approveAll, pending: () => approvals.queue.list().map(({ view }) => view) };
}

const UNLOCK = { name: 'sensitive_tool', arguments: { name: 'front_door_unlock', arguments: { seconds: 5 } } };
const PENDING = { isError: true, structuredContent: { code: 'APPROVAL_REQUIRED' } };

describe('a dangerous call', () => {
  test('of a modern client without elicitation: the id, the end, and how a person agrees', async () => {
    const { httpApi, opened, pending } = await makeDoor();
    const client = await modernClient(httpApi, { token: TOKEN });
    const answer = await client.callTool(UNLOCK);
    const [view] = pending();
    expect(answer).toMatchObject(PENDING);
    expect(answer.structuredContent).toMatchObject({
      details: {
        approval_id: view?.approval_id,
        expires_at: view?.expires_at,
        needed: 1,
        given: 0,
        how: expect.stringContaining(`atmo approve ${view?.approval_id}`),
      },
    });
    expect(opened).toEqual([]);
  });

  test('of a client that lets it wait: a job, with the id of the request, and nothing is done yet', async () => {
    const { httpApi, opened, pending } = await makeDoor();
    const client = await modernClient(httpApi, { token: TOKEN });
    const answer = await client.callTool({ ...UNLOCK, arguments: { ...UNLOCK.arguments, wait_for_approval: true } });
    const [view] = pending();
    expect(view).toMatchObject({ state: 'pending', runs_when_approved: true });
    expect(answer.structuredContent).toEqual({
      job_id: view?.job_id,
      tool: 'matter:front_door_unlock@1.0.0',
      status: 'waiting',
      created_at: view?.created_at,
      approval_id: view?.approval_id,
      waits_until: view?.expires_at,
    });
    expect(JSON.stringify(answer.content)).toContain(`atmo approve ${view?.approval_id}`);
    expect(opened).toEqual([]);
  });

  test('of a list whose address says so waits as a job, and of any other list is to be repeated', async () => {
    const { httpApi, opened, pending } = await makeDoor();
    const call = { name: 'front_door_unlock', arguments: { seconds: 5 } };
    const waiting = await modernClient(httpApi, { token: TOKEN, path: '/mcp/devices?approvals=wait' });
    expect(await waiting.callTool(call)).toMatchObject({ structuredContent: { status: 'waiting' } });
    expect(pending()).toMatchObject([{ runs_when_approved: true }]);
    const repeating = await modernClient(httpApi, { token: TOKEN, path: '/mcp/devices' });
    expect(await repeating.callTool(call)).toMatchObject(PENDING);
    expect(opened).toEqual([]);
  });

  test('of a modern client that can ask: its person sees to the approval, and the call runs once', async () => {
    const { httpApi, opened, approveAll } = await makeDoor();
    const client = await modernClient(httpApi, { token: TOKEN, capabilities: FORMS });
    const asked: string[] = [];
    client.setRequestHandler('elicitation/create', async ({ params }) => {
      asked.push(params.message);
      await approveAll();
      return { action: 'accept', content: {} };
    });
    expect(await client.callTool(UNLOCK)).toMatchObject({ structuredContent: { times: 1 } });
    expect(asked).toHaveLength(1);
    expect(asked[0]).toMatch(
      /^agent-1 wants: Unlock the front door \(seconds: 5\) .*"atmo approve [0-9a-f]{32}".*this form approves nothing/s,
    );
    expect(opened).toEqual([{ seconds: 5 }]);
    asked.length = 0;
    client.setRequestHandler('elicitation/create', async () => ({ action: 'decline' }));
    expect(await client.callTool(UNLOCK)).toMatchObject({ isError: true, structuredContent: { code: 'CANCELLED' } });
    expect(opened).toHaveLength(1);
  });

  test('of a session that can ask: the same as an elicitation', async () => {
    const { httpApi, opened, approveAll } = await makeDoor();
    const client = await legacyClient(httpApi, { token: TOKEN, capabilities: { elicitation: {} } });
    client.setRequestHandler(ElicitRequestSchema, async () => {
      await approveAll();
      return { action: 'accept', content: {} };
    });
    expect(await client.callTool(UNLOCK)).toMatchObject({ structuredContent: { times: 1 } });
    expect(opened).toEqual([{ seconds: 5 }]);
  });

  test('is approved by no word of a client: who says yes without an approval only asks again', async () => {
    const { httpApi, opened } = await makeDoor();
    const modern = await modernClient(httpApi, { token: TOKEN, capabilities: FORMS });
    const yes = async () => ({ action: 'accept', content: { approved: true, confirm: true } }) as const;
    modern.setRequestHandler('elicitation/create', yes);
    expect(await modern.callTool(UNLOCK)).toMatchObject(PENDING);
    const legacy = await legacyClient(httpApi, { token: TOKEN, capabilities: FORMS });
    legacy.setRequestHandler(ElicitRequestSchema, yes);
    expect(await legacy.callTool(UNLOCK)).toMatchObject(PENDING);
    expect(opened).toEqual([]);
  });
});

describe('the state of a question', () => {
  const tool = makeTool({ name: 'unlock' });
  const call: ToolRun = { tool, params: { seconds: 5 }, listing: 'open' };
  const error: ErrorBody = { code: 'APPROVAL_REQUIRED', message: 'wait', details: { approval_id: 'a' }, retryable: true };
  const accepted = { approval: { action: 'accept', content: {} } };
  let clock: ManualClock;
  let questions: ApprovalElicitation;
  beforeEach(() => {
    clock = new ManualClock();
    questions = new ApprovalElicitation({ clock });
  });

  const caller = (extra: Partial<McpCaller> = {}): McpCaller => ({
    principal: agent('*'),
    view: { kind: 'home' },
    era: 'modern',
    clientCapabilities: FORMS,
    trace: { requestId: 'r', traceId: 't', traceparent: '' },
    signal: new AbortController().signal,
    inputResponses: accepted,
    progress: () => {},
    sendMessage: () => {},
    ...extra,
  });
  const stateOf = (who = caller()) => String(questions.ask(error, call, who)?.requestState);

  test('serves once', () => {
    const requestState = stateOf();
    expect(() => questions.admit(call, caller({ requestState }))).not.toThrow();
    expect(() => questions.admit(call, caller({ requestState }))).toThrow('used before');
  });

  test('serves for the same caller, tool and arguments only, for ten minutes, and in the process that made it', () => {
    const other = { ...agent('*'), id: 'somebody-else' };
    const wrong: readonly (readonly [ToolRun, Partial<McpCaller>])[] = [
      [call, { principal: other }],
      [{ ...call, params: { seconds: 6 } }, {}],
      [{ ...call, tool: { ...tool, id: 'test:open@1.0.0' as typeof tool.id } }, {}],
    ];
    for (const [run, who] of wrong) expect(() => questions.admit(run, caller({ requestState: stateOf(), ...who }))).toThrow('requestState');
    const [purpose, nonce, ends, mac = ''] = stateOf().split('.');
    const forged = [
      `${nonce}.${Number(ends) + 1}.${mac}`,
      `${nonce}.${ends}.${mac.slice(1)}`,
      `${nonce}.${ends}.`,
      `${nonce}.${ends}.${mac}-x`,
    ];
    for (const requestState of ['', 'x', `answer.${nonce}.${ends}.${mac}`, ...forged.map((rest) => `${purpose}.${rest}`)]) {
      expect(() => questions.admit(call, caller({ requestState }))).toThrow('requestState');
    }
    const late = stateOf();
    clock.advance(600_000);
    expect(() => questions.admit(call, caller({ requestState: late }))).toThrow('too old');
    const restarted = new ApprovalElicitation({ clock });
    expect(() => restarted.admit(call, caller({ requestState: stateOf() }))).toThrow('requestState');
  });

  test('is given to clients that show forms, once a call, and for approvals alone', () => {
    expect(questions.ask(error, call, caller({ clientCapabilities: { elicitation: {} } }))).toMatchObject({ resultType: 'input_required' });
    const silent: readonly Partial<McpCaller>[] = [
      { clientCapabilities: {} },
      { clientCapabilities: { elicitation: { url: {} } } },
      { requestState: stateOf() },
    ];
    for (const who of silent) expect(questions.ask(error, call, caller(who))).toBeUndefined();
    expect(questions.ask({ ...error, code: 'PERMISSION_DENIED' }, call, caller())).toBeUndefined();
  });

  test('without the word of the person the call is not made', () => {
    for (const inputResponses of [{}, { approval: { action: 'cancel' } }, { approval: 'accept' }, { other: { action: 'accept' } }]) {
      expect(() => questions.admit(call, caller({ requestState: stateOf(), inputResponses }))).toThrow('was not made');
    }
  });

  test('is forgotten when there are too many, the oldest first', () => {
    const first = stateOf();
    for (let other = 0; other < 4_096; other++) stateOf();
    expect(() => questions.admit(call, caller({ requestState: first }))).toThrow('requestState');
    expect(() => questions.admit(call, caller({ requestState: stateOf() }))).not.toThrow();
  });
});
