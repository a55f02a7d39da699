import { describe, expect, test } from 'vitest';
import { openStorage } from '../../../src/connectors/storage/storage-tools.ts';
import type { Principal } from '../../../src/core/auth/principal.ts';
import type { JsonObject } from '../../../src/core/json.ts';
import { agent, makePipeline, owner } from '../../calls/pipeline-fixture.ts';
import { ManualClock } from '../../manual-clock.ts';
import { MemoryKeyValueStore } from '../../memory-key-value-store.ts';

const ann = agent('storage:read:*', 'storage:write:*');
const bob: Principal = { ...ann, id: 'bob' };

function fixture(bounds: Partial<{ maxKeys: number; maxBytes: number }> = {}) {
  const clock = new ManualClock();
  const store = new MemoryKeyValueStore(clock);
  const { tools, capabilities = [] } = openStorage({ store, clock }, { storage: { maxKeys: 5, maxBytes: 2_000, ...bounds } });
  const hub = makePipeline({ clock, capabilities: () => capabilities.map(({ type }) => type) });
  const findings = tools.flatMap((tool) => hub.registry.register(tool));
  const call = async (principal: Principal, tool: string, params: JsonObject) => {
    const answer = await hub.pipeline.call({ principal, tool, params });
    return answer.status === 'success' ? answer.result : answer.error.code;
  };
  return { call, clock, findings, audited: hub.audited };
}

describe('what an agent stores', () => {
  test('is there until it deletes it', async () => {
    const { call, findings } = fixture();
    expect(findings).toEqual([]);
    expect(await call(ann, 'store_data', { key: 'notes/oven', value: { on: [1, null] } })).toEqual({
      success: true,
      key: 'notes/oven',
      created: true,
    });
    expect(await call(ann, 'store_data', { key: 'notes/oven', value: 0 })).toMatchObject({ success: true, created: false });
    expect(await call(ann, 'get_data', { key: 'notes/oven' })).toEqual({ exists: true, value: 0 });
    expect(await call(ann, 'delete_data', { key: 'notes/oven' })).toEqual({ success: true, existed: true });
    expect(await call(ann, 'delete_data', { key: 'notes/oven' })).toEqual({ success: true, existed: false });
    expect(await call(ann, 'get_data', { key: 'notes/oven' })).toEqual({ exists: false, value: null });
  });

  test('ends with its time, and 0 seconds are for ever', async () => {
    const { call, clock } = fixture();
    expect(await call(ann, 'store_data', { key: 'short', value: 1, ttl_seconds: 60 })).toMatchObject({
      expires_at: '2026-01-01T00:01:00.000Z',
    });
    await call(ann, 'store_data', { key: 'long', value: 1, ttl_seconds: 0 });
    clock.advance(59_000);
    expect(await call(ann, 'get_data', { key: 'short' })).toMatchObject({ exists: true, expires_at: '2026-01-01T00:01:00.000Z' });
    clock.advance(1_000);
    expect(await call(ann, 'get_data', { key: 'short' })).toMatchObject({ exists: false });
    clock.advance(10 ** 12);
    expect(await call(ann, 'get_data', { key: 'long' })).toMatchObject({ exists: true });
  });

  test('stays as it was where only something new is to be stored', async () => {
    const { call } = fixture();
    const params = { key: 'lock', if_not_exists: true, ttl_seconds: 10 };
    expect(await call(ann, 'store_data', { ...params, value: 'first' })).toMatchObject({ success: true, created: true });
    expect(await call(ann, 'store_data', { ...params, value: 'second' })).toMatchObject({ success: false, created: false });
    expect(await call(ann, 'get_data', { key: 'lock' })).toMatchObject({ value: 'first' });
  });

  test('is its own: another agent, its child and the owner have the same key for themselves', async () => {
    const { call } = fixture();
    const child = { ...ann, id: 'agent-1/child' };
    const namesake: Principal = { ...ann, id: 'owner' };
    await call(ann, 'store_data', { key: 'k', value: 'ann' });
    for (const other of [bob, child, owner, namesake]) expect(await call(other, 'get_data', { key: 'k' })).toMatchObject({ exists: false });
    await call(bob, 'store_data', { key: 'k', value: 'bob' });
    expect(await call(ann, 'get_data', { key: 'k' })).toMatchObject({ value: 'ann' });
  });

  test('below shared/ is for everybody who is granted it', async () => {
    const { call } = fixture();
    const reader = { ...bob, permissions: ['storage:read:shared/menu'] };
    await call(ann, 'store_data', { key: 'shared/menu', value: 'peas' });
    expect(await call(bob, 'get_data', { key: 'shared/menu' })).toMatchObject({ value: 'peas' });
    expect(await call(reader, 'get_data', { key: 'shared/menu' })).toMatchObject({ value: 'peas' });
    expect(await call(reader, 'get_data', { key: 'shared/other' })).toBe('PERMISSION_DENIED');
    expect(await call(reader, 'store_data', { key: 'shared/menu', value: 'beans' })).not.toMatchObject({ success: true });
  });

  test('does not stand in the journal', async () => {
    const { call, audited } = fixture();
    await call(ann, 'store_data', { key: 'k', value: 'a secret of mine' });
    await call(ann, 'get_data', { key: 'k' });
    expect(audited.length).toBeGreaterThan(1);
    expect(JSON.stringify(audited)).not.toContain('a secret of mine');
  });
});

