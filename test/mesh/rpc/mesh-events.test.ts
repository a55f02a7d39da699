import { describe, expect, test } from 'vitest';
import type { Principal } from '../../../src/core/auth/principal.ts';
import type { EventType, HubEvent } from '../../../src/core/events.ts';
import { CallFixture, HOUR_MS } from './call-fixture.ts';

const agent: Principal = { id: 'agent-1', kind: 'agent', permissions: ['*'] };

async function listening(
  options: {
    readonly types?: readonly EventType[];
    readonly subjects?: readonly string[];
    readonly hubs?: number;
    readonly ttlMs?: number;
  } = {},
) {
  const { hubs = 2, ttlMs = HOUR_MS, ...wish } = options;
  const setup = await CallFixture.of(hubs);
  await setup.connect(...Array.from({ length: hubs - 1 }, (_, index) => [index, index + 1] as const));
  setup.claims = { expiresAtMs: setup.clock.now() + ttlMs };
  const [entry, executor] = [setup.hub(0), setup.hub(hubs - 1)];
  const heard: HubEvent[] = [];
  const gaps: number[] = [];
  const controller = new AbortController();
  const subscription = { principal: agent, ...wish, signal: controller.signal, onGap: () => gaps.push(heard.length) };
  const ended = entry.client.events
    .subscribe(executor.id, subscription, (event) => heard.push(event))
    .then(
      () => 'ended',
      (error) => error.code,
    );
  await setup.run(0);
  const { events } = executor.setup;
  return { setup, entry, executor, events, heard, gaps, controller, ended };
}

describe('a subscription to another hub', () => {
  test('hears what it asked for, as it was told there and in order', async () => {
    const { setup, events, heard } = await listening({ types: ['device.changed'], subjects: ['hall-light'] });
    events.emit('device.changed', 'hall-light', { on: true });
    events.emit('device.changed', 'kitchen-light', { on: true });
    events.emit('sensor.reading', 'hall-light', {});
    events.emit('device.changed', 'hall-light', { on: false });
    await setup.run(0);
    expect(heard.map(({ type, subject, data }) => [type, subject, data])).toEqual([
      ['device.changed', 'hall-light', { on: true }],
      ['device.changed', 'hall-light', { on: false }],
    ]);
    expect(heard[0]).toMatchObject({ specversion: '1.0', source: 'hub:test' });
  });

  test('hears only what its principal may hear', async () => {
    const { setup, events, heard } = await listening();
    events.emit('device.changed', 'safe', { private: true });
    events.emit('device.changed', 'lamp', {});
    await setup.run(0);
    expect(heard.map(({ subject }) => subject)).toEqual(['lamp']);
  });

  test('works over a hub in between', async () => {
    const { setup, events, heard } = await listening({ hubs: 3 });
    events.emit('device.changed', 'lamp', {});
    await setup.run(0);
    expect(heard).toHaveLength(1);
  });

  test('ends when its listener has enough, on both sides', async () => {
    const { setup, executor, controller, ended, heard } = await listening();
    controller.abort();
    expect(await ended).toBe('ended');
    await setup.run(0);
    executor.setup.events.emit('device.changed', 'lamp', {});
    await setup.run(0);
    expect(heard).toEqual([]);
  });

  test('is mended after a lost connection, and the gap is told', async () => {
    const { setup, entry, executor, events, heard, gaps } = await listening();
    events.emit('device.changed', 'before', {});
    await setup.run(0);
    await entry.engine.disconnect(executor.id);
    await setup.run(1_000);
    events.emit('device.changed', 'missed', {});
    await setup.links.connect(0, 1);
    await setup.run(5_000);
    events.emit('device.changed', 'after', {});
    await setup.run(0);
    expect(heard.map(({ subject }) => subject)).toEqual(['before', 'after']);
    expect(gaps).toEqual([1]);
  });

  test('is given up when the hub is away for a minute', async () => {
    const { setup, entry, executor, ended } = await listening();
    await setup.run(100_000, 1_000);
    await entry.engine.disconnect(executor.id);
    await setup.run(50_000, 1_000);
    expect(await Promise.race([ended, Promise.resolve('waits')])).toBe('waits');
    await setup.run(20_000, 1_000);
    expect(await ended).toBe('NODE_UNAVAILABLE');
  });

  test('to a hub that cannot be reached fails at once', async () => {
    const setup = await CallFixture.of(2);
    const signal = new AbortController().signal;
    const refused = setup.hub(0).client.events.subscribe(setup.hub(1).id, { principal: agent, signal }, () => {});
    await expect(refused).rejects.toMatchObject({ code: 'NODE_UNAVAILABLE' });
  });

  test('ends with its token', async () => {
    const { setup, ended } = await listening({ ttlMs: 20_000 });
    await setup.run(78_000, 1_000);
    expect(await Promise.race([ended, Promise.resolve('waits')])).toBe('waits');
    await setup.run(3_000, 1_000);
    expect(await ended).toBe('TOKEN_EXPIRED');
  });

  test('ends when its token is revoked, with the first event that it may not hear any more', async () => {
    const { setup, entry, events, ended, heard } = await listening();
    setup.revoked.add(`agent-1@${entry.id}`);
    events.emit('device.changed', 'lamp', {});
    await setup.run(0);
    expect([await ended, heard]).toEqual(['TOKEN_EXPIRED', []]);
  });

  test('that falls behind is ended and begun anew, with a gap, instead of losing single events', async () => {
    const { setup, entry, events, heard, gaps } = await listening();
    // Nothing is read: the credit of the window is used up, then the queue.
    for (let count = 0; count < 300; count++) events.emit('device.changed', `d-${count}`, { text: 'x'.repeat(2_000) });
    await setup.run(2_000);
    expect(entry.drops.counts).toEqual({});
    expect(gaps).toHaveLength(1);
    const subjects = heard.map(({ subject }) => subject);
    expect(subjects).toEqual(subjects.map((_, index) => `d-${index}`));
  });

  test('is refused when callers of one hub have too many', async () => {
    const setup = await CallFixture.of(2);
    await setup.connect([0, 1]);
    const signal = new AbortController().signal;
    const told: string[] = [];
    const subscribe = () => setup.hub(0).client.events.subscribe(setup.hub(1).id, { principal: agent, signal }, () => {});
    for (let count = 0; count < 17; count++) subscribe().catch((error) => told.push(error.code));
    await setup.run(0);
    expect(told).toEqual(['RESOURCE_EXCEEDED']);
  });
});
