import { describe, expect, test } from 'vitest';
import type { Principal } from '../../../src/core/auth/principal.ts';
import { ManualClock } from '../../manual-clock.ts';
import { MemoryKeyValueStore } from '../../memory-key-value-store.ts';
import { ask, authenticatorOf, makeHttpApi } from '../http-fixture.ts';

const PATH = '/api/v1/page-preferences';
const CHOSEN = { favourites: ['hall-lamp', 'porch'], language: 'de' };
const person = (id: string): Principal => ({ id, kind: 'agent', permissions: [] });
const TOKENS = { ann: person('ann'), application: person('ann/claude-ai'), ben: person('ben'), owned: person('owner') };

function makeHub(store = new MemoryKeyValueStore(new ManualClock())) {
  const { httpApi } = makeHttpApi({ authenticator: authenticatorOf(TOKENS), store });
  return {
    store,
    read: (token?: string) => ask(httpApi, PATH, { ...(token !== undefined && { token }) }),
    write: (preferences: unknown, token?: string) =>
      ask(httpApi, PATH, { method: 'PUT', body: { preferences }, ...(token !== undefined && { token }) }),
  };
}

describe('preferences of the page', () => {
  test('are empty before the first choice, then what was stored last, also after a restart', async () => {
    const { read, write, store } = makeHub();
    expect((await read()).json).toEqual({ preferences: {} });
    expect(await write(CHOSEN)).toMatchObject({ status: 200, json: { preferences: CHOSEN } });
    await write({ language: 'en' });
    expect((await makeHub(store).read()).json).toEqual({ preferences: { language: 'en' } });
  });

  test('belong to one person, and nobody else sees them', async () => {
    const { read, write } = makeHub();
    await write(CHOSEN, 'ann');
    for (const other of ['ben', 'owned', 'application', undefined]) expect((await read(other)).json).toEqual({ preferences: {} });
    await write({ favourites: [] }, 'ben');
    expect((await read('ann')).json.preferences).toEqual(CHOSEN);
  });

  test('of a person cannot be overwritten by an application of the person', async () => {
    const { read, write } = makeHub();
    await write(CHOSEN, 'ann');
    expect(await write({ favourites: [] }, 'application')).toMatchObject({ status: 403, json: { code: 'PERMISSION_DENIED' } });
    expect((await read('ann')).json.preferences).toEqual(CHOSEN);
  });

  test('need a token', async () => {
    const { httpApi } = makeHttpApi();
    expect((await ask(httpApi, PATH, { method: 'PUT', body: { preferences: {} }, token: 'guess' })).status).toBe(401);
  });

  test.each([[[]], ['text'], [null], [7]])('that are %j are refused, and the stored ones stay', async (wrong) => {
    const { read, write } = makeHub();
    await write(CHOSEN);
    expect(await write(wrong)).toMatchObject({ status: 400, json: { code: 'VALIDATION_ERROR', details: { pointer: '/preferences' } } });
    expect((await read()).json.preferences).toEqual(CHOSEN);
  });

  test('above 16 KiB are refused, and the stored ones stay', async () => {
    const { read, write } = makeHub();
    await write(CHOSEN);
    expect(await write({ order: 'ä'.repeat(8_200) })).toMatchObject({ status: 413, json: { code: 'PAYLOAD_TOO_LARGE' } });
    expect((await read()).json.preferences).toEqual(CHOSEN);
  });

  test('of more accounts than the hub keeps are refused; known accounts still change theirs', async () => {
    const { write, store } = makeHub();
    for (let count = 0; count < 256; count++) store.set('page-preferences', `agent:person-${count}`, {});
    expect(await write(CHOSEN, 'ann')).toMatchObject({ json: { code: 'RESOURCE_EXCEEDED' } });
    store.set('page-preferences', 'agent:ben', {});
    expect((await write(CHOSEN, 'ben')).status).toBe(200);
  });

  test('cannot be written in a circle', async () => {
    const { write } = makeHub();
    const statuses = await Promise.all(Array.from({ length: 510 }, async () => (await write({}, 'ann')).status));
    expect(statuses.filter((status) => status === 429).length).toBeGreaterThanOrEqual(5);
  });
});
