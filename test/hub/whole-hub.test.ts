import { generateKeyPairSync } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import type { ToolOrchestrator } from '../../src/calls/tool-orchestrator.ts';
import { rawPublicKey } from '../../src/codec/public-key.ts';
import { type Principal, TOKEN_SKEW_MS } from '../../src/core/auth/principal.ts';
import { toAtmoError } from '../../src/core/errors.ts';
import { READ_RATE } from '../../src/http/server/rate-limits.ts';
import { GATE_TIMEOUT_MS } from '../../src/mesh/transport/admission.ts';
import { makeTool, settled } from '../calls/pipeline-fixture.ts';
import { HOST } from '../http/http-fixture.ts';
import { ManualClock } from '../manual-clock.ts';
import { MemoryEngine } from '../mesh/memory-engine.ts';
import { MemoryNetwork } from '../mesh/memory-network.ts';
import { identities } from '../mesh/rpc/link-fixture.ts';
import { runClock } from '../mesh/run-clock.ts';
import { SysfsTree } from '../sensors/sysfs-tree.ts';
import { InterfaceFixture } from './interface-fixture.ts';
import { remoteCodeOf } from './interfaces.ts';
import type { OtherHub } from './other-hub.ts';
import { MESH_AT, mcpRequest, WholeHub } from './whole-hub.ts';

const fixture = new InterfaceFixture();
const sysfs = SysfsTree.empty();
const strictClock = new ManualClock(Date.now());
const strict = strictHub();
/** The calls of `held` on the strict hub, which last until a test ends them. */
const held = heldCalls();

beforeAll(async () => {
  await fixture.start();
  await strict.hub.start();
  for (const name of ['free', 'held', 'off', 'beta', 'dangerous', 'exact']) registerProbe(strict, name);
});
afterAll(async () => {
  await fixture[Symbol.asyncDispose]();
  await strict[Symbol.asyncDispose]();
  sysfs[Symbol.dispose]();
});
beforeEach(() => fixture.reset());

