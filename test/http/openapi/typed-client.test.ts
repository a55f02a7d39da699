import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  everyOperation,
  generateClient,
  hasGenerator,
  MISTAKES,
  type Seen,
  typeErrors,
  type UseHub,
  writeProgram,
} from '../../openapi-client/typed-client.ts';
import { ask, TOKEN } from '../http-fixture.ts';
import { makeRegisteringHub } from './registering-hub.ts';

const isPossible = hasGenerator();

// Without a package registry there is no generator; scripts/check tells what was skipped.
describe.skipIf(!isPossible)('a typed client made from the OpenAPI document', () => {
  const { httpApi } = makeRegisteringHub();
  let folder = '';

  beforeAll(async () => {
    folder = await generateClient((await ask(httpApi, '/openapi.json')).json);
  });
  afterAll(() => {
    if (folder !== '') rmSync(folder, { recursive: true });
  });

  test('compiles, and does what it says against the hub', async () => {
    expect(await typeErrors(folder)).toBe('');
    const { useHub } = (await import(join(folder, 'use-hub.ts'))) as { useHub: UseHub };
    // Fetch leaves the Host header to the socket, and here is none.
    const here = (request: Request) => {
      const headers = new Headers(request.headers);
      headers.set('host', '127.0.0.1:8081');
      return Promise.resolve(httpApi.app.fetch(new Request(request, { headers })));
    };
    expect(await useHub('http://127.0.0.1:8081', TOKEN, here)).toEqual({
      status: 'ok',
      registered: 'custom:say@1.0.0',
      listed: expect.any(Number),
      result: 'hello',
      refused: 'DEVICE_NOT_FOUND',
      failed: 'VALIDATION_ERROR',
      removed: 'custom:say@1.0.0',
    } satisfies Seen);
  });

  test('calls every operation of the document, and reads by one type whatever is refused', async () => {
    const document = (await ask(httpApi, '/openapi.json')).json;
    writeFileSync(join(folder, 'every-operation.ts'), everyOperation(document));
    expect(await typeErrors(folder, ['every-operation.ts'])).toBe('');
    const wrong = everyOperation(document).replace('failure?.error.code;', 'failure?.code;');
    writeFileSync(join(folder, 'every-mistake.ts'), wrong);
    expect(await typeErrors(folder, ['every-mistake.ts'])).toContain('error TS');
  });

  describe('with a mistake', () => {
    let errors = '';
    beforeAll(async () => {
      for (const [index, mistake] of MISTAKES.entries()) writeProgram(folder, `mistake-${index}.ts`, mistake);
      errors = await typeErrors(
        folder,
        MISTAKES.map((_, index) => `mistake-${index}.ts`),
      );
    });

    test.each(MISTAKES.map(([right, wrong], index) => ({ right, wrong, index })))(
      '$right written as $wrong does not compile',
      ({ index }) => {
        expect(errors).toMatch(new RegExp(`mistake-${index}\\.ts\\(\\d+,\\d+\\): error TS`));
      },
    );
  });
});
