import { describe, expect, test } from 'vitest';
import { AtmoError } from '../../../src/core/errors.ts';
import { makeTool } from '../../calls/pipeline-fixture.ts';
import { AGENT_TOKEN, ask, makeDevice, makeHttpApi, makeReading } from '../http-fixture.ts';

function makeHouse() {
  const setup = makeHttpApi();
  const { clock, directory, readings } = setup;
  directory.devices = [
    makeDevice('hall-lamp', { name: 'Lamp', area: 'Hall', lastSeenMs: clock.now() - 4_000 }),
    makeDevice('attic-lamp', { name: 'Lamp', reachability: 'unreachable' }),
    makeDevice('porch', { name: 'Porch light', softwareVersion: '1.1' }),
  ];
  readings.readings = [makeReading('hall-lamp/temperature', 21.5, clock.now() - 9_000), makeReading('porch/temperature', 3, 0)];
  setup.addTool({
    name: 'hall_lamp_turn_on',
    namespace: 'matter',
    description: 'Turns the lamp on',
    metadata: { category: 'acting', device: 'hall-lamp' },
  });
  setup.addTool({ name: 'unlock', namespace: 'matter', requires: { permissions: ['device:control:door'] } });
  for (const number of [1, 2, 3]) setup.addTool({ name: `tool_${number}`, metadata: { category: 'computing' } });
  return setup;
}