describe('bounds', () => {
  test('count keys and bytes of an agent with its children; others have their own', async () => {
    const { call } = fixture({ maxKeys: 2 });
    const child = { ...ann, id: 'agent-1/child' };
    await call(ann, 'store_data', { key: 'a', value: 1 });
    await call(child, 'store_data', { key: 'a', value: 1 });
    expect(await call(ann, 'store_data', { key: 'b', value: 1 })).toBe('RESOURCE_EXCEEDED');
    expect(await call(ann, 'store_data', { key: 'a', value: 2 })).toMatchObject({ success: true });
    expect(await call(bob, 'store_data', { key: 'b', value: 1 })).toMatchObject({ success: true });
    await call(child, 'delete_data', { key: 'a' });
    expect(await call(ann, 'store_data', { key: 'b', value: 1 })).toMatchObject({ success: true });
  });

  test('bound the values, and a replaced value counts once', async () => {
    const { call } = fixture({ maxBytes: 1_100 });
    expect(await call(ann, 'store_data', { key: 'a', value: 'x'.repeat(1_000) })).toMatchObject({ success: true });
    expect(await call(ann, 'store_data', { key: 'a', value: 'y'.repeat(1_001) })).toMatchObject({ success: true });
    expect(await call(ann, 'store_data', { key: 'b', value: 'x'.repeat(200) })).toBe('RESOURCE_EXCEEDED');
    expect(await call(bob, 'store_data', { key: 'a', value: 'x'.repeat(1_200) })).toBe('RESOURCE_EXCEEDED');
  });

  test.each(['', 'ä', 'a b', 'a:b', 'x'.repeat(257)])('%j is no key', async (key) => {
    expect(await fixture().call(ann, 'store_data', { key, value: 1 })).toBe('VALIDATION_ERROR');
  });

  test.each(['../up', 'a//b', './a', '/a'])('%s names no one thing that could be granted', async (key) => {
    expect(await fixture().call(ann, 'store_data', { key, value: 1 })).toBe('PERMISSION_DENIED');
  });
});

describe('list_data', () => {
  test('lists own and shared keys by their prefix, page by page', async () => {
    const { call } = fixture();
    for (const key of ['notes/b', 'notes/a', 'other', 'shared/x']) await call(ann, 'store_data', { key, value: 1 });
    await call(bob, 'store_data', { key: 'notes/bob', value: 1 });
    expect(await call(ann, 'list_data', {})).toEqual({
      keys: [{ key: 'notes/a' }, { key: 'notes/b' }, { key: 'other' }, { key: 'shared/x' }],
      total: 4,
    });
    expect(await call(ann, 'list_data', { prefix: 'notes/', limit: 1, offset: 1 })).toEqual({ keys: [{ key: 'notes/b' }], total: 2 });
  });

  test('lists no key that the caller may not read', async () => {
    const { call } = fixture();
    for (const key of ['notes/a', 'shared/x', 'shared/y']) await call(ann, 'store_data', { key, value: 1 });
    const narrow = { ...ann, permissions: ['storage:read:shared/x', 'storage:write:*'] };
    expect(await call(narrow, 'list_data', {})).toEqual({ keys: [{ key: 'shared/x' }], total: 1 });
  });
});
