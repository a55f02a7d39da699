import { describe, expect, test } from 'vitest';
import { type CborValue, decodeCbor, encodeCbor } from '../../src/codec/cbor.ts';
import { jsonObject } from '../../src/codec/message-json.ts';
import {
  base64url,
  bool,
  bytes,
  choice,
  hex,
  hubId,
  list,
  listed,
  message,
  messageCodec,
  nullable,
  optional,
  record,
  required,
  scalar,
  signedCodec,
  text,
  tuple,
  uint,
  type ValueOf,
  variants,
} from '../../src/codec/message-schema.ts';
import { AtmoError } from '../../src/core/errors.ts';
import { KEY, PUBLIC_KEY } from './messages/message-samples.ts';

const LAMP = message({
  name: required(1, text({ max: 8 })),
  level: optional(2, uint({ max: 100 })),
  tags: listed(3, list(text({ max: 4 }), { max: 2 })),
});
type Lamp = ValueOf<typeof LAMP>;
const CODEC = messageCodec('Lamp', LAMP);

function refusalOf(work: () => unknown): AtmoError {
  try {
    work();
  } catch (error) {
    if (error instanceof AtmoError) return error;
    throw error;
  }
  throw new RangeError('It was accepted');
}

const encoded = (entries: readonly (readonly [number | string, CborValue])[]) => encodeCbor(new Map(entries));

describe('a table of fields', () => {
  test('is encoded as a map with integer keys and decoded to the value', () => {
    const lamp: Lamp = { name: 'Hall', level: 40, tags: ['a'] };
    expect(decodeCbor(CODEC.encode(lamp))).toEqual(
      new Map<number, CborValue>([
        [1, 'Hall'],
        [2, 40],
        [3, ['a']],
      ]),
    );
    expect(CODEC.decode(CODEC.encode(lamp))).toEqual(lamp);
  });

  test('omits absent optional members, and lists without items', () => {
    const lamp: Lamp = { name: 'Hall', tags: [] };
    expect(decodeCbor(CODEC.encode(lamp))).toEqual(new Map([[1, 'Hall']]));
    const back = CODEC.decode(CODEC.encode(lamp));
    expect(back).toEqual(lamp);
    expect('level' in back).toBe(false);
  });

  test.each<readonly [string, readonly (readonly [number | string, CborValue])[], string, string]>([
    [
      'an unknown key',
      [
        [1, 'Hall'],
        [4, 0],
      ],
      '',
      'has the key 4',
    ],
    [
      'a name as a key',
      [
        [1, 'Hall'],
        ['level', 0],
      ],
      '',
      'has the key "level"',
    ],
    ['a member that is missing', [[2, 1]], 'name', 'is missing'],
    ['a member of another type', [[1, 7]], 'name', 'is not text'],
    [
      'null for an optional member',
      [
        [1, 'Hall'],
        [2, null],
      ],
      'level',
      'is not a whole number from 0 to 100',
    ],
    [
      'a number beyond its bounds',
      [
        [1, 'Hall'],
        [2, 101],
      ],
      'level',
      'is not a whole number from 0 to 100',
    ],
    ['text that is too long in bytes', [[1, 'Küüüüü']], 'name', 'is not text of 1 to 8 bytes'],
    ['empty text', [[1, '']], 'name', 'is not text of 1 to 8 bytes'],
    [
      'a list without items',
      [
        [1, 'Hall'],
        [3, []],
      ],
      'tags',
      'is an empty list',
    ],
    [
      'a list of too many',
      [
        [1, 'Hall'],
        [3, ['a', 'b', 'c']],
      ],
      'tags',
      'does not have 0 to 2 items',
    ],
    [
      'a wrong item of a list',
      [
        [1, 'Hall'],
        [3, ['a', 1]],
      ],
      'tags[1]',
      'is not text',
    ],
  ])('%s is refused with message, member and reason', (_name, entries, member, reason) => {
    const refusal = refusalOf(() => CODEC.decode(encoded(entries)));
    expect(refusal).toMatchObject({ code: 'VALIDATION_ERROR', details: { message: 'Lamp', member } });
    expect(refusal.message).toContain(`Lamp refused: ${member || 'it'} ${reason}`);
  });

  test('refuses to encode a value that it would not decode', () => {
    expect(refusalOf(() => CODEC.encode({ name: 'Hall', level: 101, tags: [] })).details).toEqual({ message: 'Lamp', member: 'level' });
    expect(refusalOf(() => CODEC.encode({ name: 'Hall', level: 1.5, tags: [] })).code).toBe('VALIDATION_ERROR');
    expect(refusalOf(() => messageCodec('Lamp', LAMP, { maxBytes: 4 }).encode({ name: 'Hall', tags: [] })).message).toContain('7 bytes');
  });

  test('refuses an array for a map, and a map for an array', () => {
    expect(refusalOf(() => CODEC.decode(encodeCbor([1]))).message).toContain('it is not a map');
    const pair = messageCodec('Pair', tuple({ a: required(0, bool), b: optional(1, bool) }));
    expect(refusalOf(() => pair.decode(encoded([[0, true]]))).message).toContain('it is not an array of 1 to 2');
    expect(pair.decode(encodeCbor([true]))).toEqual({ a: true });
    expect(pair.decode(pair.encode({ a: true, b: false }))).toEqual({ a: true, b: false });
  });
});

