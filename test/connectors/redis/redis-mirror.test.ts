import { expect, test } from 'vitest';
import type { ConnectionEvents } from '../../../src/connectors/connector.ts';
import { type RedisCommand, RedisMirror, RegistryCommands } from '../../../src/connectors/redis/redis-mirror.ts';
import { EventBus } from '../../../src/core/events.ts';
import { silentLogger } from '../../../src/core/logger.ts';
import { ToolRegistry } from '../../../src/tools/registry/tool-registry.ts';
import { SchemaValidator } from '../../../src/tools/schema/schema-validator.ts';
import { makeTool, settled } from '../../calls/pipeline-fixture.ts';
import { ManualClock } from '../../manual-clock.ts';

/** A mirror on a link that answers or fails as the test says. */
async function makeMirror({ usage = true } = {}) {
  const clock = new ManualClock();
  const events = new EventBus('test', clock);
  const registry = new ToolRegistry({ validator: new SchemaValidator() });
  registry.register(makeTool({ name: 'lamp' }));
  const sent: RedisCommand[] = [];
  const warned: unknown[] = [];
  const world = { failure: undefined as string | undefined, members: [] as string[] };
  let told: ConnectionEvents = { onReady: () => {}, onDown: () => {} };
  const logger = { ...silentLogger, warn: (_: string, fields: unknown) => void warned.push(fields) };
  const open = async (_: unknown, link: ConnectionEvents) => {
    told = link;
    return {
      async transact(commands: readonly RedisCommand[]) {
        if (world.failure) throw new Error(world.failure);
        sent.push(...commands);
      },
      members: async () => world.members,
      async [Symbol.asyncDispose]() {},
    };
  };
  const mirror = new RedisMirror(
    { clock, logger, events, registry, keys: new RegistryCommands('home:', 'hub-1'), open },
    { url: 'redis://redis', prefix: 'home:', usage },
  );
  await mirror.start();
  const pass = async (ms: number) => {
    clock.advance(ms);
    await settled();
  };
  return { mirror, events, registry, sent, warned, world, pass, link: () => told };
}

const call = { tool: 'core:lamp@1.0.0', agent_id: 'cook' };
const names = (commands: readonly RedisCommand[]) => commands.map(([name, key]) => `${name} ${key}`);

test('nothing is written before there is a connection, then all of it', async () => {
  const { sent, pass, link, events } = await makeMirror();
  events.emit('agi.tool.result', call.tool, call);
  await pass(1_000);
  expect(sent).toEqual([]);
  link().onReady();
  await pass(1_000);
  expect(names(sent)).toEqual([
    'SET home:tool:core:lamp@1.0.0',
    'SADD home:tools:registry',
    'SADD home:tools:node:hub-1',
    'LPUSH home:tools:global:usage_history',
    'LTRIM home:tools:global:usage_history',
    'LPUSH home:tools:cook:usage_history',
    'LTRIM home:tools:cook:usage_history',
  ]);
});

test('tools of an earlier run that this hub has no longer are removed', async () => {
  const { sent, pass, link, world } = await makeMirror();
  world.members = ['core:lamp@1.0.0', 'core:gone@1.0.0'];
  link().onReady();
  await pass(1_000);
  expect(names(sent).slice(0, 3)).toEqual(['DEL home:tool:core:gone@1.0.0', 'SREM home:tools:registry', 'SREM home:tools:node:hub-1']);
});

test('of the calls made while Redis is away the newest thousand are kept', async () => {
  const { sent, pass, link, events } = await makeMirror();
  for (let turn = 0; turn < 1_005; turn++) events.emit('agi.tool.failed', call.tool, { ...call, duration_ms: turn, code: 'TIMEOUT' });
  link().onReady();
  await pass(1_000);
  const pushed = sent.filter(([name, key]) => name === 'LPUSH' && key?.includes('global')).map(([, , text]) => JSON.parse(text ?? ''));
  expect(pushed).toHaveLength(1_000);
  expect(pushed[0]).toMatchObject({ duration_ms: 5, type: 'failed', error: 'TIMEOUT' });
});

test('a refused transaction is repeated until Redis takes it, and logged once', async () => {
  const { sent, pass, link, world, warned } = await makeMirror();
  world.failure = 'OOM command not allowed';
  link().onReady();
  await pass(300);
  await pass(5_000);
  await pass(5_000);
  expect(warned).toEqual([{ problem: 'OOM command not allowed' }]);
  world.failure = undefined;
  await pass(5_000);
  expect(names(sent)[0]).toBe('SET home:tool:core:lamp@1.0.0');
});

test('calls stay at home where the owner wants no histories', async () => {
  const { sent, pass, link, events } = await makeMirror({ usage: false });
  link().onReady();
  events.emit('agi.tool.result', call.tool, call);
  await pass(1_000);
  expect(names(sent).some((name) => name.startsWith('LPUSH'))).toBe(false);
});

test('a mirror that ended writes nothing more', async () => {
  const { mirror, registry, sent, pass, link } = await makeMirror();
  link().onReady();
  await pass(1_000);
  const before = sent.length;
  await mirror[Symbol.asyncDispose]();
  registry.register(makeTool({ name: 'late' }));
  await pass(700_000);
  expect(sent).toHaveLength(before);
});
