import { describe, expect, test } from 'vitest';
import { ClientDocuments } from '../../../src/auth/oauth/client-documents.ts';
import type { JsonObject } from '../../../src/core/json.ts';
import { ManualClock } from '../../manual-clock.ts';

const ADDRESS = 'https://app.example/client.json';
const HOUR_MS = 3_600_000;
const nth = (count: number) => `https://app.example/${count}.json`;

function reader(answer: (url: string) => Promise<string> = async () => '{"name":"App"}') {
  const clock = new ManualClock();
  const fetched: string[] = [];
  const fetchDocument = (url: string) => {
    fetched.push(url);
    return answer(url);
  };
  const documents = new ClientDocuments<JsonObject>({ clock, fetchDocument, parse: (_, document) => document });
  return { clock, fetched, read: (url = ADDRESS, source = 'a') => documents.read(url, source) };
}

async function readMany({ read }: ReturnType<typeof reader>, count: number, sourceOf: (index: number) => string): Promise<void> {
  for (let index = 0; index < count; index++) await read(nth(index), sourceOf(index));
}

describe('the metadata documents of clients', () => {
  test('are fetched once for all who ask at the same time', async () => {
    const { read, fetched } = reader();
    const found = await Promise.all([read(), read(ADDRESS, 'b'), read()]);
    expect(found).toEqual([{ name: 'App' }, { name: 'App' }, { name: 'App' }]);
    expect(fetched).toEqual([ADDRESS]);
  });

  test('that cannot be read fail for all who wait, and are asked for again after half a minute', async () => {
    const { read, fetched, clock } = reader(async () => Promise.reject(new Error('no route')));
    const refusal = { details: { oauth_error: 'invalid_client' } };
    for (const waiting of [read(), read()]) await expect(waiting).rejects.toMatchObject(refusal);
    await expect(read()).rejects.toMatchObject(refusal);
    expect(fetched).toHaveLength(1);
    clock.advance(31_000);
    await expect(read()).rejects.toMatchObject(refusal);
    expect(fetched).toHaveLength(2);
  });

  test('are fetched twenty times an hour for one source, which has to wait then; others do not', async () => {
    const hub = reader();
    await readMany(hub, 20, () => 'a');
    const refusal = { code: 'RATE_LIMITED', details: { oauth_error: 'temporarily_unavailable', retry_after_ms: HOUR_MS } };
    await expect(hub.read(nth(20))).rejects.toMatchObject(refusal);
    await expect(hub.read(nth(19))).resolves.toBeDefined();
    await expect(hub.read(nth(20), 'b')).resolves.toBeDefined();
    hub.clock.advance(HOUR_MS);
    await expect(hub.read(nth(21))).resolves.toBeDefined();
  });

  test('are fetched a hundred times an hour in all, however many sources ask', async () => {
    const hub = reader();
    await readMany(hub, 100, String);
    await expect(hub.read(nth(100), 'last')).rejects.toMatchObject({ code: 'RATE_LIMITED' });
    expect(hub.fetched).toHaveLength(100);
  });

  test('are kept for the last 64 addresses alone', async () => {
    const hub = reader();
    await readMany(hub, 65, String);
    await hub.read(nth(64), 'x');
    await hub.read(nth(0), 'x');
    expect(hub.fetched.slice(64)).toEqual([nth(64), nth(0)]);
  });
});