describe('a hub', () => {
  test('refuses a token that nobody made', async () => {
    const forged = `at0.${'A'.repeat(43)}`;
    expect(await fixture.hub.call('probe:free', {}, forged)).toMatchObject({ code: 'TOKEN_INVALID' });
    expect(fixture.ran).toEqual([]);
  });

  test('refuses the text of its token without the seal that it gave out', async () => {
    const { token } = await fixture.mint(['probe:use']);
    expect(await fixture.hub.call('probe:free', {}, token)).toMatchObject({ status: 'success' });
    const cut = token.slice(0, token.lastIndexOf('.'));
    expect(await fixture.hub.call('probe:free', {}, cut)).toMatchObject({ code: 'TOKEN_INVALID' });
  });

  test('refuses a token that is bound to another key with a proof that nobody signed', async () => {
    const key = rawPublicKey(generateKeyPairSync('ed25519').privateKey);
    const body = { agent_id: 'agent', permissions: ['probe:use'], key };
    const { token } = await fixture.hub.ask('/api/v1/tokens', { body });
    expect(await fixture.hub.ask('/api/v1/tools', { token })).toMatchObject({ code: 'UNAUTHENTICATED' });
    const forged = await fixture.hub.ask('/api/v1/tools', { token, headers: { 'atmo-proof': 'AAAA' } });
    expect(forged).toMatchObject({ code: 'TOKEN_INVALID', detail: expect.stringContaining('not signed with its key') });
  });

  test('shows an agent the tools that it may call and no metrics', async () => {
    const { token } = await fixture.mint(['probe:use']);
    const { tools } = await fixture.hub.ask('/api/v1/tools', { token });
    const ids: readonly string[] = tools.map(({ id }: { readonly id: string }) => id);
    expect(ids.some((id) => id.startsWith('probe:'))).toBe(true);
    expect(ids.filter((id) => id.includes('revoke_token'))).toEqual([]);
    expect(await fixture.hub.ask('/metrics', { token })).toMatchObject({ code: 'PERMISSION_DENIED' });
  });

  test('lists no tools that need a permission to a token that was revoked before the body came', async () => {
    const { token, tokenId } = await fixture.mint(['probe:use']);
    const { headers, body } = mcpRequest('tools/list', {});
    const list = async () => (await fixture.hub.ask('/mcp/devices', { token, headers, body })).result.tools;
    expect(await list()).toContainEqual(expect.objectContaining({ name: 'free' }));
    fixture.hub.beforeBody = () => fixture.revoke(tokenId);
    expect(await list()).not.toContainEqual(expect.objectContaining({ name: 'free' }));
  });

  test('tells a listener over HTTP only the events that its token may hear', async () => {
    const { token } = await fixture.mint(['probe:use']);
    const { heard, ended, stop } = await listenOverHttp(token);
    await fixture.hub.call('current_time');
    await fixture.hub.call('probe:free', {}, token);
    await fixture.pause();
    expect(heard).toEqual(['probe:free@1.0.0']);
    await stop();
    expect(await ended).toBe('ended');
  });

  test('tells a listener over HTTP nothing more once its token was revoked', async () => {
    const { token, tokenId } = await fixture.mint(['admin:audit']);
    const { heard, ended } = await listenOverHttp(token);
    await fixture.revoke(tokenId);
    await fixture.hub.call('current_time');
    await fixture.pause();
    expect(heard).toEqual([expect.stringContaining('revoke_token')]);
    // The stream of a token that can receive nothing any more is found from time to time.
    await runClock(fixture.clock, 5_000, 1_000);
    expect(await Promise.race([ended, 'goes on'])).toBe('ended');
  });

  test('refuses calls of a token without a limit of its own that come faster than any agent calls', async () => {
    const { token, agentId } = await fixture.mint(['probe:use']);
    const { orchestrator } = fixture.hub.hub;
    const calls = Array.from({ length: 401 }, () => orchestrator.call({ token, tool: 'probe:none', params: {} }));
    const answers = await fixture.during(Promise.all(calls));
    const codes = answers.map((answer) => (answer.status === 'error' ? answer.error.code : 'success'));
    expect(Object.groupBy(codes, (code) => code)).toMatchObject({ RATE_LIMITED: ['RATE_LIMITED'] });
    expect(await fixture.hub.call('probe:free', {}, token)).toMatchObject({ error: { code: 'RATE_LIMITED' } });
    expect((await fixture.lastEnd(agentId))?.content).toMatchObject({ error: 'RATE_LIMITED' });
  });
});

/** The tools of which a listener over HTTP hears that they are called, and how that ends. */
async function listenOverHttp(token: string) {
  const headers = { authorization: `Bearer ${token}` };
  const { body } = await fixture.hub.fetch(`http://${HOST}/api/v1/events?types=agi.tool.invoked`, { headers });
  if (!body) throw new Error('there is no stream');
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  const heard: string[] = [];
  const listen = async () => {
    for (let part = await reader.read(); !part.done; part = await reader.read())
      for (const [, data = ''] of part.value.matchAll(/^data: ?(.*)$/gm)) heard.push(JSON.parse(data).subject);
    return 'ended';
  };
  return { heard, ended: listen(), stop: () => reader.cancel() };
}

