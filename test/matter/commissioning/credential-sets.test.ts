import { describe, expect, test, vi } from 'vitest';
import { AtmoError } from '../../../src/core/errors.ts';
import { CredentialSetStore, fetchActiveDataset } from '../../../src/matter/commissioning/network-credentials.ts';
import { MemoryStore } from '../memory-store.ts';
import { THREAD_DATASET } from '../thread-dataset.ts';

const refusal = (work: () => void): AtmoError => {
  try {
    work();
  } catch (error) {
    if (error instanceof AtmoError) return error;
  }
  expect.unreachable('it was accepted');
};

describe('credential sets', () => {
  test('are listed by network, never with their secret', () => {
    const sets = new CredentialSetStore({ store: new MemoryStore() });
    sets.setWifi('home', 'Our place', 'correct horse');
    sets.setThread('mesh', THREAD_DATASET);
    expect(sets.list()).toEqual([
      { name: 'home', kind: 'wifi', network: 'Our place' },
      { name: 'mesh', kind: 'thread', network: 'ProbeThread' },
    ]);
  });

  test('survive a restart of the hub', () => {
    const store = new MemoryStore();
    new CredentialSetStore({ store }).setWifi('home', 'Our place', 'correct horse');
    expect(new CredentialSetStore({ store }).credentialsFor('wifi', 'home')).toEqual({
      kind: 'wifi',
      ssid: 'Our place',
      password: 'correct horse',
    });
  });

  test('the error for a missing set names the sets of that kind', () => {
    const sets = new CredentialSetStore({ store: new MemoryStore() });
    expect(() => sets.credentialsFor('wifi', 'home')).toThrow(/there is none yet/);
    sets.setThread('mesh', THREAD_DATASET);
    sets.setWifi('home', 'Our place', '');
    expect(() => sets.credentialsFor('thread', 'home')).toThrow(/there are mesh/);
    expect(sets.remove('home')).toBe(true);
    expect(sets.remove('home')).toBe(false);
  });

  test.each([
    ['a long name of two-byte letters', 'ä'.repeat(17), 'correct horse', '/ssid'],
    ['no name', '', 'correct horse', '/ssid'],
    ['a short password', 'Our place', '1234567', '/password'],
    ['a long password', 'Our place', 'x'.repeat(65), '/password'],
    ['a password with a line break', 'Our place', 'correct\nhorse', '/password'],
  ])('a Wi-Fi network with %s is refused', (_what, ssid, password, pointer) => {
    const sets = new CredentialSetStore({ store: new MemoryStore() });
    const error = refusal(() => sets.setWifi('home', ssid, password));
    expect(error.details).toEqual({ pointer });
    if (password.length > 0) expect(error.message).not.toContain(password);
    expect(sets.list()).toEqual([]);
  });

  test('accept an open network, a passphrase and a raw key', () => {
    const sets = new CredentialSetStore({ store: new MemoryStore() });
    for (const password of ['', 'x'.repeat(63), 'a0'.repeat(32)]) expect(() => sets.setWifi('home', 'Our place', password)).not.toThrow();
  });

  test('store a dataset without its white space', () => {
    const sets = new CredentialSetStore({ store: new MemoryStore() });
    sets.setThread('mesh', THREAD_DATASET.toUpperCase().replaceAll(/(.{32})/g, '$1 \n'));
    expect(sets.credentialsFor('thread', 'mesh').datasetHex).toBe(THREAD_DATASET);
  });

  test.each([
    ['half a byte', THREAD_DATASET.slice(1), 'even number'],
    ['something else', 'not hex', 'even number'],
    ['its end cut off', THREAD_DATASET.slice(0, -6), 'cut off'],
    ['its key missing', THREAD_DATASET.replace('051000112233445566778899aabbccddeeff', ''), 'lacks networkKey'],
    [
      'a key of 8 bytes',
      THREAD_DATASET.replace('051000112233445566778899aabbccddeeff', '05080011223344556677'),
      'networkKey|16 bytes|cut off',
    ],
    ['too many bytes', THREAD_DATASET + 'ff02aabb'.repeat(50), 'at most 254'],
  ])('a Thread dataset with %s is refused without being repeated', (_what, dataset, reason) => {
    const error = refusal(() => new CredentialSetStore({ store: new MemoryStore() }).setThread('mesh', dataset));
    expect(error.message).toMatch(new RegExp(reason));
    expect(error.message).not.toContain('00112233');
  });

  test.each([[''], ['../x'], ['a b'], ['x'.repeat(65)]])('%j is no name', (name) => {
    expect(refusal(() => new CredentialSetStore({ store: new MemoryStore() }).setWifi(name, 'Our place', '')).details).toEqual({
      pointer: '/name',
    });
  });
});

test('a dataset is asked of the named border router, whatever path its address has', async () => {
  const asked = vi.spyOn(globalThis, 'fetch').mockImplementation(async () => new Response(THREAD_DATASET));
  const { signal } = new AbortController();
  for (const path of ['', '/', '//other.example/', '///', '/api/?x#y'])
    await fetchActiveDataset(`http://router.example:8081${path}`, { signal });
  expect(asked.mock.calls.map(([url]) => String(url))).toEqual(
    ['', '', '//other.example', '//', '/api'].map((path) => `http://router.example:8081${path}/node/dataset/active`),
  );
  asked.mockRestore();
});
