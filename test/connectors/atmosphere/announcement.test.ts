import { expect, test } from 'vitest';
import { announcedTools, announcementPayloads } from '../../../src/connectors/atmosphere/announcement.ts';
import { parseAnnouncement } from '../../../src/connectors/atmosphere/remote-nodes.ts';
import { unconfigured } from '../../../src/tools/definition/tool-definition.ts';
import { makeTool } from '../../calls/pipeline-fixture.ts';

const BY = { nodeId: 'a'.repeat(16), name: 'hall', nowMs: 1_767_225_600_000, nonce: '0123' };
const keys = (...found: Parameters<typeof announcedTools>) => announcedTools(...found).map(({ key }) => key);

test("only tools that match the owner's patterns are announced", () => {
  const tools = [makeTool({ name: 'lamp_on' }), makeTool({ name: 'lamp_off' }), makeTool({ name: 'lock_open' })];
  expect(keys(tools, [])).toEqual([]);
  expect(keys(tools, ['core:lamp_*'])).toEqual(['core:lamp_on', 'core:lamp_off']);
  expect(keys(tools, ['core:lock_open', 'gpio:*'])).toEqual(['core:lock_open']);
  expect(keys(tools, ['core:lock.open', 'core:lamp'])).toEqual([]);
});

test('a tool that cannot run here is not announced: without its setting, unavailable, or of another hub', () => {
  const away = makeTool({ name: 'away', isAvailable: () => false });
  const unset = unconfigured(makeTool({ name: 'unset' }), 'set x');
  const far = { ...makeTool({ name: 'far' }), hubs: () => [] };
  expect(keys([away, unset, far], ['*:*'])).toEqual([]);
});

test('fifty tools are announced at most, within what peers take as one message', () => {
  const tools = announcedTools(
    Array.from({ length: 60 }, (_, at) => makeTool({ name: `lamp_${at}`, description: 'Turns a lamp of the hall on. '.repeat(40) })),
    ['*:*'],
  );
  expect(tools).toHaveLength(50);
  expect(tools.every(({ description }) => description.length <= 500)).toBe(true);
  expect(Math.max(...announcementPayloads(BY, tools).map((payload) => JSON.stringify(payload).length))).toBeLessThan(1_000_000);
});

test('both dialects parse to the announced tools; entries have vectors of 768 numbers', () => {
  const tools = announcedTools([makeTool({ name: 'lamp_on', title: 'Lamp on', description: 'Turns it on' })], ['*:*']);
  const [later, first] = announcementPayloads(BY, tools);
  if (!later || !first) throw new Error('two dialects');
  expect(parseAnnouncement(BY.nodeId, later)).toMatchObject({ nonce: '0123c', capabilities: [{ label: 'hall', tools: ['core:lamp_on'] }] });
  expect(parseAnnouncement(BY.nodeId, first)).toEqual({
    nonce: '0123g',
    timestampMs: BY.nowMs,
    capabilities: [{ id: `${BY.nodeId}:core:lamp_on`, label: 'Lamp on', description: 'Turns it on', tools: ['core:lamp_on'] }],
  });
  const inner = JSON.parse(Buffer.from(String(first.data), 'base64').toString());
  expect(inner).toMatchObject({ type: 'announce', from: BY.nodeId, ttl: 10, timestamp: 1_767_225_600 });
  expect(inner.capabilities[0].vector).toHaveLength(768);
  expect(inner.capabilities[0]).toMatchObject({ local: true, hops: 0, via: null, models: [] });
});