describe('a hub in a mesh', () => {
  test('tells another hub only the events that its bearer may hear', async () => {
    const { hub: other } = await fixture.other();
    const { principal } = await other.bearer(['probe:use']);
    const { heard, ended, stop } = await listenAt(other, principal);
    await fixture.hub.call('current_time');
    await fixture.during(fixture.forward(other, principal, 'free'));
    await fixture.pause();
    expect(heard).toEqual(['probe:free@1.0.0']);
    stop();
    expect(await fixture.during(ended)).toBe('ended');
  });

  test('tells another hub nothing more once the token of its bearer was revoked', async () => {
    const { hub: other } = await fixture.other();
    const { principal, tokenId } = await other.bearer(['admin:audit']);
    const { heard, ended } = await listenAt(other, principal);
    await fixture.revoke(tokenId);
    await fixture.hub.call('current_time');
    await fixture.pause();
    expect(heard).toEqual([expect.stringContaining('revoke_token')]);
    expect(await Promise.race([ended, 'goes on'])).toBe('TOKEN_EXPIRED');
  });

  test('takes from the tokens of another hub only what the mesh lets that hub give', async () => {
    const guest = await fixture.guest(['probe:use']);
    const { principal } = await guest.bearer(['probe:use', 'admin:audit']);
    const codeOf = (name: string) => fixture.during(fixture.forward(guest, principal, name)).then(() => 'success', remoteCodeOf);
    expect(await codeOf('free')).toBe('success');
    fixture.guard = 'admin:audit';
    expect(await codeOf('guarded')).toBe('PERMISSION_DENIED');
    expect(fixture.ran).toEqual(['free']);
  });

  describe('that it just joined', () => {
    let joining: InterfaceFixture;

    beforeEach(async () => {
      joining = new InterfaceFixture();
      await joining.start();
    });
    afterEach(() => joining[Symbol.asyncDispose]());

    test('ends a waiting call of a hub that is no member any more', async () => {
      const { hub: other, root } = await joining.other();
      const { principal } = await other.bearer(['probe:use']);
      for (const name of ['held', 'free']) joining.forward(other, principal, name).catch(() => undefined);
      await joining.untilHeld();
      await joining.pause();
      await joining.during(other.tellOwnRevocation(joining.hubId, root));
      // The hub asks a neighbour for statements at most four times a second.
      await runClock(joining.clock, 500);
      const end = await joining.lastEnd(`${principal.id}@${other.id}`);
      joining.release();
      await joining.pause();
      const message = expect.stringContaining('its caller may no longer make it');
      expect(end).toMatchObject({ kind: 'refusal', content: { error: 'CANCELLED', message } });
      expect(joining.ran).toEqual([]);
    });

    test('lets no hub in that is no member', async () => {
      await joining.join();
      await using stranger = strangerIn(joining.network);
      await stranger.start();
      stranger.connect(MESH_AT, { signal: new AbortController().signal }).catch(() => undefined);
      await runClock(joining.clock, GATE_TIMEOUT_MS, 1_000);
      expect(stranger.peers()).toEqual([]);
    });
  });
});

/** The tools of which a bearer at another hub hears that they are called, and how that ends. */
async function listenAt({ client }: OtherHub, principal: Principal) {
  const heard: string[] = [];
  const ending = new AbortController();
  const subscription = { principal, types: ['agi.tool.invoked'], signal: ending.signal } as const;
  const ended = client.events
    .subscribe(fixture.hubId, subscription, ({ subject }) => heard.push(subject))
    .then(
      () => 'ended',
      (error) => toAtmoError(error).code,
    );
  await fixture.pause();
  return { heard, ended, stop: () => ending.abort() };
}

/** A hub of no mesh that asks nothing of those that it connects to. */
function strangerIn(network: MemoryNetwork): MemoryEngine {
  const [self] = identities(1);
  if (!self) throw new Error('there is no identity');
  return new MemoryEngine({ network, address: 'stranger.test:3', self, gate: { admit: async () => undefined } });
}

