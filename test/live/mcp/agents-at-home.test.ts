import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { HOME_PERMISSIONS } from '../../../src/cli/mcp/agent-credential.ts';
import { type LiveClient, legacyClient, modernClient, type Way } from './mcp-clients.ts';
import { McpHome } from './mcp-home.ts';

const SENSOR = 'atmo://sensors/garden-thermometer/temperature';
/** Of the lock of the virtual home. */
const PIN = '1234';
const PATIENCE = { timeout: 60_000, interval: 100 };

let home: McpHome;
let token: string;
const clients: LiveClient[] = [];

beforeAll(async () => {
  home = await McpHome.start();
  token = await home.token('butler', HOME_PERMISSIONS);
});
afterEach(async () => {
  for (const client of clients.splice(0)) await client.close();
});
afterAll(() => home[Symbol.asyncDispose]());

type View = 'devices';
const overHttp = (view?: View): Way => ({ kind: 'http', url: `${home.hub.url}/mcp${view ? `/${view}` : ''}`, token });
const overStdio = (view?: View): Way => ({
  kind: 'stdio',
  words: ['--agent', 'butler-at-desk', ...(view ? ['--view', view] : [])],
  env: home.env,
});

async function opened(client: Promise<LiveClient>): Promise<LiveClient> {
  clients.push(await client);
  return client;
}

const lampIsOn = async () => (await home.devices.device('Living room lamp').get(1, 'OnOff', 'OnOff')) === true;
const unlocks = async () =>
  (await home.devices.device('Front door').commands()).filter(({ command }) => command.toLowerCase() === 'unlockdoor').length;
const measure = (celsius: number) =>
  home.devices.device('Garden thermometer').set(1, 'TemperatureMeasurement', 'MeasuredValue', celsius * 100);
const rename = (name: string) => home.hub.result('hub:rename_device', { device_id: 'living-room-lamp', name });
const lamp = (turn: 'on' | 'off') => ({ name: `living_room_lamp_turn_${turn}`, arguments: {} });

const ways = [
  ['a client of 2026-07-28 over HTTP', modernClient, overHttp],
  ['a client of 2026-07-28 over atmo mcp', modernClient, overStdio],
  ['a client of 2025-11-25 over HTTP', legacyClient, overHttp],
  ['a client of 2025-11-25 over atmo mcp', legacyClient, overStdio],
] as const;

