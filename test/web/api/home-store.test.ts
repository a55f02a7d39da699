import { describe, expect, test } from 'vitest';
import { HomeStore } from '../../../src/web/api/home-store.ts';
import { HubClient } from '../../../src/web/api/hub-client.ts';
import { approvalView, deviceView, eventView } from '../home-fixture.ts';

/** A hub that answers when the test lets it. */
function slowHub() {
  const open: { path: string; answer: (body: unknown, status?: number) => void }[] = [];
  const client = new HubClient({
    fetch: (path) =>
      new Promise((resolve) => {
        open.push({ path, answer: (body, status = 200) => resolve(new Response(JSON.stringify(body), { status })) });
      }),
    token: () => 'at1.token',
    onRefused: () => undefined,
  });
  const answerAll = (bodies: Readonly<Record<string, unknown>>) => {
    for (const { path, answer } of open.splice(0)) answer(bodies[path] ?? {}, path in bodies ? 200 : 403);
  };
  return { client, open, answerAll };
}

const HOME = { '/api/v1/devices': { devices: [deviceView('lamp')] }, '/api/v1/approvals': { approvals: [approvalView()] } };
const settle = () => new Promise((resolve) => setImmediate(resolve));

describe('the store of the home', () => {
  test('is loaded once the hub has returned the devices', async () => {
    const hub = slowHub();
    const store = new HomeStore(hub.client);
    const loading = store.reload();
    expect(store.state.isLoaded).toBe(false);
    hub.answerAll(HOME);
    await loading;
    expect(store.state.isLoaded).toBe(true);
    expect(store.state.devices.map(({ id }) => id)).toEqual(['lamp']);
    expect(store.state.approvals).toHaveLength(1);
  });

  test('works for callers who may not read requests', async () => {
    const hub = slowHub();
    const store = new HomeStore(hub.client);
    const loading = store.reload();
    hub.answerAll({ '/api/v1/devices': HOME['/api/v1/devices'] });
    await loading;
    expect([store.state.isLoaded, store.state.problem]).toEqual([true, undefined]);
  });

  test('has the problems of the hub itself, also while the hub does not answer', async () => {
    const hub = slowHub();
    const store = new HomeStore(hub.client);
    for (const bodies of [{ '/healthz': { status: 'degraded', problems: ['state.db is empty'] } }, {}]) {
      const looking = store.refreshHealth();
      hub.answerAll(bodies);
      await looking;
      expect(store.state.hubProblems).toEqual(['state.db is empty']);
    }
    const looking = store.refreshHealth();
    hub.answerAll({ '/healthz': { status: 'ok', problems: [] } });
    await looking;
    expect(store.state.hubProblems).toEqual([]);
  });

  test('has the error of a failed load until the next success', async () => {
    const hub = slowHub();
    const store = new HomeStore(hub.client);
    const failing = store.reload();
    hub.answerAll({});
    await failing;
    expect([store.state.isLoaded, store.state.problem]).toEqual([false, 'The hub answered with status 403 and without a reason']);
    const loading = store.reload();
    hub.answerAll(HOME);
    await loading;
    expect([store.state.isLoaded, store.state.problem]).toEqual([true, undefined]);
  });

  test('loads once more, and only once, after changes during a load', async () => {
    const hub = slowHub();
    const store = new HomeStore(hub.client);
    const loading = store.refresh('devices');
    for (const id of ['a', 'b', 'c']) store.handleEvent(eventView('device.added', id));
    expect(hub.open).toHaveLength(1);
    hub.answerAll(HOME);
    await settle();
    await settle();
    expect(hub.open.map(({ path }) => path)).toEqual(['/api/v1/devices']);
    hub.answerAll(HOME);
    await loading;
    expect(hub.open).toEqual([]);
  });

  test('notifies its listeners once of many changes in one task, and of every event', async () => {
    const store = new HomeStore(slowHub().client);
    let changes = 0;
    const subjects: string[] = [];
    store.subscribe(() => changes++);
    store.onEvent(({ subject }) => subjects.push(subject));
    for (const id of ['a', 'b', 'c']) store.handleEvent(eventView('agi.tool.result', id));
    await settle();
    expect(changes).toBe(1);
    expect(subjects).toEqual(['a', 'b', 'c']);
  });
});
