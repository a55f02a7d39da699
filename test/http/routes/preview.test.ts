import { describe, expect, test } from 'vitest';
import { agent } from '../../calls/pipeline-fixture.ts';
import { ask, authenticatorOf, makeDevice, makeHttpApi } from '../http-fixture.ts';

const READER = 'reader-secret';

function makeHouse() {
  const authenticator = authenticatorOf({ [READER]: agent('device:read:hall-lamp') });
  const setup = makeHttpApi({ authenticator });
  setup.directory.devices = [makeDevice('hall-lamp', { area: 'Hall' }), makeDevice('porch')];
  for (const id of ['hall-lamp', 'porch']) {
    const permissions = [`device:control:${id}`];
    const name = `${id.replace('-', '_')}_turn_on`;
    setup.addTool({ name, namespace: 'matter', requires: { permissions }, metadata: { title: `Turn on ${id}`, device: id } });
  }
  return setup;
}

const preview = (setup: ReturnType<typeof makeHouse>, permissions: unknown, bearer?: string) =>
  ask(setup.httpApi, '/api/v1/tokens/preview', {
    method: 'POST',
    body: JSON.stringify({ permissions }),
    headers: { 'content-type': 'application/json', ...(bearer && { authorization: `Bearer ${bearer}` }) },
  });

describe('POST /api/v1/tokens/preview', () => {
  test('tells the devices and tools that a token would be shown, and makes none', async () => {
    const setup = makeHouse();
    const { status, json } = await preview(setup, ['device:control:hall-lamp']);
    expect(status).toBe(200);
    expect(json).toEqual({
      devices: [{ id: 'hall-lamp', name: 'hall lamp', area: 'Hall' }],
      tools: [{ id: 'matter:hall_lamp_turn_on@1.0.0', name: 'Turn on hall-lamp' }],
    });
    expect(setup.audited).toEqual([]);
  });

  test('tells nobody more than it may see itself', async () => {
    const { json } = await preview(makeHouse(), ['device:control:*', 'device:read:*'], READER);
    expect(json.devices.map(({ id }: { id: string }) => id)).toEqual(['hall-lamp']);
    expect(JSON.stringify(json)).not.toContain('porch');
  });

  test.each([[undefined], [[]], [['device:read:*', 'nonsense']], [[7]], [Array(65).fill('device:read:*')]])(
    'refuses %j',
    async (permissions) => {
      expect(await preview(makeHouse(), permissions)).toMatchObject({ status: 400, json: { code: 'VALIDATION_ERROR' } });
    },
  );
});
