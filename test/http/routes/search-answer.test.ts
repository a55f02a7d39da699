import { beforeEach, expect, test } from 'vitest';
import { agent } from '../../calls/pipeline-fixture.ts';
import { modernClient, resultOf } from '../../mcp/mcp-clients.ts';
import { ask, authenticatorOf, makeDevice, makeHttpApi, makeReading } from '../http-fixture.ts';

let setup: ReturnType<typeof makeHttpApi>;

/** Two lamps of the same kind, a lock, and a reading without a tool of its own. */
beforeEach(() => {
  setup = makeHttpApi({ authenticator: authenticatorOf({ narrow: agent('device:control:hall-lamp') }) });
  const { addTool, directory, readings, clock } = setup;
  directory.devices = [
    makeDevice('hall-lamp', { name: 'Ball lamp', area: 'Hall' }),
    makeDevice('attic-lamp', { name: 'Cone lamp', area: 'Attic' }),
    makeDevice('wallbox', { name: 'Car charger', area: 'Hall' }),
  ];
  for (const [device, area] of [
    ['hall-lamp', 'Hall'],
    ['attic-lamp', 'Attic'],
  ] as const)
    addTool({
      name: `${device.replace('-', '_')}_turn_on`,
      description: `Turns on "${device === 'hall-lamp' ? 'Ball lamp' : 'Cone lamp'}"`,
      metadata: { title: 'Turn on', category: 'acting', device, area },
      execution: { side_effects: true },
      requires: { permissions: [`device:control:${device}`] },
    });
  addTool({
    name: 'query_sensor',
    description: 'Reads a sensor',
    metadata: { title: 'Query sensor', category: 'sensing' },
    parameters: { type: 'object', required: ['sensor_id'], properties: { sensor_id: { type: 'string', description: 'Id of a sensor' } } },
    requires: { permissions: ['sensor:read:{sensor_id}'] },
  });
  readings.readings = [makeReading('wallbox/charging', 1, clock.now())];
});

test.each([
  ['GET /api/v1/tools', async (q: string) => (await ask(setup.httpApi, `/api/v1/tools?q=${encodeURIComponent(q)}`)).json],
  ['POST /api/v1/tools/discover', async (query: string) => (await ask(setup.httpApi, '/api/v1/tools/discover', { body: { query } })).json],
  ['search_tools', async (query: string) => (await resultOf(await modernClient(setup.httpApi), 'search_tools', { query })) as never],
] as const)('%s says how sure it is, which one may be meant, and what can be read', async (_door, find) => {
  const sure = await find('turn on the lamp in the hall');
  expect(sure.unsure).toBe(false);
  expect(sure.tools).toHaveLength(1);
  expect(sure.tools[0].confidence).toBeGreaterThan(0.9);
  expect(sure).not.toHaveProperty('which_one');

  const tie = await find('turn on the lamp');
  expect(tie.which_one.question).toBe('Which one?');
  expect(tie.which_one.candidates.map(({ device }: { device: string }) => device).toSorted()).toEqual(['attic-lamp', 'hall-lamp']);

  const junk = await find('feed the cat');
  expect(junk).toMatchObject({ tools: [], unsure: true });

  const question = await find('is the car charging?');
  expect(question.unsure).toBe(false);
  expect(question.readings[0].id).toBe('wallbox/charging');
  expect(question.tools.map(({ name }: { name: string }) => name)).toEqual(['query_sensor']);
  expect(question.tools[0].suggested_parameters ?? question.tools[0].with).toEqual({ sensor_id: 'wallbox/charging' });

  const foreign = await find('打开走廊的灯');
  expect(foreign.note).toContain('not known');
});

test('a token finds no reading, device or area that it may not see', async () => {
  const { json } = await ask(setup.httpApi, '/api/v1/tools?q=is+the+car+charging', { token: 'narrow' });
  expect(JSON.stringify(json)).not.toContain('wallbox');
});

test('GET /api/v1/devices finds readings and areas as well', async () => {
  const { json } = await ask(setup.httpApi, '/api/v1/devices?q=is+the+car+charging');
  expect(json.readings[0]).toMatchObject({ id: 'wallbox/charging', confidence: expect.any(Number) });
  expect(json.unsure).toBe(false);
  const { json: attic } = await ask(setup.httpApi, '/api/v1/devices?q=attic');
  expect(attic.areas[0]).toMatchObject({ id: 'attic', name: 'Attic' });
  expect(attic.devices[0]).toMatchObject({ id: 'attic-lamp', confidence: expect.any(Number) });
});
