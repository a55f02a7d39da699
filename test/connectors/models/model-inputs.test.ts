import { describe, expect, test } from 'vitest';
import { mediaTypeOf } from '../../../src/connectors/media-type.ts';
import { loadMedia } from '../../../src/connectors/models/model-inputs.ts';
import type { FetchPublic } from '../../../src/connectors/web/public-fetch.ts';

const latin1 = (text: string) => Uint8Array.from(text, (letter) => letter.charCodeAt(0));
const PNG = latin1('\x89PNG\r\n\x1a\nrest');
const WAV = latin1('RIFF\x24\x00\x00\x00WAVEfmt ');
const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64');

function source({ status = 200, body = PNG, permissions = ['net:read'] } = {}) {
  const asked: string[] = [];
  const fetchPublic: FetchPublic = async ({ url }) => {
    asked.push(url);
    return { status, url, headers: new Headers(), body: new Uint8Array(body) };
  };
  const context = { signal: new AbortController().signal, permissions };
  const load = (text: string, kind: 'image' | 'audio' = 'image') => loadMedia(text, { kind, context, fetchPublic });
  return { asked, load };
}

describe('a picture or recording', () => {
  test('is taken from base64, a data: URI or an address', async () => {
    const { asked, load } = source();
    const picture = { kind: 'image', type: 'image/png', ending: 'png', bytes: PNG };
    expect(await load(base64(PNG))).toEqual(picture);
    expect(await load(`data:image/png;base64,${base64(PNG)}`)).toEqual(picture);
    expect(await load('https://example.org/a.png')).toEqual(picture);
    expect(await load(base64(WAV), 'audio')).toMatchObject({ type: 'audio/wav', ending: 'wav' });
    expect(asked).toEqual(['https://example.org/a.png']);
  });

  test('has the type of its bytes, whatever its address claims', async () => {
    await expect(source({ body: latin1('<html>') }).load('https://example.org/a.png')).rejects.toMatchObject({ code: 'VALIDATION_ERROR' });
    await expect(source().load(base64(WAV))).rejects.toThrow(/audio\/wav and no image/);
    await expect(source().load('file:///etc/passwd')).rejects.toThrow(/neither base64/);
  });

  test('of an address needs the permission to read the web', async () => {
    const { asked, load } = source({ permissions: ['vision:analyze'] });
    await expect(load('https://example.org/?secret')).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
    expect(asked).toEqual([]);
  });

  test('that the address does not have is refused with its status', async () => {
    await expect(source({ status: 404 }).load('https://example.org/a.png')).rejects.toMatchObject({
      code: 'SERVICE_REFUSED',
      details: { status: 404 },
    });
  });
});

test('the first bytes decide the type of a file', () => {
  const types = ['\xff\xd8\xff\xe0', 'GIF89a', 'RIFF....WEBP', 'fLaC', 'OggS', 'ID3', '\xff\xfb', '....ftypM4A ', '\x1aE\xdf\xa3'];
  expect(types.map((head) => mediaTypeOf(latin1(head))?.ending)).toEqual([
    'jpg',
    'gif',
    'webp',
    'flac',
    'ogg',
    'mp3',
    'mp3',
    'm4a',
    'webm',
  ]);
  expect(mediaTypeOf(new Uint8Array())).toBeUndefined();
});