describe('GET /api/v1/tools', () => {
  test('lists of several versions show models the one that the name means, each name once', async () => {
    const { httpApi, addTool } = makeHouse();
    for (const version of ['1.0.0', '1.1.0', '2.0.0-rc.1'])
      addTool({ name: 'evening', namespace: 'custom', version, description: `Of ${version}` });
    const nameOf = (tool: { name?: string; function?: { name: string } }) => tool.function?.name ?? tool.name;
    for (const query of ['format=openai', 'format=anthropic', 'format=mcp', 'format=openai&q=evening']) {
      const { json } = await ask(httpApi, `/api/v1/tools?limit=100&${query}`);
      const names: readonly string[] = json.tools.map(nameOf);
      expect(names.filter((name) => name === 'evening')).toHaveLength(1);
      expect(new Set(names).size).toBe(names.length);
      expect(JSON.stringify(json)).toContain('Of 1.1.0');
    }
    expect(
      (await ask(httpApi, '/api/v1/tools?limit=100')).json.tools.filter(({ id }: { id: string }) => id.includes('evening')),
    ).toHaveLength(3);
  });

  test('pages through all tools, each once', async () => {
    const { httpApi } = makeHouse();
    const ids: string[] = [];
    let cursor = '';
    for (let pages = 0; pages < 9; pages++) {
      const { json } = await ask(httpApi, `/api/v1/tools?limit=2${cursor}`);
      expect(json.total).toBe(5);
      ids.push(...json.tools.map((tool: { id: string }) => tool.id));
      if (json.next_cursor === undefined) break;
      cursor = `&cursor=${json.next_cursor}`;
    }
    expect(ids).toHaveLength(5);
    expect(new Set(ids).size).toBe(5);
  });

  test('filters by device and category, and ranks by a sentence', async () => {
    const { httpApi } = makeHouse();
    const idsOf = async (query: string) => (await ask(httpApi, `/api/v1/tools?${query}`)).json.tools.map((tool: { id: string }) => tool.id);
    expect(await idsOf('device=hall-lamp')).toEqual(['matter:hall_lamp_turn_on@1.0.0']);
    expect(await idsOf('category=computing&limit=2')).toEqual(['core:tool_1@1.0.0', 'core:tool_2@1.0.0']);
    const { json } = await ask(httpApi, '/api/v1/tools?q=lamp');
    expect(json.tools).toEqual([
      expect.objectContaining({
        id: 'matter:hall_lamp_turn_on@1.0.0',
        score: expect.any(Number),
        reasons: [expect.stringContaining('lamp')],
      }),
    ]);
  });

  test('speaks the forms of model APIs', async () => {
    const { httpApi } = makeHouse();
    expect((await ask(httpApi, '/api/v1/tools?device=hall-lamp&format=openai')).json.tools[0]).toMatchObject({ type: 'function' });
    expect((await ask(httpApi, '/api/v1/tools/tool_1?format=mcp')).json).toMatchObject({ name: 'tool_1', inputSchema: { type: 'object' } });
    expect((await ask(httpApi, '/api/v1/tools/tool_1?format=openai&strict=true')).json).toMatchObject({
      function: { name: 'tool_1', strict: true, parameters: { additionalProperties: false, required: [] } },
    });
    expect((await ask(httpApi, '/api/v1/tools?device=hall-lamp&format=openai&strict=true')).json.tools[0].function.strict).toBe(true);
    expect((await ask(httpApi, '/api/v1/tools?q=lamp&format=openai&strict=true')).json.tools[0].function.strict).toBe(true);
    expect((await ask(httpApi, '/api/v1/tools?format=mcp&strict=true')).json.detail).toContain('strict goes with format=openai');
    expect((await ask(httpApi, '/api/v1/tools?format=grpc')).status).toBe(400);
    expect((await ask(httpApi, '/api/v1/tools?format=grpc')).json.detail).toContain('"grpc" is not one of openai, anthropic, mcp');
  });

  test('what the owner switched off, or what takes a feature that the caller has not, is in no list', async () => {
    const features = { required: { hum: ['music'], sing: ['music'] }, granted: () => [] };
    const { httpApi, addTool } = makeHttpApi({}, { features, pipeline: { disabledTools: ['core:beep', 'sing'] } });
    for (const name of ['beep', 'hum', 'look', 'sing']) addTool({ name });
    const { json } = await ask(httpApi, '/api/v1/tools', { token: AGENT_TOKEN });
    expect(json).toMatchObject({ total: 1, tools: [{ name: 'look' }] });
    // The owner, who may change what takes which feature, is locked out of none.
    expect((await ask(httpApi, '/api/v1/tools')).json).toMatchObject({ total: 2, tools: [{ name: 'hum' }, { name: 'look' }] });
    expect((await ask(httpApi, '/api/v1/tools?q=beep')).json.tools).toEqual([]);
    expect((await ask(httpApi, '/openapi.json', { token: AGENT_TOKEN })).text).not.toContain('core:hum@');
    expect((await ask(httpApi, '/api/v1/tools/beep/invoke', { body: {} })).json.error.code).toBe('RULE_BLOCKED');
  });

  test('a tool that a caller may not see answers like one that does not exist', async () => {
    const { httpApi } = makeHouse();
    const strip = (text: string) =>
      text
        .replaceAll('unlock', 'X')
        .replaceAll('unlick', 'X')
        .replace(/urn:request:[^"]*/, '');
    const hidden = await ask(httpApi, '/api/v1/tools/matter:unlock', { token: AGENT_TOKEN });
    const absent = await ask(httpApi, '/api/v1/tools/matter:unlick', { token: AGENT_TOKEN });
    expect(hidden.status).toBe(404);
    expect(strip(hidden.text)).toBe(strip(absent.text));
    expect((await ask(httpApi, '/api/v1/tools', { token: AGENT_TOKEN })).text).not.toContain('unlock');
    expect((await ask(httpApi, '/openapi.json', { token: AGENT_TOKEN })).text).not.toContain('unlock');
    expect((await ask(httpApi, '/api/v1/tools/matter:unlock')).status).toBe(200);
  });
});

describe('devices', () => {
  test('come with reachability, age, tools and readings', async () => {
    const { httpApi } = makeHouse();
    const { json } = await ask(httpApi, '/api/v1/devices');
    expect(json.devices).toHaveLength(3);
    expect(json.devices[0]).toMatchObject({ id: 'hall-lamp', age_ms: 4_000, tools: ['matter:hall_lamp_turn_on@1.0.0'] });
    expect(json.devices[0].readings[0]).toMatchObject({ value: 21.5, unit: '°C', age_ms: 9_000 });
    expect(json.devices[1]).toMatchObject({ reachability: 'unreachable', last_seen: null, age_ms: null });
    expect((await ask(httpApi, '/api/v1/devices?reachability=unreachable')).json.devices).toHaveLength(1);
    expect((await ask(httpApi, '/api/v1/devices?area=hall')).json.devices).toHaveLength(1);
  });

  test('one device is found by id or unique name, with its endpoints', async () => {
    const { httpApi, directory } = makeHouse();
    const cluster = { id: 6, name: 'OnOff', revision: 6, features: ['LT'], attributes: [], commands: [], events: [] };
    const endpoints = [{ endpoint: 1, deviceTypes: [{ id: 256, name: 'OnOffLight', revision: 3 }], tags: [], clusters: [cluster] }];
    directory.descriptions.set('porch', { device: makeDevice('porch'), endpoints });
    expect((await ask(httpApi, '/api/v1/devices/Porch%20light')).json).toMatchObject({
      id: 'porch',
      software_version: '1.1',
      endpoints: [{ endpoint: 1, device_types: ['OnOffLight'], clusters: [{ name: 'OnOff', features: ['LT'] }] }],
    });
    expect((await ask(httpApi, '/api/v1/devices/porch')).json.description).toBeUndefined();
    expect((await ask(httpApi, '/api/v1/devices/porch?describe=true')).json.description.endpoints[0].clusters[0].revision).toBe(6);
  });

  test('an ambiguous name lists the ids, an unknown one the nearest', async () => {
    const { httpApi } = makeHouse();
    const twice = await ask(httpApi, '/api/v1/devices/lamp');
    expect([twice.status, twice.json.code, twice.json.details.candidates]).toEqual([409, 'AMBIGUOUS_DEVICE', ['hall-lamp', 'attic-lamp']]);
    const wrong = await ask(httpApi, '/api/v1/devices/proch');
    expect([wrong.status, wrong.json.code, wrong.json.details.suggestions]).toEqual([404, 'DEVICE_NOT_FOUND', ['porch']]);
  });
});

describe('sensors', () => {
  test('tell value, unit and age', async () => {
    const { httpApi } = makeHouse();
    const { json } = await ask(httpApi, '/api/v1/sensors?device=porch');
    expect(json.sensors).toEqual([expect.objectContaining({ id: 'porch/temperature', value: 3, at: null, age_ms: null })]);
  });

  test.each(['hall-lamp/temperature', 'hall-lamp%2Ftemperature'])('history of %s in buckets', async (id) => {
    const { httpApi, readings, clock } = makeHouse();
    readings.points = [{ atMs: clock.now() - 60_000, value: 20 }];
    const { json } = await ask(httpApi, `/api/v1/sensors/${id}/readings?since=2h&every=5m&limit=10`);
    expect(readings.asked).toEqual({
      sensor: 'hall-lamp/temperature',
      startMs: clock.now() - 7_200_000,
      endMs: clock.now(),
      aggregation: 'avg',
      everyMs: 300_000,
      limit: 10,
    });
    expect(json.points).toEqual([{ at: '2025-12-31T23:59:00.000Z', value: 20 }]);
    expect(json.sensor.unit).toBe('°C');
  });

  test('the defaults are the last day, raw; ISO times work', async () => {
    const { httpApi, readings, clock } = makeHouse();
    await ask(httpApi, '/api/v1/sensors/porch/temperature/readings');
    expect(readings.asked).toMatchObject({ startMs: clock.now() - 86_400_000, aggregation: 'none' });
    await ask(httpApi, '/api/v1/sensors/porch/temperature/readings?since=2025-12-01T00:00:00Z&until=2025-12-02&agg=max');
    expect(readings.asked).toMatchObject({ startMs: Date.UTC(2025, 11, 1), endMs: Date.UTC(2025, 11, 2), aggregation: 'max' });
  });

  test('wrong ranges and unknown sensors are told', async () => {
    const { httpApi } = makeHouse();
    const at = (path: string) => ask(httpApi, `/api/v1/sensors/${path}`);
    expect((await at('porch/temperature/readings?since=1h&until=2h')).status).toBe(400);
    expect((await at('porch/temperature/readings?since=last-week')).status).toBe(400);
    expect((await at('porch/temperature/readings?since=last-week')).json.detail).toContain(
      'ISO 8601, or a duration before now such as 24h',
    );
    expect((await at('porch/temperature/readings?limit=0')).json.detail).toMatch(/limit: "0" is not a whole number from 1 to \d+/);
    expect((await at('porch/temperature/readings?every=0s')).status).toBe(400);
    expect((await at('Porch/readings')).json.code).toBe('VALIDATION_ERROR');
    const unknown = await at('porch/temperatur/readings');
    expect([unknown.status, unknown.json.code, unknown.json.details.nearest[0]]).toEqual([404, 'SENSOR_NOT_FOUND', 'porch/temperature']);
  });
});

describe('the monitor lists', () => {
  test('GET /api/tools filters by origin, GET /api/tools/usage tells calls', async () => {
    const setup = makeHouse();
    expect((await ask(setup.httpApi, '/api/tools')).json.tools).toHaveLength(5);
    expect((await ask(setup.httpApi, '/api/tools?created_by=agent')).json.tools).toEqual([]);
    await ask(setup.httpApi, '/api/v1/tools/tool_1/invoke', { body: {} });
    await ask(setup.httpApi, '/api/v1/tools/tool_1/invoke', { body: { wrong: 1 } });
    setup.addTool({ name: 'away', handler: () => Promise.reject(new AtmoError('DEVICE_UNREACHABLE', 'It does not answer')) });
    await ask(setup.httpApi, '/api/v1/tools/away/invoke', { body: {} });
    const { json } = await ask(setup.httpApi, '/api/tools/usage');
    expect(json.tools[0]).toMatchObject({ tool: 'core:tool_1@1.0.0', calls: 2 });
    expect(json.tools[1]).toMatchObject({ tool: 'core:away@1.0.0', calls: 1, errors: 1, last_error: 'DEVICE_UNREACHABLE' });
    const [failed, done] = json.recent;
    expect(failed).toMatchObject({ ts: expect.any(String), type: 'failed', tool: 'core:away@1.0.0', error: 'DEVICE_UNREACHABLE' });
    expect(done).toMatchObject({ ts: expect.any(String), type: 'result', tool: 'core:tool_1@1.0.0', agent: 'owner' });
    expect(done.error).toBeUndefined();
    expect((await ask(setup.httpApi, '/api/tools/usage?agent=nobody')).json.recent).toEqual([]);
  });
});

test('GET /api/v1/capabilities tells what the hub has, with tools and devices', async () => {
  const { httpApi, capabilities, registry } = makeHouse();
  capabilities.add({ type: 'matter_bridge', description: () => 'bridge', hasDevices: true });
  registry.register(makeTool({ name: 'lamp_on', requires: { capabilities: ['matter_bridge'] } }));
  const { status, json } = await ask(httpApi, '/api/v1/capabilities');
  expect(status).toBe(200);
  expect(json.capabilities[0]).toMatchObject({ type: 'matter_bridge', description: 'bridge', tools: [{ name: 'core:lamp_on' }] });
  expect(json.capabilities[0].devices.map((device: { id: string; reachable: boolean }) => [device.id, device.reachable])).toContainEqual([
    'attic-lamp',
    false,
  ]);
});
