import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import type { AtmosphereConfig } from '../../../src/connectors/atmosphere/atmosphere-config.ts';
import { openAtmosphere } from '../../../src/connectors/atmosphere/atmosphere-tools.ts';
import type { ConnectorContext } from '../../../src/connectors/connector.ts';
import { systemClock } from '../../../src/core/clock.ts';
import type { JsonObject } from '../../../src/core/json.ts';
import { createLogger } from '../../../src/core/logger.ts';
import type { ToolContext } from '../../../src/tools/definition/tool-definition.ts';
import { makePipeline, makeTool } from '../../calls/pipeline-fixture.ts';
import { gossip, makeMesh } from '../../connectors/atmosphere/atmosphere-fixture.ts';
import { RunningHub } from '../running-hub.ts';
import { AtmosphereRelay, joinRelay } from './atmosphere-relay.ts';

const LIMIT = { interval: 50 };
let stack = new AsyncDisposableStack();
afterEach(async () => {
  await stack.disposeAsync();
  stack = new AsyncDisposableStack();
});

const now = () => ({ timestamp: Date.now() / 1_000, nonce: crypto.randomUUID() });

describe('two hubs on a relay', () => {
  test('hear of what the other lets out, and call what its owner allows', async () => {
    const relay = stack.use(await AtmosphereRelay.start());
    const mesh = makeMesh();
    const hubOn = async (name: string, secrets: { readonly [name: string]: string }, atmosphere: JsonObject) => {
      const stateDir = stack.adopt(mkdtempSync(join(tmpdir(), 'atmo-relay-')), (dir) => rmSync(dir, { recursive: true, force: true }));
      const config = {
        matter: { enabled: false },
        mesh: { name },
        sensors: { discover: false, gpio: { backend: 'sim', outputs: { pump: { line: 'GPIO27' }, siren: { line: 'GPIO24' } } } },
        connectors: { atmosphere: { relay: relay.url, mesh_id: mesh.meshId, ...atmosphere } },
      };
      return stack.use(await RunningHub.start({ stateDir, config, env: secrets }));
    };
    const cellar = await hubOn(
      'Cellar',
      { MESH_KEY: mesh.seedHex },
      { mesh_key: 'env:MESH_KEY', announce: ['gpio:*'], calls: { incoming: true, permissions: ['device:control:pump'] } },
    );
    await expect.poll(() => relay.nodes.length, LIMIT).toBe(1);
    const attic = await hubOn('Attic', { TOKEN: JSON.stringify(mesh.token()) }, { token: 'env:TOKEN', calls: { outgoing: true } });
    await expect.poll(() => relay.nodes.length, LIMIT).toBe(2);
    const [cellarNode = '', atticNode = ''] = relay.nodes;
    expect(relay.entries).toMatchObject([{ type: 'register_mesh' }, { type: 'join', capabilities: [] }]);

    // It announces every half minute; what it entered with is known at once.
    const seen = async () => (await attic.result('atmosphere_capabilities', { node: cellarNode })) as JsonObject;
    await expect.poll(seen, LIMIT).toMatchObject({
      connected: true,
      unverified: true,
      own_node: atticNode,
      nodes: [{ node: cellarNode, name: 'Cellar' }],
    });
    expect(JSON.stringify(await seen())).toContain('gpio:pump_turn_on');
    expect(JSON.stringify(await seen())).not.toContain('core:');
    // The one that lets nothing out is there, with nothing.
    const heard = () => cellar.result('atmosphere_capabilities');
    await expect.poll(heard, LIMIT).toMatchObject({ nodes: [{ node: atticNode, name: 'Attic', capabilities: [] }] });

    const call = (tool: string, over: JsonObject = {}) =>
      attic.call('atmosphere_call', { node: cellarNode, app: 'Cellar', tool, params: {}, ...over });
    expect(await call('gpio:pump_turn_on')).toMatchObject({ status: 'success', result: { unverified: true } });
    expect(await cellar.result('query_sensor', { sensor_id: 'gpio/pump' })).toMatchObject({ values: [{ value: 1 }] });
    // Announced, but not among the permissions; there, but not announced; another app, which is silent.
    for (const tool of ['gpio:siren_turn_on', 'core:list_tokens', 'core:echo']) {
      expect(await call(tool)).toMatchObject({ error: { code: 'SERVICE_REFUSED', details: { body: { code: 'TOOL_NOT_FOUND' } } } });
    }
    expect(await call('gpio:pump_turn_on', { node: 'nobody' })).toMatchObject({ error: { code: 'NOT_FOUND' } });
    // The other way nothing is allowed.
    expect(await cellar.call('atmosphere_call', { node: atticNode, app: 'Attic', tool: 'core:echo' })).toMatchObject({
      error: { code: 'NOT_CONFIGURED' },
    });
    // Who is on the relay may call as well: that is what incoming means.
    const stranger = stack.use(await joinRelay(`${relay.url}/relay/${mesh.meshId}`, { node_id: 's1', token: mesh.token() }));
    stranger.broadcast({ type: 'tool_call', app: 'Cellar', tool: 'gpio:pump_turn_off', params: {}, request_id: 'r1' });
    await expect.poll(() => JSON.stringify(stranger.heard), LIMIT).toContain('"target_node":"s1"');
    expect(await cellar.result('query_sensor', { sensor_id: 'gpio/pump' })).toMatchObject({ values: [{ value: 0 }] });

    const logs = [...cellar.log, ...attic.log].join('');
    expect(logs).toContain('atmosphere.joined');
    expect(logs).not.toContain(mesh.seedHex);
    await attic.stop();
    await expect.poll(() => relay.nodes, LIMIT).toEqual([cellarNode, 's1']);
    await expect.poll(async () => JSON.stringify(await heard()), LIMIT).not.toContain(`"${atticNode}"`);
  });
});

