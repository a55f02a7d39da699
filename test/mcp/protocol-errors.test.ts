import { expect, it } from 'vitest';
import { makeHttpApi } from '../http/http-fixture.ts';
import { legacyClient, modernClient } from './mcp-clients.ts';

const URI = 'atmo://devices/nowhere';

it('a resource that is not there is an error with its URI beside code and details, in both eras', async () => {
  const { httpApi } = makeHttpApi();
  for (const client of [await modernClient(httpApi), await legacyClient(httpApi)]) {
    await expect(client.readResource({ uri: URI })).rejects.toMatchObject({
      code: -32_602,
      data: { code: expect.stringMatching(/NOT_FOUND$/), uri: URI },
    });
  }
});

it('a mistake of the hub is told as its own, and nothing of it but that', async () => {
  const { httpApi, directory } = makeHttpApi();
  directory.list = () => {
    throw new TypeError('secret of the inside');
  };
  const client = await modernClient(httpApi);
  const failure: unknown = await client.listResources().catch((error: unknown) => error);
  expect(failure).toMatchObject({ code: -32_603, data: { code: 'INTERNAL_ERROR' } });
  expect(JSON.stringify(failure) + String(failure)).not.toContain('secret');
});