describe.each(ways)('%s', (_name, connect, way) => {
  test('finds a tool, switches the lamp itself, and reads what a sensor says', async () => {
    const client = await opened(connect(way()));
    const names = (await client.tools()).map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(['home_overview', 'search_tools', 'read_tool', 'control_tool', 'sensitive_tool']));
    expect(names.length).toBeLessThanOrEqual(20);
    const found = await client.call('search_tools', { query: 'turn on the lamp in the living room' });
    expect(JSON.stringify(found)).toContain('living_room_lamp_turn_on');
    for (const turn of ['on', 'off'] as const) {
      expect(await client.call('control_tool', lamp(turn)), turn).not.toMatchObject({ isError: true });
      expect(await lampIsOn()).toBe(turn === 'on');
    }
    await measure(21.5);
    await expect.poll(() => client.read(SENSOR), PATIENCE).toMatchObject({ value: 21.5, unit: '°C' });
    expect((await client.resources()).map(({ uri }) => uri)).toContain('atmo://devices/front-door');
    expect(await client.read(`${SENSOR}/history?since=1h`)).toMatchObject({ points: expect.any(Array) });
  });

  test('is told when a sensor it subscribed to says something new, and when the list of tools changes', async () => {
    const client = await opened(connect(way('devices')));
    await client.listen(SENSOR);
    await measure(10 + Math.random());
    await expect.poll(() => client.notices, PATIENCE).toContain(SENSOR);
    await rename('Lamp by the sofa');
    try {
      await expect.poll(() => client.notices, PATIENCE).toEqual(expect.arrayContaining(['tools', 'resources']));
      expect((await client.tools()).map(({ name }) => name)).toContain('lamp_by_the_sofa_turn_on');
    } finally {
      await rename('Living room lamp');
    }
  });

  test('has prompts for chores, whose arguments complete', async () => {
    const client = await opened(connect(way()));
    expect(await client.complete('device_checkup', 'device', 'gard')).toContain('Garden thermometer');
    expect(await client.prompt('device_checkup', { device: 'Garden thermometer' })).toContain('garden-thermometer');
  });

  test('is stopped at the lock until a person approves; the call then runs once', async () => {
    const before = await unlocks();
    const unlock = { name: 'front_door_unlock', arguments: { pin: PIN } };
    const silent = await opened(connect(way()));
    expect(await silent.call('control_tool', unlock)).toMatchObject({
      isError: true,
      structuredContent: { details: { call_with: 'sensitive_tool' } },
    });
    const stopped = await silent.call('sensitive_tool', { ...unlock, confirm: true }).catch(() => undefined);
    expect(JSON.stringify(stopped ?? '')).not.toContain('"settled"');
    expect(await silent.call('sensitive_tool', unlock)).toMatchObject({
      isError: true,
      structuredContent: { code: 'APPROVAL_REQUIRED', details: { how: expect.stringContaining('atmo approve') } },
    });
    expect(await unlocks()).toBe(before);
    const questions: string[] = [];
    const onQuestion = async (message: string) => {
      questions.push(message);
      await home.approve(/atmo approve ([0-9a-f]{32})/.exec(message)?.[1] ?? '');
      return 'accept' as const;
    };
    const asking = await opened(connect(way(), { onQuestion }));
    const answer = await asking.call('sensitive_tool', unlock);
    expect(answer, JSON.stringify(answer)).not.toMatchObject({ isError: true });
    expect(questions).toHaveLength(1);
    expect(await unlocks()).toBe(before + 1);
    expect(await silent.call('sensitive_tool', unlock)).toMatchObject({ structuredContent: { code: 'APPROVAL_REQUIRED' } });
    expect(await unlocks()).toBe(before + 1);
  });
});

test('a token that may only read sensors switches nothing and sees no devices', async () => {
  const narrow = await opened(
    modernClient({ kind: 'stdio', words: ['--agent', 'reader', '--allow', 'sensor:read:garden-thermometer/*'], env: home.env }),
  );
  const refused = await narrow.call('control_tool', lamp('on'));
  expect(refused).toMatchObject({ isError: true, structuredContent: { code: expect.stringMatching(/TOOL_NOT_FOUND|PERMISSION_DENIED/) } });
  expect(await lampIsOn()).toBe(false);
  expect((await narrow.resources()).map(({ uri }) => uri)).toEqual([SENSOR]);
});

describe('after the hub was killed under the bridge', () => {
  test.each([
    ['2026-07-28', modernClient],
    ['2025-11-25', legacyClient],
  ] as const)('a client of %s hears at once that it is gone, and goes on when it is back', async (_era, connect) => {
    const client = await opened(connect(overStdio()));
    await client.listen(SENSOR);
    await client.call('home_overview');
    await home.killHub();
    try {
      const askedMs = performance.now();
      await expect(client.call('control_tool', lamp('on'))).rejects.toThrow(/HUB_UNREACHABLE/);
      // Clients wait for a minute by themselves.
      expect(performance.now() - askedMs).toBeLessThan(10_000);
    } finally {
      await home.restartHub();
    }
    await expect.poll(async () => (await client.call('control_tool', lamp('on'))).isError ?? false, PATIENCE).toBe(false);
    expect(await lampIsOn()).toBe(true);
    client.notices.length = 0;
    await measure(30 + Math.random());
    await expect.poll(() => client.notices, PATIENCE).toContain(SENSOR);
    await client.call('control_tool', lamp('off'));
  });
});
