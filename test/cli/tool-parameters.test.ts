import { mkdirSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { fileCandidates } from '../../src/cli/completion-candidates.ts';
import { typedParams, typedValue } from '../../src/cli/tool-command.ts';
import type { JsonObject } from '../../src/core/json.ts';
import { withDirectory } from './cli-fixture.ts';

const stdinOf = (...parts: (string | Uint8Array)[]) =>
  (async function* () {
    yield* parts;
  })();
const typed = (words: readonly string[], parameters: JsonObject, stdin = stdinOf()) => typedParams(words, { parameters }, { stdin });

describe('key=value words', () => {
  test('take the types of the schema', async () => {
    const schema = {
      type: 'object',
      properties: {
        level: { type: 'integer' },
        name: { type: 'string' },
        isOn: { type: 'boolean' },
        rooms: { type: 'array', items: { type: 'string' } },
        numbers: { type: 'array', items: { type: 'number' } },
        colour: { type: 'object' },
        either: { anyOf: [{ type: 'number' }, { type: 'string' }] },
        maybe: { type: ['number', 'null'] },
        any: { type: ['string', 'number', 'boolean', 'object', 'array', 'null'] },
      },
    };
    const words = [
      'level=40',
      'name=12',
      'isOn=off',
      'rooms=hall,attic',
      'numbers=[1,2]',
      'colour={"r":1}',
      'either=21.5',
      'maybe=null',
      'any=a, b',
      'x=y=z',
    ];
    expect(await typed(words, schema)).toEqual({
      level: 40,
      name: '12',
      isOn: false,
      rooms: ['hall', 'attic'],
      numbers: [1, 2],
      colour: { r: 1 },
      either: 21.5,
      maybe: null,
      any: 'a, b',
      x: 'y=z',
    });
  });

  test('a value of another type stays text, so that the hub reports it', () => {
    expect(typedValue('much', { type: 'integer' })).toBe('much');
    expect(typedValue('0x10', { type: 'number' })).toBe('0x10');
    expect(typedValue('maybe', { type: 'boolean' })).toBe('maybe');
    expect(typedValue('{', { type: 'object' })).toBe('{');
  });

  test('a value of an enum keeps its type', () => {
    expect(typedValue('off', { enum: ['off', 'on'] })).toBe('off');
    expect(typedValue('5', { enum: ['5', '6'] })).toBe('5');
    expect(typedValue('5', { enum: [5, 6] })).toBe(5);
  });

  test('a word without = and a name given twice are wrong usage', async () => {
    await expect(typed(['on'], {})).rejects.toThrow(/key=value/);
    await expect(typed(['=1'], {})).rejects.toThrow(/key=value/);
    await expect(typed(['a=1', 'a=2'], {})).rejects.toThrow(/twice/);
  });

  test('names of the prototype are ordinary names', async () => {
    expect(await typed(['constructor=1', 'toString=x'], { properties: {} })).toEqual({ constructor: 1, toString: 'x' });
  });
});

describe('key=@FILE', () => {
  const schema = {
    type: 'object',
    properties: {
      image: { type: 'string', anyOf: [{ type: 'string', contentEncoding: 'base64' }, { type: 'string' }] },
      text: { type: 'string' },
      level: { type: 'integer' },
      state: { type: 'string', enum: ['on', 'off'] },
      data: { type: 'object' },
    },
  };
  const inFolder = (run: (dir: string) => Promise<void>) =>
    withDirectory(async (dir) => {
      writeFileSync(`${dir}/photo.jpg`, Uint8Array.of(255, 216, 255, 0));
      writeFileSync(`${dir}/text`, 'Grüß Gott\n');
      writeFileSync(`${dir}/number`, '40\n');
      writeFileSync(`${dir}/on`, 'on\n');
      writeFileSync(`${dir}/data`, '{"a": [1]}\n');
      mkdirSync(`${dir}/photos`);
      await run(dir);
    });

  test('is base64 where the schema takes it, else text or the type of the schema', () =>
    inFolder(async (dir) => {
      const words = [`image=@${dir}/photo.jpg`, `text=@${dir}/text`, `level=@${dir}/number`, `state=@${dir}/on`, `data=@${dir}/data`];
      const expected = { image: '/9j/AA==', text: 'Grüß Gott\n', level: 40, state: 'on', data: { a: [1] } };
      expect(await typed(words, schema)).toEqual(expected);
      expect(await typed([`x=@${dir}/data`], {})).toEqual({ x: { a: [1] } });
    }));

  test('@- is stdin, once', async () => {
    expect(await typed(['image=@-'], schema, stdinOf(Uint8Array.of(255, 216), Uint8Array.of(255, 0)))).toEqual({ image: '/9j/AA==' });
    expect(await typed(['text=@-'], schema, stdinOf('Gr', 'üß'))).toEqual({ text: 'Grüß' });
    await expect(typed(['image=@-', 'text=@-'], schema)).rejects.toThrow(/Only one parameter/);
  });

  test('@@ begins a text, and base64 may still be written out', async () => {
    const words = ['text=@@anna', 'image=/9j/AA==', 'state=@@on'];
    expect(await typed(words, schema)).toEqual({ text: '@anna', image: '/9j/AA==', state: '@on' });
  });

  test('an unreadable, binary or too large file is an error with its name', () =>
    inFolder(async (dir) => {
      const refused = (word: string, tool: JsonObject = {}) =>
        expect(typedParams([word], { parameters: schema, ...tool }, { stdin: stdinOf() })).rejects;
      await refused('text=@anna').toThrow('The file anna cannot be read (ENOENT); for the text "@anna" itself write text=@@anna');
      await refused(`text=@${dir}`).toThrow('(EISDIR)');
      await refused(`text=@${dir}/photo.jpg`).toThrow(`The file ${dir}/photo.jpg is not UTF-8 text, and text takes no bytes`);
      const small = { execution: { max_params_bytes: 7 } };
      await refused(`image=@${dir}/photo.jpg`, small).toMatchObject({ code: 'PAYLOAD_TOO_LARGE', details: { max_bytes: 3 } });
      await refused(`text=@${dir}/text`, small).toThrow('text has more than the 7 bytes that text may have');
      expect(
        await typedParams([`image=@${dir}/photo.jpg`], { parameters: schema, execution: { max_params_bytes: 8 } }, { stdin: stdinOf() }),
      ).toEqual({ image: '/9j/AA==' });
      writeFileSync(`${dir}/large`, Buffer.alloc(65_537));
      await refused(`text=@${dir}/large`).toMatchObject({ code: 'PAYLOAD_TOO_LARGE' });
    }));

  test('a TAB offers files behind @, and folders with a slash', () =>
    inFolder(async (dir) => {
      const offered = (typedWord: string) => fileCandidates(typedWord)?.map(({ text }) => text);
      expect(offered(`image=@${dir}/ph`)).toEqual([`image=@${dir}/photo.jpg`, `image=@${dir}/photos/`]);
      expect(offered(`image=@${dir}/none/x`)).toEqual([]);
      expect(offered('image=@package.j')).toEqual(['image=@package.json']);
      for (const other of ['image=@@x', 'image=x', 'imag', 'image=@-']) expect(offered(other)).toBe(undefined);
    }));
});
