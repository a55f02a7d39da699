import { describe, expect, test } from 'vitest';
import { createDoor } from '../../src/gateway/door.ts';
import { EventFeed } from '../../src/gateway/event-feed.ts';
import { eventRoutes } from '../../src/gateway/event-routes.ts';
import { makeRoom, owner } from '../tools/tool-room.ts';
import { HOST, PORT } from './gateway-room.ts';

function makeStream() {
  const { events, clock, collaborators } = makeRoom();
  const feed = new EventFeed(events, clock);
  feed.start();
  const authenticator = { authenticate: async () => ({ principal: owner }), isStillValid: () => true };
  const app = createDoor(eventRoutes(feed), { authenticator, clock, logger: collaborators.logger, onAnswer: () => {}, port: () => PORT });
  const open = (path: string, headers: Record<string, string> = {}) =>
    app.request(`http://${HOST}${path}`, { headers: { host: HOST, authorization: 'Bearer x', ...headers } });
  return { events, feed, open };
}

async function readUntil(response: Response, text: string): Promise<string> {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let seen = '';
  while (reader && !seen.includes(text)) {
    const { done, value } = await reader.read();
    if (done) break;
    seen += value;
  }
  await reader?.cancel();
  return seen;
}

describe('GET /api/v1/events', () => {
  test('streams events, and forgets a listener that goes away', async () => {
    const { events, feed, open } = makeStream();
    const response = await open('/api/v1/events?types=device.*');
    expect(response.headers.get('content-type')).toBe('text/event-stream');
    expect(feed.listenerCount).toBe(1);
    events.emit('sensor.reading', 'no');
    events.emit('device.added', 'lamp');
    const seen = await readUntil(response, 'lamp');
    expect(seen).toContain('event: device.added\ndata: {"specversion":"1.0"');
    expect(seen).not.toContain('sensor.reading');
    expect(feed.listenerCount).toBe(0);
  });

  test('a listener that does not read is let go before a megabyte waits for it', async () => {
    const { events, feed, open } = makeStream();
    const response = await open('/api/v1/events');
    for (let sent = 0; sent < 12; sent++) events.emit('device.event', 'lamp', { text: 'x'.repeat(100_000) });
    expect(feed.listenerCount).toBe(0);
    await response.body?.cancel();
  });

  test('takes only as many listeners as a board can feed', async () => {
    const { feed, open } = makeStream();
    for (let count = 0; count < 32; count++) expect((await open('/api/v1/events')).status).toBe(200);
    expect(await (await open('/api/v1/events')).json()).toMatchObject({ status: 503, code: 'RESOURCE_EXCEEDED' });
    expect(feed.listenerCount).toBe(32);
  });

  test('resumes after Last-Event-ID', async () => {
    const { events, open } = makeStream();
    const ids: string[] = [];
    events.listen((event) => ids.push(event.id));
    events.emit('device.added', 'seen');
    events.emit('device.added', 'missed');
    const seen = await readUntil(await open('/api/v1/events', { 'last-event-id': ids[0] ?? '' }), 'missed');
    expect(seen).toContain(`id: ${ids[1]}`);
    expect(seen).not.toContain('"subject":"seen"');
  });

  test('an unknown type is refused with the known ones', async () => {
    const { open } = makeStream();
    const response = await open('/api/v1/events?types=device.added,weather.*');
    expect(response.status).toBe(400);
    expect(await response.text()).toMatch(/weather\.\*.*agi\.tool\.result/);
  });

  test('a listener that never reads is let go after a bounded number of events', async () => {
    const { events, feed, open } = makeStream();
    await open('/api/v1/events');
    for (let count = 0; count < 5_000 && feed.listenerCount > 0; count++) events.emit('device.added', `d${count}`);
    expect(feed.listenerCount).toBe(0);
  });
});
