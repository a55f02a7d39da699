import { expect, test } from 'vitest';
import { bodyText, isHtml, mediaType } from '../../../src/connectors/web/fetch-tools.ts';

function answer(type: string | undefined, ...bytes: readonly number[]) {
  return { headers: new Headers(type === undefined ? {} : { 'content-type': type }), body: Uint8Array.from(bytes) };
}

const ascii = (text: string) => [...Buffer.from(text)];

test.each([
  ['UTF-8 where nothing is said', 'text/plain', [0xc3, 0xa4], 'ä'],
  ['the charset of the header', 'text/plain; charset="ISO-8859-1"', [0xe4], 'ä'],
  ['the charset that a page tells', 'text/html', [...ascii('<meta charset=windows-1252>'), 0x80], '<meta charset=windows-1252>€'],
  ['the mark at the beginning before all', 'text/html; charset=latin1', [0xef, 0xbb, 0xbf, 0xc3, 0xa4], 'ä'],
  ['UTF-16', 'text/plain', [0xff, 0xfe, 0xe4, 0x00], 'ä'],
  ['UTF-8 where the charset does not exist', 'text/plain; charset=klingon', [0xc3, 0xa4], 'ä'],
  ['JSON', 'application/problem+json', ascii('{}'), '{}'],
  ['text of which no type is known', undefined, ascii('plain'), 'plain'],
] as const)('text is read by %s', (_, type, bytes, text) => {
  expect(bodyText(answer(type, ...bytes))).toBe(text);
});

test.each([
  ['a picture', 'image/png', ascii('text?')],
  ['something unknown that is no UTF-8', undefined, [0xff, 0xd8]],
  ['something unknown with a zero', undefined, [0x61, 0x00]],
] as const)('%s is no text', (_, type, bytes) => {
  expect(bodyText(answer(type, ...bytes))).toBeUndefined();
});

test('a page is known by its type, in any letters', () => {
  expect(isHtml(answer('Text/HTML; charset=utf-8'))).toBe(true);
  expect(isHtml(answer('text/plain'))).toBe(false);
  expect(mediaType(answer(undefined))).toBe('');
});
