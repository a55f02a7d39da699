import { connect } from '@nats-io/transport-node';
import { createClient } from '@redis/client';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { findDebianTool } from '../../../scripts/network-lab/debian-tool.ts';
import { connectNats, NatsPublisher } from '../../../src/connectors/nats/nats-publisher.ts';
import { connectRedis, RedisMirror, RegistryCommands } from '../../../src/connectors/redis/redis-mirror.ts';
import { systemClock } from '../../../src/core/clock.ts';
import { EventBus } from '../../../src/core/events.ts';
import { silentLogger } from '../../../src/core/logger.ts';
import { toolId } from '../../../src/tools/definition/tool-names.ts';
import { ToolRegistry } from '../../../src/tools/registry/tool-registry.ts';
import { SchemaValidator } from '../../../src/tools/schema/schema-validator.ts';
import { makeTool } from '../../calls/pipeline-fixture.ts';
import { cableTo } from './cable.ts';
import { freePort, startServer } from './started-server.ts';

const LIMIT = { timeout: 20_000, interval: 50 };
const owned: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of owned.splice(0).reverse()) await end();
});

const redisArgs = (port: number) => [
  '--port',
  String(port),
  '--bind',
  '127.0.0.1',
  '--save',
  '',
  '--appendonly',
  'no',
  '--protected-mode',
  'no',
];

async function redisWorld(port: number) {
  const server = await startServer('redis-server', redisArgs(port), { port });
  owned.push(() => server.stop());
  const client = createClient({ url: `redis://127.0.0.1:${port}` });
  client.on('error', () => {});
  await client.connect();
  owned.push(async () => client.destroy());
  return { server, client };
}

async function mirrorTo(port: number) {
  const events = new EventBus('test', systemClock);
  const registry = new ToolRegistry({ validator: new SchemaValidator() });
  registry.register(makeTool({ name: 'lamp_on', title: 'Lamp on' }));
  const mirror = new RedisMirror(
    { clock: systemClock, logger: silentLogger, events, registry, keys: new RegistryCommands('', 'hub-1'), open: connectRedis },
    { url: `redis://127.0.0.1:${port}`, prefix: '', usage: true },
  );
  await mirror.start();
  owned.push(() => mirror[Symbol.asyncDispose]());
  return { events, registry };
}

describe.skipIf(!findDebianTool('redis-server'))('tools in a real Redis', () => {
  test('come and go with the registry, and leave those of others alone', async () => {
    const port = await freePort();
    const { client } = await redisWorld(port);
    await client.sAdd('tools:registry', 'tool_of_somebody_else');
    const { registry } = await mirrorTo(port);
    await vi.waitFor(async () => expect(await client.sMembers('tools:registry')).toContain('core:lamp_on@1.0.0'), LIMIT);
    expect(JSON.parse((await client.get('tool:core:lamp_on@1.0.0')) ?? '')).toMatchObject({
      name: 'Lamp on',
      safety_level: 'low',
      created_by: 'system',
      node: 'hub-1',
    });
    registry.register(makeTool({ name: 'lamp_off' }));
    registry.unregister(toolId({ namespace: 'core', name: 'lamp_on', version: '1.0.0' }));
    await vi.waitFor(
      async () => expect((await client.sMembers('tools:registry')).sort()).toEqual(['core:lamp_off@1.0.0', 'tool_of_somebody_else']),
      LIMIT,
    );
    expect(await client.get('tool:core:lamp_on@1.0.0')).toBeNull();
  });

  test('finished calls are in the histories of their agent and of all, without parameters', async () => {
    const port = await freePort();
    const { client } = await redisWorld(port);
    const { events } = await mirrorTo(port);
    events.emit('agi.tool.result', 'core:lamp_on@1.0.0', {
      tool: 'core:lamp_on@1.0.0',
      agent_id: 'cook',
      params: { pin: 1 },
      duration_ms: 4,
    });
    events.emit('agi.tool.failed', 'core:lamp_on@1.0.0', { tool: 'core:lamp_on@1.0.0', agent_id: 'maid', code: 'TIMEOUT' });
    await vi.waitFor(async () => expect(await client.lLen('tools:global:usage_history')).toBe(2), LIMIT);
    const [own] = await client.lRange('tools:cook:usage_history', 0, -1);
    expect(JSON.parse(own ?? '')).toEqual({
      ts: expect.stringMatching(/^20/),
      type: 'result',
      tool: 'core:lamp_on@1.0.0',
      agent: 'cook',
      duration_ms: 4,
    });
    expect(JSON.parse((await client.lRange('tools:maid:usage_history', 0, -1))[0] ?? '')).toMatchObject({
      type: 'failed',
      error: 'TIMEOUT',
    });
  });

  test('are there again after Redis was away at the start, and after it came back empty', async () => {
    const port = await freePort();
    await mirrorTo(port);
    const first = await redisWorld(port);
    await vi.waitFor(async () => expect(await first.client.sMembers('tools:registry')).toEqual(['core:lamp_on@1.0.0']), LIMIT);
    first.client.destroy();
    await first.server.stop();
    const second = await redisWorld(port);
    await vi.waitFor(async () => expect(await second.client.sMembers('tools:registry')).toEqual(['core:lamp_on@1.0.0']), LIMIT);
  });
});

