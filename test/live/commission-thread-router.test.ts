import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { CredentialSetStore, fetchActiveDataset } from '../../src/matter/commissioning/network-credentials.ts';
import { MemoryStore } from '../matter/memory-store.ts';
import { THREAD_DATASET } from '../matter/thread-dataset.ts';

let server: Server | undefined;

async function routerThat(listener: RequestListener): Promise<string> {
  const started = createServer(listener);
  server = started;
  await new Promise<void>((resolve) => started.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(started.address() as AddressInfo).port}`;
}

/** Answers as ot-br-posix does: text/plain is TLV hex, the JSON form only for who asks for it. */
const borderRouter: RequestListener = (request, response) => {
  if (request.url !== '/node/dataset/active') return void response.writeHead(404).end();
  if (request.headers.accept !== 'text/plain') return void response.writeHead(200).end('{"NetworkName":"x"}');
  response.writeHead(200, { 'content-type': 'text/plain' }).end(THREAD_DATASET.toUpperCase());
};

const signal = new AbortController().signal;

afterEach(async () => {
  server?.closeAllConnections();
  await new Promise((resolve) => (server === undefined ? resolve(undefined) : server.close(resolve)));
  server = undefined;
});

describe('the REST API of a border router', () => {
  test('gives the active dataset, which makes a credential set', async () => {
    const url = await routerThat(borderRouter);
    const sets = new CredentialSetStore({ store: new MemoryStore() });
    expect(sets.setThread('home', await fetchActiveDataset(`${url}/`, { signal }))).toEqual({
      name: 'home',
      kind: 'thread',
      network: 'ProbeThread',
    });
  });

  test.each([
    [404, 'NOT_FOUND', 'no OpenThread REST API'],
    [204, 'NOT_FOUND', 'no Thread network yet'],
    [500, 'RESULT_INVALID', 'HTTP status 500'],
    [302, 'DEVICE_UNREACHABLE', 'No border router answers'],
  ])('status %i is told as %s', async (status, code, text) => {
    const url = await routerThat((_request, response) => response.writeHead(status, { location: 'http://127.0.0.1:1/' }).end());
    await expect(fetchActiveDataset(url, { signal })).rejects.toMatchObject({ code, message: expect.stringContaining(text) });
  });

  test.each([['<html>'], [''], ['0e08'], ['zz'.repeat(40)], ['00'.repeat(5_000)]])(
    'an answer such as %.10s is no dataset',
    async (answer) => {
      const url = await routerThat((_request, response) => response.end(answer));
      const failure = fetchActiveDataset(url, { signal });
      await expect(failure).rejects.toMatchObject({ code: 'RESULT_INVALID' });
    },
  );

  test('silence ends in a timeout, and a caller may stop waiting', async () => {
    const url = await routerThat(() => {});
    await expect(fetchActiveDataset(url, { signal, timeoutMs: 200 })).rejects.toMatchObject({ code: 'TIMEOUT' });
    await expect(fetchActiveDataset(url, { signal: AbortSignal.timeout(50) })).rejects.toMatchObject({ code: 'CANCELLED' });
  });

  test('nobody there is unreachable', async () => {
    const url = await routerThat(borderRouter);
    await new Promise((resolve) => server?.close(resolve));
    await expect(fetchActiveDataset(url, { signal })).rejects.toMatchObject({ code: 'DEVICE_UNREACHABLE' });
  });

  test.each([['ftp://host'], ['host:8081'], ['http://user:word@host'], ['']])('%j is no address of a router', async (url) => {
    await expect(fetchActiveDataset(url, { signal })).rejects.toMatchObject({ code: 'VALIDATION_ERROR' });
  });
});
