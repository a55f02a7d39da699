import { expect, it } from 'vitest';
import { SessionEvents } from '../../src/mcp/server-session.ts';

const message = (id: number) => ({ jsonrpc: '2.0', id, result: {} }) as const;

it('a client that comes back hears the rest of its own stream, once, in order, and nothing of others', async () => {
  const events = new SessionEvents();
  const first = await events.storeEvent('a', message(1));
  await events.storeEvent('b', message(2));
  await events.storeEvent('a', message(3));
  await events.storeEvent('a', message(4));
  const heard: unknown[] = [];
  const send = async (eventId: string, told: object) => void heard.push([eventId.split('_')[1], told]);
  expect(await events.getStreamIdForEventId(first)).toBe('a');
  expect(await events.replayEventsAfter(first, { send })).toBe('a');
  expect(heard).toEqual([
    ['a', message(3)],
    ['a', message(4)],
  ]);
  await events.replayEventsAfter('invented', { send });
  expect(heard).toHaveLength(2);
});

it('keeps the newest 256 messages', async () => {
  const events = new SessionEvents();
  const first = await events.storeEvent('a', message(0));
  for (let id = 1; id <= 400; id++) await events.storeEvent('a', message(id));
  const heard: unknown[] = [];
  await events.replayEventsAfter(first, { send: async (_id, told) => void heard.push(told) });
  expect([heard.length, heard[0], heard.at(-1)]).toEqual([256, message(145), message(400)]);
});