describe.skipIf(!findDebianTool('nats-server'))('events over a real NATS', () => {
  const problems: string[] = [];

  async function publisherTo(port: number) {
    const events = new EventBus('test', systemClock);
    const target = { servers: [`nats://127.0.0.1:${port}`], name: 'hub' };
    const publisher = new NatsPublisher(
      { events, logger: { ...silentLogger, warn: (event: string) => problems.push(event) }, open: connectNats },
      { target, subjectPrefix: 'home.', types: ['agi.tool.*', 'device.added'] },
    );
    await publisher.start();
    owned.push(() => publisher[Symbol.asyncDispose]());
    return events;
  }

  async function subscriber(port: number) {
    const connection = await connect({ servers: [`nats://127.0.0.1:${port}`], reconnect: false });
    owned.push(() => connection.close());
    const heard: { subject: string; text: string }[] = [];
    const subscription = connection.subscribe('home.>', {
      callback: (_, message) => void heard.push({ subject: message.subject, text: message.string() }),
    });
    await connection.flush();
    return { heard, subscription };
  }

  const serve = async (port: number) => {
    const server = await startServer('nats-server', ['-a', '127.0.0.1', '-p', String(port)], { port });
    owned.push(() => server.stop());
    return server;
  };

  test('those of the wanted types arrive under their type, others stay at home', async () => {
    const port = await freePort();
    await serve(port);
    const { heard } = await subscriber(port);
    const events = await publisherTo(port);
    events.emit('sensor.reading', 'hall/temperature', { value: 20 });
    events.emit('device.added', 'lamp', { name: 'Lamp' });
    events.emit('agi.tool.result', 'core:echo@1.0.0', { tool: 'core:echo@1.0.0' });
    await vi.waitFor(() => expect(heard.map(({ subject }) => subject)).toEqual(['home.device.added', 'home.agi.tool.result']), LIMIT);
    expect(JSON.parse(heard[0]?.text ?? '')).toMatchObject({
      specversion: '1.0',
      type: 'device.added',
      subject: 'lamp',
      data: { name: 'Lamp' },
    });
  });

  test('what happens while the server is away arrives when it is there', async () => {
    const port = await freePort();
    const cable = await cableTo(port);
    owned.push(cable.pull);
    const events = await publisherTo(cable.port);
    events.emit('agi.tool.invoked', 'core:echo@1.0.0', { turn: 1 });
    const server = await serve(port);
    const first = await subscriber(port);
    events.emit('agi.tool.invoked', 'core:echo@1.0.0', { turn: 2 });
    await vi.waitFor(() => expect(first.heard.some(({ text }) => text.includes('"turn":2'))).toBe(true), LIMIT);
    problems.length = 0;
    await server.stop();
    await vi.waitFor(() => expect(problems).toContain('nats.disconnected'), LIMIT);
    events.emit('agi.tool.invoked', 'core:echo@1.0.0', { turn: 3 });
    // Core NATS keeps nothing: who listens before the hub is back hears it.
    await cable.pull();
    await serve(port);
    const second = await subscriber(port);
    await cable.plug();
    await vi.waitFor(() => expect(second.heard.some(({ text }) => text.includes('"turn":3'))).toBe(true), LIMIT);
  });
});