describe('messages of several kinds', () => {
  const MAPS = messageCodec('Thing', variants('kind', { lamp: [1, LAMP], nothing: [2, message({})] }));
  const ARRAYS = messageCodec('Thing', variants('type', { lamp: [1, tuple({ on: required(0, bool) })] }));

  test('are distinguished by the key 0 of a map', () => {
    expect(MAPS.decode(encoded([[0, 2]]))).toEqual({ kind: 'nothing' });
    expect(MAPS.decode(MAPS.encode({ kind: 'lamp', name: 'Hall', tags: [] }))).toEqual({ kind: 'lamp', name: 'Hall', tags: [] });
    expect(
      refusalOf(() =>
        MAPS.decode(
          encoded([
            [0, 2],
            [1, 'Hall'],
          ]),
        ),
      ).message,
    ).toContain('nothing has the key 1');
  });

  test('are distinguished by the first item of an array', () => {
    expect(decodeCbor(ARRAYS.encode({ type: 'lamp', on: true }))).toEqual([1, true]);
    expect(refusalOf(() => ARRAYS.decode(encodeCbor([2, true]))).message).toContain('of no known type');
    expect(refusalOf(() => ARRAYS.decode(encodeCbor(7))).message).toContain('of no known type');
  });
});

describe('types of members', () => {
  const roundTrip = <Value>(type: Parameters<typeof messageCodec<Value>>[1], value: Value): Value => {
    const codec = messageCodec('Value', type);
    return codec.decode(codec.encode(value));
  };

  test('encode and decode their values', () => {
    expect(roundTrip(hex({ min: 2, max: 2 }), '00ff')).toBe('00ff');
    expect(roundTrip(hex({ min: 32, max: 32 }), 'ab'.repeat(32))).toBe('ab'.repeat(32));
    expect(roundTrip(base64url({ min: 1, max: 9, prefix: 'at1.' }), 'at1.AQID')).toBe('at1.AQID');
    expect(roundTrip(nullable(bool), null)).toBe(null);
    expect(roundTrip(choice({ on: 1, off: 2 }), 'off')).toBe('off');
    expect(roundTrip(jsonObject({ max: 99 }), { b: 1.5, a: [null] })).toEqual({ a: [null], b: 1.5 });
    const constraints = { gpu: true, megabytes: 50, model: 'x', ['__proto__']: 1 };
    expect(roundTrip(record(text({ max: 9 }), scalar, { max: 4 }), constraints)).toEqual(constraints);
  });

  test('have one text for each byte string', () => {
    const token = messageCodec('Token', base64url({ min: 1, max: 9, prefix: 'at1.' }));
    for (const other of ['at1.AQIE=', 'at1.AR', 'AQID', 'at2.AQID', 'at1.', 'at1.AQ+D']) {
      expect(refusalOf(() => token.encode(other)).code).toBe('VALIDATION_ERROR');
    }
    expect(refusalOf(() => token.encode('AQID')).message).toContain('is not at1. and base64url');
    expect(refusalOf(() => messageCodec('Hash', hex({ min: 1, max: 9 })).encode('xy')).message).toContain('is not hex');
    const id = messageCodec('Id', hubId);
    for (const other of ['hub-0123456789ABCDEF', 'hub-0123', 'mesh-0123456789abcdef', 'hub-0123456789abcdef00']) {
      expect(refusalOf(() => id.encode(other as Parameters<typeof id.encode>[0])).code).toBe('VALIDATION_ERROR');
    }
  });

  test('refuse values out of bounds', () => {
    expect(refusalOf(() => roundTrip(record(text({ max: 9 }), scalar, { max: 1 }), { a: 1, b: 2 })).message).toContain('more than 1');
    expect(refusalOf(() => roundTrip(scalar, 'x'.repeat(257))).message).toContain('256 bytes');
    expect(refusalOf(() => roundTrip(bytes({ min: 2, max: 3 }), new Uint8Array(4))).message).toContain('2 to 3 bytes');
    expect(refusalOf(() => roundTrip(jsonObject({ max: 3 }), { a: 1 })).message).toContain('more than 3 bytes');
    expect(refusalOf(() => roundTrip(jsonObject({ max: 99 }), { a: Number.NaN })).message).toContain('NaN');
  });

  test('copy bytes, so that a small part does not retain a whole message', () => {
    const kept = roundTrip(bytes({ max: 4 }), Uint8Array.of(1, 2));
    expect(kept.buffer.byteLength).toBe(2);
  });
});

describe('a signed message', () => {
  const SIGNED = signedCodec(CODEC, 'atmosphere-edge lamp v1');
  const envelope = SIGNED.sign({ name: 'Hall', tags: [] }, KEY);

  test('opens with the key that signed it', () => {
    expect(SIGNED.open(envelope, () => PUBLIC_KEY)).toEqual({ name: 'Hall', tags: [] });
  });

  test('passes its content to the lookup of the key, which may refuse before the verification', () => {
    const refusal = refusalOf(() =>
      SIGNED.open(envelope, ({ name }) => {
        throw new AtmoError('RATE_LIMITED', `Too much of ${name}`);
      }),
    );
    expect(refusal).toMatchObject({ code: 'RATE_LIMITED', message: 'Too much of Hall' });
    expect(refusalOf(() => SIGNED.open(envelope, () => undefined)).code).toBe('VALIDATION_ERROR');
  });

  test('is not valid for another use', () => {
    const other = signedCodec(CODEC, 'atmosphere-edge lamp v2');
    expect(refusalOf(() => other.open(envelope, () => PUBLIC_KEY)).message).toContain('does not fit');
  });
});
