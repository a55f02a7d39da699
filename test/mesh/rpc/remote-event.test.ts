import { describe, expect, test } from 'vitest';
import { subscribedEventCodec } from '../../../src/codec/messages/call.ts';
import type { JsonObject } from '../../../src/core/json.ts';
import { parseRemoteEvent } from '../../../src/mesh/rpc/remote-events.ts';

const EVENT = {
  specversion: '1.0',
  id: '0b0f4a4e-5a5e-4b0e-8a44-0d1d1f1b2c3d',
  source: 'atmosphere-edge',
  type: 'device.changed',
  subject: 'hall-lamp',
  time: '2026-01-31T12:00:00.000Z',
  data: { on: true },
} as const;
const told = (change: JsonObject, wish: Parameters<typeof parseRemoteEvent>[1] = { types: ['device.changed'] }) =>
  parseRemoteEvent(subscribedEventCodec.encode({ event: { ...EVENT, ...change } }), wish);

describe('an event that another hub tells', () => {
  test('is passed on with the members that events have, and no others', () => {
    expect(told({ evil: 1 })).toEqual(EVENT);
  });

  test.each<[string, JsonObject]>([
    ['whose id begins another one', { id: 'x\n\nevent: token.issued\ndata: {}' }],
    ['without an id', { id: null }],
    ['whose source has more than one line', { source: 'a\r\nb' }],
    ['whose subject steers a terminal', { subject: '\u001b[2J' }],
    ['whose time is none', { time: { toString: 'x' } }],
    ['without data', { data: 'text' }],
    ['of a type that was not asked for', { type: 'token.issued' }],
    ['of a type that nobody knows', { type: 'constructor' }],
  ])('is none %s', (_, change) => {
    expect(told(change)).toBeUndefined();
  });

  test('is none about a subject that was not asked for', () => {
    expect(told({}, { types: ['device.changed'], subjects: ['kitchen-lamp'] })).toBeUndefined();
    expect(told({}, { types: ['device.changed'], subjects: ['hall-lamp'] })).toEqual(EVENT);
  });
});
