import { describe, expect, test } from 'vitest';
import { LexicalEntitySearch } from '../../../src/tools/search/entity-search.ts';
import { namesOf } from '../../tools/search/home-names-fixture.ts';
import { ask, makeDevice, makeHttpApi } from '../http-fixture.ts';

describe('GET /api/v1/devices', () => {
  test('ranks by a sentence and tells other names and floors', async () => {
    const homeNames = namesOf({ devices: { 'hall-lamp': ['Stehlampe'] }, areas: { hall: { floor: 'Ground floor', aliases: [] } } });
    const { httpApi, directory } = makeHttpApi({ homeNames, entities: new LexicalEntitySearch(homeNames) });
    directory.devices.push(makeDevice('hall-lamp', { name: 'Hall lamp', area: 'Hall' }));
    directory.devices.push(makeDevice('attic-lamp', { name: 'Attic lamp', area: 'Attic' }));
    const { json } = await ask(httpApi, '/api/v1/devices?q=stehlampe');
    expect(json.devices[0]).toMatchObject({
      id: 'hall-lamp',
      aliases: ['Stehlampe'],
      floor: 'Ground floor',
      reasons: expect.arrayContaining(['alias: lampe']),
      score: expect.any(Number),
    });
    expect((await ask(httpApi, '/api/v1/devices?q=lamp&limit=1')).json.devices).toHaveLength(1);
    expect((await ask(httpApi, '/api/v1/devices?q=piano')).json.devices).toEqual([]);
    expect((await ask(httpApi, '/api/v1/devices')).json.devices).toHaveLength(2);
  });
});