describe('a hub whose owner set limits', () => {
  const reasonOf = async (call: Parameters<ToolOrchestrator['isExecutionAllowed']>[0]) =>
    (await strict.hub.orchestrator.isExecutionAllowed(call)).reason;
  const mint = async (more: object = {}): Promise<string> => {
    const body = { agent_id: 'agent', permissions: ['probe:use'], ...more };
    return (await strict.ask('/api/v1/tokens', { body })).token;
  };

  test('lets an automation observe only the sensors that its permissions cover', async () => {
    const { result } = await strict.call('list_sensors');
    const [{ sensor_id: sensor }] = result.sensors;
    const trigger = { type: 'reading', sensor_id: sensor, above: 60 };
    const spawn = async (...permissions: readonly string[]) => {
      const agent = { agent_type: 'automation', config: { trigger, actions: [{ tool: 'current_time' }] }, permissions };
      return (await strict.call('spawn_agent', agent)).error?.code ?? 'success';
    };
    expect(await spawn('probe:use')).toBe('SENSOR_NOT_FOUND');
    expect(await spawn(`sensor:read:${sensor}`)).toBe('success');
  });

  test('runs nothing dangerous while its time is not trusted', async () => {
    const { error } = await strict.call('probe:dangerous', {}, await mint());
    expect(error).toMatchObject({ code: 'PERMISSION_DENIED', details: { reason: 'time_unknown' } });
  });

  test('runs nothing that the owner switched off', async () => {
    expect(await strict.call('probe:off', {}, await mint())).toMatchObject({ error: { code: 'RULE_BLOCKED' } });
  });

  test('lets only a role with its feature call what needs one', async () => {
    const refusal = { code: 'PERMISSION_DENIED', details: { features: ['beta'] } };
    expect(await strict.call('probe:beta', {}, await mint())).toMatchObject({ error: refusal });
    const tester = await strict.ask('/api/v1/tokens', { body: { agent_id: 'tester', role: 'tester' } });
    expect(await strict.call('probe:beta', {}, tester.token)).toMatchObject({ status: 'success' });
  });

  test('tells before a call, with its parameters and without, what is switched off and what needs a feature', async () => {
    const token = await mint();
    for (const call of [{}, { params: {} }]) {
      expect(await reasonOf({ token, tool: 'probe:off', ...call })).toContain('RULE_BLOCKED');
      expect(await reasonOf({ token, tool: 'probe:beta', ...call })).toContain('needs the feature beta');
      expect(await reasonOf({ token, tool: 'probe:free', ...call })).toBeUndefined();
    }
  });

  test('tells nobody what parameters a tool takes that the permissions do not cover', async () => {
    const token = await mint();
    const call = { token, tool: 'probe:exact', params: { value: 1 } };
    expect(await strict.call(call.tool, call.params)).toMatchObject({ error: { code: 'VALIDATION_ERROR' } });
    expect(await strict.call(call.tool, call.params, token)).toMatchObject({ error: { code: 'PERMISSION_DENIED' } });
    expect(await reasonOf(call)).toContain('PERMISSION_DENIED');
  });

  test('says of a token that ended before the body of its request came that it has expired', async () => {
    const token = await mint({ ttl_seconds: 60 });
    strict.beforeBody = async () => strictClock.advance(60_000 + TOKEN_SKEW_MS);
    expect(await strict.call('current_time', {}, token)).toMatchObject({ error: { code: 'TOKEN_EXPIRED' } });
  });

  test('locks out whoever guesses tokens, and nobody with a valid one', async () => {
    const codes: string[] = [];
    for (let guess = 0; guess < 101; guess += 1) {
      const token = `at0.${String(guess).padStart(43, 'A')}`;
      codes.push((await strict.ask('/api/v1/tools', { token })).code);
    }
    expect(codes.lastIndexOf('TOKEN_INVALID')).toBe(99);
    expect(codes.at(-1)).toBe('RATE_LIMITED');
    expect(await strict.call('probe:free', {}, await mint())).toMatchObject({ status: 'success' });
  });

  test('answers no more reads of an account at once than a page needs', async () => {
    const token = await mint();
    const read = async () => (await strict.ask('/api/v1/jobs', { token })).code ?? 'success';
    const codes = await Promise.all(Array.from({ length: READ_RATE.burst + 1 }, read));
    expect(codes.filter((code) => code !== 'success')).toEqual(['RATE_LIMITED']);
  });

  test('ends the calls of a session at its limit, and lets another session begin', async () => {
    const token = await mint();
    const call = async (session: string) => {
      const answer = await strict.ask('/api/v1/tools/free/invoke', { token, body: {}, headers: { 'x-session-id': session } });
      return answer.error?.code ?? answer.status;
    };
    expect([await call('one'), await call('one'), await call('one')]).toEqual(['success', 'success', 'RATE_LIMITED']);
    expect(await call('other')).toBe('success');
  });

  test('takes no parameters of more bytes than it allows', async () => {
    const call = async (value: string) => (await strict.call('probe:free', { value }, await mint())).error?.code;
    expect([await call('x'.repeat(900)), await call('x'.repeat(1_000))]).toEqual([undefined, 'PAYLOAD_TOO_LARGE']);
    expect([await call('ü'.repeat(450)), await call('ü'.repeat(500))]).toEqual([undefined, 'PAYLOAD_TOO_LARGE']);
  });

  test('takes no calls while almost no memory is free', async () => {
    const token = await mint();
    const free = vi.spyOn(process, 'availableMemory').mockReturnValue(1_000_000);
    strictClock.advance(1_000);
    const refused = await strict.call('probe:free', {}, token);
    free.mockRestore();
    strictClock.advance(1_000);
    expect(refused).toMatchObject({ error: { code: 'RESOURCE_EXCEEDED' } });
    expect(await strict.call('probe:free', {}, token)).toMatchObject({ status: 'success' });
  });

  test('runs no more calls at once than it allows', async () => {
    const tokens = [await mint(), await mint(), await mint()];
    const calls = tokens.map((token) => strict.call('probe:held', {}, token));
    for (let turn = 0; turn < 10; turn++) await settled();
    const atOnce = held.count;
    held.end();
    expect((await Promise.all(calls)).map(({ status }) => status)).toEqual(['success', 'success', 'success']);
    expect([atOnce, held.count]).toEqual([2, 3]);
  });

  test('writes secrets into its audit log as hashes that no other hub could make', async () => {
    const hashesOf = (isSecret: boolean) => Promise.all([fixture.hub, strict].map((hub) => hashOfCall(hub, isSecret)));
    const [openHere, openThere] = await hashesOf(false);
    const [secretHere, secretThere] = await hashesOf(true);
    expect(openHere).toBe(openThere);
    expect(secretHere).not.toBe(secretThere);
  });
});

