import { describe, expect, test } from 'vitest';
import { HomeStore } from '../../../src/web/api/home-store.ts';
import { HubClient } from '../../../src/web/api/hub-client.ts';
import { approvalView, deviceView, eventView } from '../home-fixture.ts';

/** A hub that answers when it is told to. */
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
  test('is loaded once the hub has told the home', async () => {
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

  test('works for those who may not see requests', async () => {
    const hub = slowHub();
    const store = new HomeStore(hub.client);
    const loading = store.reload();
    hub.answerAll({ '/api/v1/devices': HOME['/api/v1/devices'] });
    await loading;
    expect([store.state.isLoaded, store.state.problem]).toEqual([true, undefined]);
  });

  test('knows what is wrong with the hub itself, and keeps it while the hub cannot be asked', async () => {
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

  test('says why when the home cannot be had, and forgets that afterwards', async () => {
    const hub = slowHub();
    const store = new HomeStore(hub.client);
    const failing = store.reload();
    hub.answerAll({});
    await failing;
    expect([store.state.isLoaded, store.state.problem]).toEqual([false, 'The hub answered with status 403']);
    const loading = store.reload();
    hub.answerAll(HOME);
    await loading;
    expect([store.state.isLoaded, store.state.problem]).toEqual([true, undefined]);
  });

  test('asks once more, and only once, for what changed while an answer was on its way', async () => {
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

  test('tells its listeners once of many changes of a moment, and every event to those who want each', async () => {
    const store = new HomeStore(slowHub().client);
    let told = 0;
    const heard: string[] = [];
    store.subscribe(() => told++);
    store.onEvent(({ subject }) => heard.push(subject));
    for (const id of ['a', 'b', 'c']) store.handleEvent(eventView('agi.tool.result', id));
    await settle();
    expect(told).toBe(1);
    expect(heard).toEqual(['a', 'b', 'c']);
  });
});
