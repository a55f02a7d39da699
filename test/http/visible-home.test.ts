import { describe, expect, test } from 'vitest';
import type { Principal } from '../../src/core/auth/principal.ts';
import { agent } from '../calls/pipeline-fixture.ts';
import { ask, authenticatorOf, makeDevice, makeHttpApi, makeReading } from './http-fixture.ts';

/** A house with a lamp and a door, and an agent with these permissions. */
function makeHouse(...permissions: readonly string[]) {
  return makeHouseFor(agent(...permissions));
}

function makeHouseFor(principal: Principal) {
  const setup = makeHttpApi({ authenticator: authenticatorOf({ narrow: principal }) });
  const { directory, readings, clock } = setup;
  directory.devices = [
    makeDevice('lamp', { name: 'Lamp', parent: 'attic-box' as never }),
    makeDevice('door', { name: 'Secret door' }),
    makeDevice('attic-box', { name: 'Attic box', kind: 'bridge' as never }),
  ];
  readings.readings = [
    makeReading('lamp/power', 7, clock.now()),
    makeReading('door/battery', 80, clock.now()),
    makeReading('attic-box/uptime', 1, clock.now()),
  ];
  for (const device of ['lamp', 'door'])
    setup.addTool({
      name: `${device}_use`,
      namespace: 'matter',
      description: `Uses the ${device}`,
      requires: { permissions: [`device:control:${device}`] },
      metadata: { category: 'acting', device },
    });
  setup.capabilities.add({ type: 'matter_bridge', description: (count) => `${count} devices`, hasDevices: true });
  const as = (path: string, body?: unknown) => ask(setup.httpApi, path, { token: 'narrow', ...(body !== undefined && { body }) });
  return { ...setup, as };
}

/** An answer without what differs from request to request. */
function form({ status, text }: { status: number; text: string }, name: string): string {
  return `${status} ${text.replaceAll(name, 'NAME').replace(/urn:request:[^"]*/, '')}`;
}

const OWN = ['device:control:lamp', 'sensor:read:lamp/power'];

describe('an agent with a grant on one lamp', () => {
  test.each([
    '/api/v1/devices',
    '/api/v1/devices/lamp',
    '/api/v1/devices?area=Hall',
    '/api/v1/sensors',
    '/api/v1/capabilities',
    '/api/v1/tools',
    '/api/v1/tools?q=secret door',
    '/api/tools',
    '/api/tools/usage',
    '/api/v1/jobs',
    '/openapi.json',
  ])('%s tells nothing of other devices', async (path) => {
    const { as, httpApi } = makeHouse(...OWN);
    await ask(httpApi, '/api/v1/tools/door_use/invoke', { body: {} });
    const { status, text } = await as(path);
    expect(status).toBe(200);
    expect(text).not.toMatch(/door_use|Secret door|"door["/]|Attic box|attic-box|battery/);
  });

  test.each([
    ['/api/v1/devices/NAME', ['door', 'Secret%20door', 'attic-box']],
    ['/api/v1/sensors/NAME/readings', ['door/battery', 'attic-box/uptime']],
    ['/api/v1/tools/NAME', ['door_use', 'matter:door_use', 'matter:door_use@1.0.0']],
    ['/api/v1/tools?device=NAME', ['door', 'attic-box']],
  ])('%s of what it may not see answers like one of what is not there', async (path, names) => {
    const { as } = makeHouse(...OWN);
    for (const name of names) {
      const absent = name.replace('oo', 'uu').replace('rid', 'rod');
      const [there, gone] = await Promise.all(
        [name, absent].map(async (text) => form(await as(path.replace('NAME', text)), decodeURIComponent(text))),
      );
      expect(there).toBe(gone);
      expect(there).toMatch(/^4(00|04) /);
    }
  });

  test('its own lamp answers', async () => {
    const { as } = makeHouse(...OWN);
    expect((await as('/api/v1/devices')).json.devices).toEqual([
      expect.objectContaining({ id: 'lamp', tools: ['matter:lamp_use@1.0.0'], readings: [expect.objectContaining({ value: 7 })] }),
    ]);
    expect((await as('/api/v1/devices/Lamp')).json).toMatchObject({ id: 'lamp' });
    expect((await as('/api/v1/sensors/lamp/power/readings')).status).toBe(200);
    expect((await as('/api/v1/tools?device=Lamp')).json.total).toBe(1);
    expect((await as('/api/v1/capabilities')).json.capabilities[0].description).toBe('1 devices');
    expect((await as('/api/v1/capabilities')).json.capabilities[0].devices.map(({ id }: { id: string }) => id)).toEqual(['lamp']);
  });

  test('a suggestion is always something that it may see', async () => {
    const { as } = makeHouse(...OWN);
    for (const path of ['/api/v1/devices/doo', '/api/v1/devices/lam', '/api/v1/sensors/door/batter/readings', '/api/v1/tools/door_us'])
      expect((await as(path)).text).not.toMatch(/Secret|door_use|battery"|"attic-box"|"door"/);
    expect((await as('/api/v1/devices/lam')).json.details.suggestions).toEqual(['lamp']);
  });

  test('a value takes the permission to read it, not merely one on the sensor', async () => {
    const { as } = makeHouse('sensor:tune:lamp/power', 'device:control:lamp');
    expect((await as('/api/v1/sensors')).json.sensors).toEqual([]);
    expect((await as('/api/v1/devices/lamp')).json.readings).toEqual([]);
    expect((await as('/api/v1/sensors/lamp/power/readings')).status).toBe(404);
  });
});

describe('calls of others', () => {
  test('are neither listed nor counted, except for admin:audit', async () => {
    const usageOf = async (principal: Principal) => {
      const { as, httpApi } = makeHouseFor(principal);
      for (const _ of [1, 2, 3]) await ask(httpApi, '/api/v1/tools/lamp_use/invoke', { body: {} });
      await as('/api/v1/tools/lamp_use/invoke', {});
      return (await as('/api/tools/usage')).json;
    };
    const own = await usageOf(agent('device:control:lamp'));
    expect(own.tools).toEqual([expect.objectContaining({ tool: 'matter:lamp_use@1.0.0', calls: 1 })]);
    expect(own.agents).toEqual([expect.objectContaining({ agent: 'agent-1', calls: 1, errors: 0 })]);
    expect(own.recent).toEqual([expect.objectContaining({ agent: 'agent-1', type: 'result' })]);
    const all = await usageOf(agent('device:control:lamp', 'admin:audit'));
    expect([all.tools[0].calls, all.recent.length, all.agents.length]).toEqual([4, 4, 2]);
    const namesake = await usageOf({ id: 'owner', kind: 'agent', permissions: ['device:control:door'] });
    expect(namesake).toEqual({ tools: [], agents: [], recent: [] });
  });

  test('are in the metrics, which take admin:hub', async () => {
    expect((await makeHouse('*').as('/metrics')).json).toMatchObject({
      status: 403,
      code: 'PERMISSION_DENIED',
      details: { required: ['admin:hub'] },
    });
    expect((await makeHouse('admin:hub').as('/metrics')).status).toBe(200);
  });
});