describe('a bridge among others', () => {
  async function bridgeOn(relay: AtmosphereRelay, over: Partial<AtmosphereConfig> = {}) {
    const { registry } = makePipeline();
    registry.register(makeTool({ name: 'lamp_on', title: 'Lamp on' }));
    const log: string[] = [];
    const ground = {
      clock: systemClock,
      logger: createLogger('info', (line) => log.push(line)),
      registry,
      nodeId: 'hub-aaaaaaaaaaaaaaaa',
      env: {},
      hub: { name: 'hall', version: '1' },
    } as unknown as ConnectorContext;
    const config = { relay: relay.url, meshId: 'open', announce: ['core:*'], ...over };
    const { tools, service } = openAtmosphere(ground, { atmosphere: config });
    if (!service) throw new Error('no service');
    stack.use(service);
    await service.start();
    const look = async (params: JsonObject = {}) => {
      const context = { clock: systemClock, signal: AbortSignal.timeout(5_000) } as unknown as ToolContext;
      return (await tools[0]?.handler(params, context)) as JsonObject;
    };
    return { look, log };
  }

  const peerOn = async (relay: AtmosphereRelay, node: string) =>
    stack.use(await joinRelay(`${relay.url}/relay/open`, { node_id: node, name: node, capabilities: [] }));
  const OWN = 'a'.repeat(16);

  test('announces both dialects when it enters, and hears those of others', async () => {
    const relay = stack.use(await AtmosphereRelay.start());
    const peer = await peerOn(relay, 'p1');
    const { look } = await bridgeOn(relay);
    await expect.poll(() => peer.heard.filter(({ type }) => type === 'message').length, LIMIT).toBe(2);
    expect(peer.heard.filter(({ type }) => type === 'message')).toMatchObject([
      { from: OWN, payload: { type: 'capability_announce', capabilities: [{ tools: ['core:lamp_on'] }] } },
      { from: OWN, payload: { type: 'gossip', node_id: OWN, capabilities: ['Lamp on'] } },
    ]);
    peer.broadcast(gossip('p1', now()));
    await expect.poll(async () => JSON.stringify((await look({ node: 'p1' })).nodes), LIMIT).toContain('A model');
  });

  test('stands garbage, lies, wrong order and depths, and drops them', async () => {
    const relay = stack.use(await AtmosphereRelay.start());
    const { look, log } = await bridgeOn(relay);
    const peer = await peerOn(relay, 'p1');
    await expect.poll(async () => (await look()).connected, LIMIT).toBe(true);
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
    const garbage: (string | Buffer | JsonObject)[] = [
      '',
      '{',
      'null',
      '[]',
      '"x"',
      deep,
      `{"type":${deep}}`,
      Buffer.from([0xff, 0xfe]),
      `{"type":"message","from":"p1","payload":${deep}}`,
      `{"type":"message","from":"p1","payload":{"type":${deep},"app":${deep}}}`,
      `{"type":"message","from":"p1","payload":{"type":"tool_response","request_id":${deep}}}`,
      `{"type":"peers","peers":${deep}}`,
      `{"type":"peer_left","node_id":${deep}}`,
      `{"type":"peer_joined","node_id":${deep}}`,
      { type: 'joined' },
      { type: 'mesh_registered', success: false },
      { type: 'error', code: 'X', message: 'y' },
      { type: 'message' },
      { type: 'message', from: 7, payload: {} },
      { type: 'peers', peers: [null, 7, { node_id: {} }] },
      { type: '__proto__', payload: { constructor: 1 } },
      { type: 'chat_request', messages: [] },
    ];
    for (const one of garbage) relay.say(OWN, one);
    peer.broadcast(gossip('somebody-else', now()));
    peer.broadcast({ type: 'tool_call', app: 'hall', tool: 'core:lamp_on', params: {}, request_id: 'r1' });
    const told = gossip('p1', now());
    peer.broadcast(told);
    peer.broadcast(told);
    await expect.poll(async () => JSON.stringify((await look({ node: 'p1' })).nodes), LIMIT).toContain('A model');
    await expect.poll(async () => (await look()).dropped, LIMIT).toBe(2);
    expect(await look()).toMatchObject({ connected: true, nodes: [{ node: 'p1' }] });
    // Incoming calls are off: silence.
    expect(JSON.stringify(peer.heard)).not.toContain('tool_response');
    expect(log.join('')).not.toContain('atmosphere.disconnected');
  });

  test('hangs up on a message that is too long, and comes back', async () => {
    const relay = stack.use(await AtmosphereRelay.start());
    const { look, log } = await bridgeOn(relay);
    await expect.poll(() => relay.nodes, LIMIT).toEqual([OWN]);
    relay.say(OWN, JSON.stringify({ type: 'message', from: 'x', payload: { type: 'gossip', data: 'x'.repeat(5_000_000) } }));
    await expect.poll(() => relay.entries.length, LIMIT).toBe(2);
    await expect.poll(async () => (await look()).connected, LIMIT).toBe(true);
    expect(log.join('')).toContain('payload size exceeded');
  });

  test('that is driven out by somebody of its name comes back, also when the relay takes it off its list for that', async () => {
    const relay = stack.use(await AtmosphereRelay.start());
    const { log } = await bridgeOn(relay);
    await expect.poll(() => relay.nodes, LIMIT).toEqual([OWN]);
    const thief = await joinRelay(`${relay.url}/relay/open`, { node_id: OWN });
    await expect.poll(() => relay.entries.length, LIMIT).toBe(3);
    expect(log.join('')).toContain('Replaced by new connection');
    thief[Symbol.dispose]();
    await expect.poll(() => relay.nodes, LIMIT).toEqual([]);
    // The next ping finds out.
    await expect.poll(() => relay.nodes, { timeout: 40_000, interval: 100 }).toEqual([OWN]);
    expect(log.join('')).toContain('the relay has forgotten us');
  });

  test('is there again after the relay was cut, says why it refused, and says goodbye', async () => {
    const relay = stack.use(await AtmosphereRelay.start());
    const peer = await peerOn(relay, 'p1');
    const { look } = await bridgeOn(relay);
    await expect.poll(() => relay.nodes, LIMIT).toContain(OWN);
    await expect.poll(() => JSON.stringify(peer.heard), LIMIT).toContain('peer_joined');
    relay.cut();
    await expect.poll(async () => (await look()).connected, LIMIT).toBe(false);
    await expect.poll(async () => (await look()).connected, LIMIT).toBe(true);
    relay.mood = 'closed';
    relay.cut();
    await expect.poll(async () => (await look()).problem, LIMIT).toBe('the relay refused: RELAY_CLOSED refused');
    await stack.disposeAsync();
    stack = new AsyncDisposableStack();
    expect(relay.nodes).toEqual([]);
  });

  test('does not hold the hub up where there is no relay', async () => {
    const relay = await AtmosphereRelay.start();
    await relay[Symbol.asyncDispose]();
    const { look } = await bridgeOn(relay);
    await expect.poll(async () => (await look()).problem, LIMIT).toContain('ECONNREFUSED');
  });
});
