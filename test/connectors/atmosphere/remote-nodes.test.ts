import { expect, test } from 'vitest';
import { RemoteNodes } from '../../../src/connectors/atmosphere/remote-nodes.ts';
import { ManualClock } from '../../manual-clock.ts';
import { gossip } from './atmosphere-fixture.ts';

function fixture() {
  const clock = new ManualClock(1_767_225_600_000);
  const nodes = new RemoteNodes(clock, 'own');
  const now = () => ({ timestamp: clock.now() / 1_000 });
  const ids = () => nodes.list().map(({ nodeId }) => nodeId);
  return { clock, nodes, now, ids };
}

test('a node is listed with its announcement until five minutes after its last message', () => {
  const { clock, nodes, now, ids } = fixture();
  nodes.add({ node_id: 'a', name: 'Mac', capabilities: ['llm'] });
  expect(nodes.list()).toMatchObject([{ nodeId: 'a', name: 'Mac', capabilities: [{ id: 'llm' }] }]);
  clock.advance(200_000);
  nodes.receive('a', gossip('a', now()));
  expect(nodes.list()).toMatchObject([{ nodeId: 'a', name: 'Mac', heardAtMs: clock.now(), capabilities: [{ id: 'a:llm' }] }]);
  nodes.add({ node_id: 'a', name: 'Mac', capabilities: ['llm'] });
  expect(nodes.list()).toMatchObject([{ capabilities: [{ id: 'a:llm' }] }]);
  clock.advance(300_000);
  expect(ids()).toEqual(['a']);
  clock.advance(1);
  expect(ids()).toEqual([]);
});

test('a node that leaves is removed at once, and this hub is not listed', () => {
  const { nodes, now, ids } = fixture();
  nodes.receive('a', gossip('a', now()));
  nodes.receive('own', gossip('own', now()));
  nodes.add({ node_id: 'own' });
  expect(ids()).toEqual(['a']);
  nodes.remove('a');
  nodes.remove({});
  expect([ids(), nodes.dropped]).toEqual([[], 0]);
});

test('an announcement counts once, and only within five minutes of its time', () => {
  const { clock, nodes, now, ids } = fixture();
  const told = gossip('a', now());
  nodes.receive('a', told);
  clock.advance(1_000);
  nodes.receive('a', told);
  expect([nodes.dropped, nodes.list()[0]?.heardAtMs]).toEqual([1, clock.now() - 1_000]);
  nodes.receive('b', gossip('b', { nonce: 'old', timestamp: clock.now() / 1_000 - 301 }));
  nodes.receive('b', gossip('b', { nonce: 'early', timestamp: clock.now() / 1_000 + 301 }));
  expect([nodes.dropped, ids()]).toEqual([3, ['a']]);
  // The nonce of one node does not use up that of another.
  nodes.receive('b', gossip('b', now()));
  expect(ids()).toEqual(['a', 'b']);
});

test('a crowd of nodes does not drive out those that are there, nor a flood of nonces grow without end', () => {
  const { nodes, now, ids } = fixture();
  for (let at = 0; at < 100; at++) nodes.add({ node_id: `n${at}` });
  expect([ids().length, ids()[0], nodes.dropped]).toEqual([64, 'n0', 36]);
  for (let at = 0; at < 5_000; at++) nodes.receive('n0', gossip('n0', { ...now(), nonce: `f${at}` }));
  expect(nodes.isFirst('n0 f4999')).toBe(false);
  expect(nodes.isFirst('n0 f1')).toBe(true);
});

test('malformed peers are ignored, and of a list only the first are taken', () => {
  const { nodes, ids } = fixture();
  nodes.addAll('a');
  nodes.addAll(Array.from({ length: 1_000_000 }, () => 7));
  for (const peer of [null, 'a', [], {}, { node_id: 7 }, { node_id: 'a b' }, { node_id: '' }, { node_id: 'x'.repeat(65) }]) nodes.add(peer);
  expect(ids()).toEqual([]);
});