/** A hub without a mesh whose time is not trusted. */
function strictHub(): WholeHub {
  sysfs.write('class/hwmon/hwmon0/name', 'k10temp');
  sysfs.write('class/hwmon/hwmon0/temp1_input', '41000');
  const config = {
    sensors: { sysfs: sysfs.root },
    clock: { trust: 'never' },
    roles: { tester: { permissions: ['probe:use'], features: ['beta'] } },
    tools: {
      dynamic_registration: true,
      disabled: ['probe:off'],
      features: { 'probe:beta': ['beta'] },
      max_calls_per_session: 2,
      max_concurrent: 2,
      max_params_bytes: 1_000,
    },
  };
  return new WholeHub({ clock: strictClock, network: new MemoryNetwork({ clock: strictClock }), rules: 'rules: []\n', config });
}

function heldCalls() {
  const ended = Promise.withResolvers<null>();
  const calls = {
    count: 0,
    end: () => ended.resolve(null),
    begin: () => {
      calls.count += 1;
      return ended.promise;
    },
  };
  return calls;
}

/** Registers a tool that changes something; the one of the name `dangerous` is, and `exact` needs another permission. */
function registerProbe({ hub }: WholeHub, name: string): void {
  const tool = makeTool({
    namespace: 'probe',
    name,
    parameters: { type: 'object', properties: { value: { type: 'string', description: 'Any text' } } },
    requires: { permissions: ['probe:use', ...(name === 'exact' ? ['probe:other'] : [])] },
    execution: { side_effects: true },
    metadata: { dangerous: name === 'dangerous' },
    ...(name === 'held' && { handler: held.begin }),
  });
  hub.orchestrator.registerTool(tool);
}

/** The hash of its arguments with which the audit log knows a call. */
async function hashOfCall(hub: WholeHub, isSecret: boolean): Promise<string> {
  const word = { type: 'string', description: 'A word', ...(isSecret && { 'x-secret': true }) };
  const name = isSecret ? 'secret_word' : 'open_word';
  hub.hub.orchestrator.registerTool(makeTool({ namespace: 'probe', name, parameters: { type: 'object', properties: { word } } }));
  await hub.call(name, { word: 'sesame' });
  const { result } = await hub.call('read_audit', { tool: name, kind: 'intent' });
  return result.rows[0].content.arguments_hash;
}
