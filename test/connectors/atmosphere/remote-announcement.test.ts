import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, test } from 'vitest';
import { boundedLine, parseAnnouncement, parseCapabilities } from '../../../src/connectors/atmosphere/remote-nodes.ts';
import type { Json } from '../../../src/core/json.ts';
import { capability, gossip } from './atmosphere-fixture.ts';

/** Nested so deep that what walks it by recursion dies. */
const DEEP = `${'['.repeat(200_000)}${']'.repeat(200_000)}`;
const deep = JSON.parse(DEEP) as Json;

test('an announcement of the original is read', () => {
  expect(parseAnnouncement('a', gossip('a'))).toEqual({
    nonce: 'n1',
    timestampMs: 1_767_225_600_000,
    capabilities: [{ id: 'a:llm', label: 'llm', description: 'A model', tools: [] }],
  });
});

test.each(['capability_announce', 'capability.announce'])('a later one of type %s is read, with names of tools', (type) => {
  const entry = { capability_id: 'a:x', label: 'x', description: 'y', tools: ['scan', 7, ''] };
  expect(parseAnnouncement('a', { type, node_id: 'a', timestamp: 1, nonce: 'n', capabilities: [entry] })).toMatchObject({
    capabilities: [{ id: 'a:x', tools: ['scan'] }],
  });
});

describe('nothing is read of', () => {
  test.each<[string, Json]>([
    ['a name of somebody else', gossip('b')],
    ['no nonce', gossip('a', { nonce: '' })],
    ['a nonce of a kilobyte', gossip('a', { nonce: 'n'.repeat(1_024) })],
    ['a nonce that is none', gossip('a', { nonce: ['n'] })],
    ['a time that is none', gossip('a', { timestamp: 'now' })],
    ['capabilities that are none', gossip('a', { capabilities: {} })],
    ['another type within', gossip('a', { type: 'route_update' })],
    ['data that is no base64', { type: 'gossip', data: '%%%' }],
    ['data that is no JSON', { type: 'gossip', data: Buffer.from('{"type":').toString('base64') }],
    ['data that is a list', { type: 'gossip', data: Buffer.from('[1]').toString('base64') }],
    ['no data', { type: 'gossip' }],
    ['an invitation to talk', { type: 'chat_request', messages: [] }],
  ])('%s', (_, payload) => expect(parseAnnouncement('a', payload as never)).toBeUndefined());
});

test('depths in the wrong place are not walked', () => {
  expect(parseAnnouncement('a', { type: deep, node_id: deep })).toBeUndefined();
  const inner = `{"type":"announce","from":"a","timestamp":1,"nonce":"n","capabilities":${DEEP},"resources":${DEEP}}`;
  expect(parseAnnouncement('a', { type: 'gossip', data: Buffer.from(inner).toString('base64') })).toBeUndefined();
});

test('a hundred entries become fifty, long texts short, and control characters blanks', () => {
  const entries = Array.from({ length: 100 }, (_, at) =>
    capability({ id: `a:${at}`, label: 'x'.repeat(10_000), description: 'é\u0000\u202e\nb' }),
  );
  const read = parseCapabilities(entries);
  expect(read).toHaveLength(50);
  expect(read[0]).toEqual({ id: 'a:0', label: 'x'.repeat(200), description: 'é b', tools: [] });
});

test('an entry may be a name; an entry without id is left out', () => {
  expect(parseCapabilities(['llm', 7, null, deep, {}, { id: deep }, { id: 'x', tools: deep, label: deep }])).toEqual([
    { id: 'llm', label: 'llm', description: '', tools: [] },
    { id: 'x', label: '', description: '', tools: [] },
  ]);
  expect(parseCapabilities(deep)).toEqual([]);
  expect(parseCapabilities('llm')).toEqual([]);
});

test('half a character at the bound is none', () => expect(boundedLine('ab😀', 3)).toBe('ab'));

test('a stored part of a long text does not hold the rest in memory', () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const heapBytes = () => {
    collect();
    return process.memoryUsage().heapUsed;
  };
  const before = heapBytes();
  const kept = Array.from({ length: 20 }, (_, at) => boundedLine(JSON.parse(`"${at}${'x'.repeat(2_000_000)}"`), 200));
  expect(heapBytes() - before).toBeLessThan(20_000_000);
  expect(kept[19]).toHaveLength(200);
});

test('one node has a bounded amount of text', () => {
  const tools = (at: number) => Array.from({ length: 50 }, (_, tool) => `${at}-${tool}-${'x'.repeat(190)}`);
  const entries = Array.from({ length: 50 }, (_, at) => ({ id: `a:${at}`, tools: tools(at) }));
  const read = parseCapabilities(entries);
  expect(read.length).toBeGreaterThan(3);
  expect(JSON.stringify(read).length).toBeLessThan(100_000);
});
