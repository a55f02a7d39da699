import { describe, expect, test } from 'vitest';
import type { RemoteEvents } from '../../src/calls/mesh-ports.ts';
import type { Authenticator, Principal } from '../../src/core/auth/principal.ts';
import { DeviceAttention } from '../../src/core/devices/device-attention.ts';
import { NO_HOME_NAMES } from '../../src/core/devices/device-names.ts';
import type { Peer } from '../../src/core/mesh-view.ts';
import { EventFeed, RemoteEventStreams } from '../../src/http/event-feed.ts';
import { EventVisibility } from '../../src/http/event-visibility.ts';
import { eventRoutes } from '../../src/http/routes/event-routes.ts';
import { createHttpApp } from '../../src/http/server/http-app.ts';
import { ReadRateLimiter, TokenGuessLockout } from '../../src/http/server/rate-limits.ts';
import { VisibleHome } from '../../src/http/visible-home.ts';
import { makePipeline, NO_OTHERS, owner } from '../calls/pipeline-fixture.ts';
import { HOST, MemoryDirectory, MemoryReadings, PORT } from './http-fixture.ts';

function makeStream(principalOf: (token: string) => Principal = () => owner, subscribe: RemoteEvents['subscribe'] = async () => {}) {
  const { events, clock, collaborators, registry, jobs } = makePipeline();
  const feed = new EventFeed(events, clock);
  feed.start();
  const { authorizer } = collaborators;
  const authenticator: Authenticator = {
    authenticate: async ({ bearer = '' }) => ({ principal: principalOf(bearer) }),
    isStillValid: () => true,
  };
  const home = new VisibleHome({
    directory: new MemoryDirectory(),
    readings: new MemoryReadings(),
    authorizer,
    attention: new DeviceAttention(clock),
    mesh: NO_OTHERS.view,
    homeNames: NO_HOME_NAMES,
  });
  const visibility = new EventVisibility({ authorizer, registry, jobs, home, people: { personOf: () => undefined } });
  const remote = new RemoteEventStreams({ events: { subscribe: (...asked) => subscribe(...asked) }, clock });
  const mesh = { peers: () => [{ id: 'hub-2', name: 'attic' } as Peer] };
  const routes = eventRoutes({ feed, remote, mesh, visibility, authenticator, maxPendingBytes: 1_048_576 });
  const app = createHttpApp(routes, {
    proxy: undefined,
    authenticator,
    clock,
    logger: collaborators.logger,
    onAnswer: () => {},
    port: () => PORT,
    isOwnName: () => false,
    guesses: new TokenGuessLockout(clock, () => {}),
    reads: new ReadRateLimiter(clock),
  });
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

  test('takes only as many listeners as a board can feed, few of one agent and its children, and one of each before any gets more', async () => {
    const { feed, open } = makeStream((id) => ({ id, kind: 'agent', permissions: [] }));
    const statusFor = async (id: string) => (await open('/api/v1/events', { authorization: `Bearer ${id}` })).status;
    for (const id of ['one', 'one/child']) for (let count = 0; count < 4; count++) expect(await statusFor(id)).toBe(200);
    expect([await statusFor('one'), await statusFor('one/other/child')]).toEqual([503, 503]);
    for (const id of ['two', 'three', 'four']) for (let count = 0; count < 8; count++) expect(await statusFor(id)).toBe(200);
    expect(await statusFor('five')).toBe(200);
    expect(await (await open('/api/v1/events', { authorization: 'Bearer five' })).json()).toMatchObject({
      status: 503,
      code: 'RESOURCE_EXCEEDED',
    });
    for (let count = 1; count < 32; count++) expect(await statusFor(`other-${count}`)).toBe(200);
    expect(await statusFor('last')).toBe(503);
    expect(feed.listenerCount).toBe(64);
  });

  test('counts the events of other hubs among those that one account hears', async () => {
    const endless = () => new Promise<void>(() => {});
    const { open } = makeStream((id) => ({ id, kind: 'agent', permissions: [] }), endless);
    const statusFor = async (query: string) => (await open(`/api/v1/events${query}`, { authorization: 'Bearer one' })).status;
    for (let count = 0; count < 4; count++) expect([await statusFor('?hub=attic'), await statusFor('')]).toEqual([200, 200]);
    expect([await statusFor('?hub=attic'), await statusFor('')]).toEqual([503, 503]);
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
    for (const types of ['dev.*', 'device', 'agi.tool', '*'])
      expect([types, (await open(`/api/v1/events?types=${types}`)).status]).toEqual([types, 400]);
  });

  test('a listener that never reads is let go after a bounded number of events', async () => {
    const { events, feed, open } = makeStream();
    await open('/api/v1/events');
    for (let count = 0; count < 5_000 && feed.listenerCount > 0; count++) events.emit('device.added', `d${count}`);
    expect(feed.listenerCount).toBe(0);
  });
});
