import { describe, expect, test } from 'vitest';
import { AtmoError } from '../../../src/core/errors.ts';
import type { JsonObject } from '../../../src/core/json.ts';
import { inOwnOrder, moved, PagePreferences, withShownOrder } from '../../../src/web/api/page-preferences.ts';

/** A hub that keeps the preferences of one person. */
function fakeHub(stored: JsonObject = {}) {
  const hub = {
    stored,
    isBroken: false,
    puts: [] as JsonObject[],
    get: async <Answer>(): Promise<Answer> => ({ preferences: hub.stored }) as Answer,
    put: async <Answer>(_path: string, body: JsonObject): Promise<Answer> => {
      await Promise.resolve();
      if (hub.isBroken) throw new AtmoError('STORAGE_FAILED', 'The disk is full');
      hub.puts.push(body);
      return body as Answer;
    },
  };
  return hub;
}

describe('what a person chose for the page', () => {
  test('is loaded from the hub; what is not a list of names is ignored', async () => {
    const preferences = new PagePreferences(fakeHub({ home: { favourites: ['a', 'b'], rooms: 'Hall' } }));
    expect(preferences.home.favourites).toEqual([]);
    await preferences.load();
    expect(preferences.home).toEqual({ favourites: ['a', 'b'], devices: [], rooms: [] });
  });

  test('is shown at once and stored, with what other pages chose', async () => {
    const hub = fakeHub({ other: { kept: true }, home: { favourites: ['a'] } });
    const preferences = new PagePreferences(hub);
    await preferences.load();
    const saved = preferences.changeHome({ rooms: ['Hall'] });
    expect(preferences.home.rooms).toEqual(['Hall']);
    await saved;
    expect(hub.puts).toEqual([{ preferences: { other: { kept: true }, home: { favourites: ['a'], devices: [], rooms: ['Hall'] } } }]);
  });

  test('is stored in the order in which it was chosen', async () => {
    const hub = fakeHub();
    const preferences = new PagePreferences(hub);
    await Promise.all([preferences.changeHome({ favourites: ['a'] }), preferences.changeHome({ favourites: ['a', 'b'] })]);
    expect(hub.puts.at(-1)).toMatchObject({ preferences: { home: { favourites: ['a', 'b'] } } });
  });

  test('is as before when the hub cannot store it, and the next choice is tried again', async () => {
    const hub = fakeHub({ home: { favourites: ['a'] } });
    const preferences = new PagePreferences(hub);
    await preferences.load();
    hub.isBroken = true;
    await expect(preferences.changeHome({ favourites: [] })).rejects.toThrow('The disk is full');
    expect(preferences.home.favourites).toEqual(['a']);
    hub.isBroken = false;
    await preferences.changeHome({ favourites: ['b'] });
    expect(preferences.home.favourites).toEqual(['b']);
  });

  test('is forgotten after the person has signed out', async () => {
    const preferences = new PagePreferences(fakeHub({ home: { favourites: ['a'] } }));
    await preferences.load();
    preferences.clear();
    expect(preferences.home.favourites).toEqual([]);
  });
});

describe('an own order', () => {
  test('comes first; what it does not name stays as it was', () => {
    expect(inOwnOrder(['a', 'b', 'c', 'd'], ['d', 'b', 'gone'], (name) => name)).toEqual(['d', 'b', 'a', 'c']);
  });

  test('changes by one place at a time, and not beyond its ends', () => {
    expect(moved(['a', 'b', 'c'], 'c', -1)).toEqual(['a', 'c', 'b']);
    expect(moved(['a', 'b', 'c'], 'a', 1)).toEqual(['b', 'a', 'c']);
    expect(moved(['a', 'b', 'c'], 'a', -1)).toEqual(['a', 'b', 'c']);
    expect(moved(['a'], 'gone', 1)).toEqual(['a']);
  });

  test('keeps what is not shown now', () => {
    expect(withShownOrder(['x', 'a', 'b'], ['b', 'a'])).toEqual(['b', 'a', 'x']);
  });
});
