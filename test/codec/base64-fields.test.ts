import { describe, expect, test } from 'vitest';
import { base64Fields, isBase64Schema, mentionsBase64 } from '../../src/codec/base64.ts';
import type { Json, JsonSchema } from '../../src/core/json.ts';

const BYTES = { type: 'string', contentEncoding: 'base64' };
const pathsOf = (schema: JsonSchema, value: Json) => base64Fields(schema, value).map(({ path }) => path.join('/'));

describe('base64 fields', () => {
  test('are the texts with base64 in the schema, and no others', () => {
    const schema = { type: 'object', properties: { image: BYTES, name: { type: 'string' } } };
    expect(base64Fields(schema, { image: 'AAEC', name: 'AAEC', other: 'AAEC' })).toEqual([{ path: ['image'], text: 'AAEC' }]);
    expect(base64Fields({ type: 'object' }, { image: 'AAEC' })).toEqual([]);
    expect(base64Fields({}, 'AAEC')).toEqual([]);
  });

  test('are found in lists, in further members and at the root', () => {
    expect(pathsOf(BYTES, 'AAEC')).toEqual(['']);
    expect(pathsOf({ items: BYTES }, ['AAEC', 'AA==', 'no'])).toEqual(['0', '1']);
    expect(pathsOf({ prefixItems: [{}, BYTES], items: { type: 'string' } }, ['AAEC', 'AAEC', 'AAEC'])).toEqual(['1']);
    expect(pathsOf({ additionalProperties: BYTES, properties: { a: {} } }, { a: 'AAEC', b: 'AAEC' })).toEqual(['b']);
    const mail = { properties: { files: { items: { properties: { content: BYTES } } } } };
    expect(pathsOf(mail, { files: [{ name: 'a', content: 'AAEC' }, { name: 'b' }] })).toEqual(['files/0/content']);
  });

  test('are found in any branch of the schema', () => {
    const image = { oneOf: [{ type: 'string', format: 'uri' }, BYTES] };
    expect(pathsOf({ properties: { image } }, { image: 'AAEC' })).toEqual(['image']);
    expect(pathsOf({ properties: { image } }, { image: 'https://example.org/a.png' })).toEqual([]);
    expect(pathsOf({ allOf: [{ properties: { a: BYTES } }], properties: { b: {} } }, { a: 'AAEC', b: 'AAEC' })).toEqual(['a']);
    expect(isBase64Schema(image)).toBe(true);
    expect(isBase64Schema({ properties: { image } })).toBe(false);
  });

  test('have the order of RFC 8785', () => {
    const schema = { additionalProperties: { additionalProperties: BYTES, items: BYTES } };
    const value = { b: { '10': 'AAAA', '9': 'BBBB' }, a: ['CCCC', 'DDDD'], é: { x: 'EEEE' } };
    expect(pathsOf(schema, value)).toEqual(['a/0', 'a/1', 'b/10', 'b/9', 'é/x']);
  });

  test.each(['', 'AB==', 'AA', 'AA-_', 'AA==\n'])('do not include text that its bytes do not encode to, such as %j', (text) => {
    expect(base64Fields(BYTES, text)).toEqual([]);
  });

  test('may have names of the prototype', () => {
    const value = JSON.parse('{"__proto__":"AAEC","constructor":"AAEC"}') as Json;
    expect(pathsOf({ properties: { image: BYTES } }, value)).toEqual([]);
    expect(pathsOf({ additionalProperties: BYTES }, value)).toEqual(['__proto__', 'constructor']);
  });

  test('a schema without base64 leaves the value unread', () => {
    expect(mentionsBase64({ properties: { image: { description: 'in base64' } } })).toBe(false);
    expect(mentionsBase64({ properties: { image: BYTES } })).toBe(true);
  });
});
