import { expect, test } from 'vitest';
import { collectBounded } from '../../../src/connectors/http-client/http-request.ts';

test('a body is returned in one piece, and the listener receives each part', async () => {
  const heard: number[] = [];
  const body = await collectBounded(new Response('three parts').body ?? [], 11, (part) => heard.push(part.length));
  expect(new TextDecoder().decode(body)).toBe('three parts');
  expect(heard.reduce((sum, length) => sum + length, 0)).toBe(11);
  expect(await collectBounded([], 0)).toEqual(new Uint8Array());
});

test('a body that is too long ends its stream, however much there would be', async () => {
  let pieces = 0;
  let isEnded = false;
  async function* endless() {
    try {
      for (;;) {
        pieces++;
        yield new Uint8Array(100);
      }
    } finally {
      isEnded = true;
    }
  }
  await expect(collectBounded(endless(), 250)).rejects.toMatchObject({ code: 'PAYLOAD_TOO_LARGE', details: { max_bytes: 250 } });
  expect([pieces, isEnded]).toEqual([3, true]);
});
