import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { SseParser } from '../../src/codec/sse-parser.ts';

const STREAM =
  'retry: 2000\n\n: still here\n\nid: a\nevent: device.added\ndata: {"x":\ndata: 1}\n\ndata: bare\r\n\r\nevent: gap\ndata: {}\n\n';

describe('an event stream', () => {
  test('has messages with type, data and id', () => {
    expect(new SseParser().push(STREAM)).toEqual([
      { event: 'device.added', data: '{"x":\n1}', id: 'a' },
      { event: 'message', data: 'bare' },
      { event: 'gap', data: '{}' },
    ]);
  });

  test('has the same messages with cuts at any position', () => {
    const whole = new SseParser().push(STREAM);
    fc.assert(
      fc.property(fc.array(fc.nat(STREAM.length), { maxLength: 8 }), (cuts) => {
        const places = [0, ...cuts.toSorted((a, b) => a - b), STREAM.length];
        const parser = new SseParser();
        const pieces = places.slice(1).map((end, index) => STREAM.slice(places[index], end));
        expect(pieces.flatMap((piece) => parser.push(piece))).toEqual(whole);
      }),
    );
  });

  test.each([
    ['a line without an end', 'data: '],
    ['a message without an end', 'data: \n'],
  ])('with %s is refused before it fills the memory', (_what, start) => {
    const parser = new SseParser();
    const piece = start.padEnd(1024 * 1024, start.endsWith('\n') ? start : 'x');
    const endless = () => {
      for (let mebibytes = 0; mebibytes < 200; mebibytes++) parser.push(piece);
    };
    expect(endless).toThrow(expect.objectContaining({ code: 'RESULT_INVALID' }));
  });

  test('takes time in proportion to its length, also where a line has many pieces', () => {
    const [parser, piece] = [new SseParser(), 'x'.repeat(1024)];
    parser.push('data: ');
    const before = process.cpuUsage();
    for (let kibibytes = 0; kibibytes < 4 * 1024; kibibytes++) expect(parser.push(piece).length).toBe(0);
    const [message] = parser.push('\n\n');
    const { user, system } = process.cpuUsage(before);
    expect(message?.data.length).toBe(4 * 1024 * 1024);
    expect((user + system) / 1_000_000).toBeLessThan(1);
  });

  test('ends a line at a carriage return, without waiting for what follows', () => {
    const parser = new SseParser();
    expect(parser.push('data: a\r\r')).toEqual([{ event: 'message', data: 'a' }]);
    expect(parser.push('\ndata: b\n\n')).toEqual([{ event: 'message', data: 'b' }]);
    expect(parser.push('data: c\r')).toEqual([]);
    expect(parser.push('\ndata: d\r\n\r')).toEqual([{ event: 'message', data: 'c\nd' }]);
  });

  test('has no incomplete message', () => {
    expect(new SseParser().push('data: half\n')).toEqual([]);
  });
});
