import { expect, test } from 'vitest';
import { type Frame, frameCodec } from '../../../src/codec/messages/connection.ts';
import { CONTROL_PROTOCOL } from '../../../src/mesh/rpc/control-links.ts';
import { settled } from '../../calls/pipeline-fixture.ts';
import { identities, LinkFixture, never, requireLink } from './link-fixture.ts';

const NOTHING = new Uint8Array();

/** A hub with a link, and the bare stream of a peer that sends and reads frames by hand. */
async function stage() {
  const setup = new LinkFixture();
  const [low, high] = identities(2);
  if (!low || !high) throw new Error('two are needed');
  const peer = await setup.add(low, { linksRun: false });
  const hub = await setup.add(high);
  await setup.connect(0, 1);
  const stream = await peer.engine.openStream(hub.engine.id, CONTROL_PROTOCOL, { signal: never });
  const heard: Frame[] = [];
  stream.onFrame((bytes) => heard.push(frameCodec.decode(bytes)));
  await settled();
  return { hub, peer, heard, send: (frame: Frame) => stream.send(frameCodec.encode(frame)) };
}

test('a peer that keeps no count of its requests is refused the 65th, and heard again once one is answered', async () => {
  const { hub, heard, send } = await stage();
  const answers: (() => void)[] = [];
  hub.links.handle('invoke', () => new Promise((resolve) => answers.push(() => resolve(NOTHING))));
  for (let index = 0; index < 65; index++) send({ type: 'request', id: 2 * index + 1, kind: 1, body: NOTHING });
  await settled();
  expect(heard.filter(({ type }) => type !== 'ping')).toMatchObject([{ type: 'error', id: 129, code: 'RESOURCE_EXCEEDED' }]);
  expect([answers.length, hub.drops.counts]).toEqual([64, { 'link.in_flight': 1 }]);
  answers[0]?.();
  await settled();
  send({ type: 'request', id: 131, kind: 1, body: NOTHING });
  await settled();
  expect(answers).toHaveLength(65);
});

test('a peer that sends more parts of an answer than there is room for loses its link', async () => {
  const { hub, peer, heard, send } = await stage();
  const answer = requireLink(hub.links.to(peer.engine.id)).request('subscribe', NOTHING, {
    signal: never,
    onPart: () => new Promise(() => {}),
  });
  answer.catch(() => undefined);
  await settled();
  const id = requestId(heard);
  const part = (sequence: number) => send({ type: 'part', id, sequence, bytes: new Uint8Array(32_768) });
  for (let sequence = 0; sequence < 8; sequence++) part(sequence);
  await settled();
  expect(hub.links.links()).toHaveLength(1);
  part(8);
  await settled();
  expect([hub.links.links().length, hub.drops.counts]).toEqual([0, { 'link.malformed': 1 }]);
});

function requestId(frames: readonly Frame[]): number {
  const request = frames.find((frame) => frame.type === 'request');
  return request?.type === 'request' ? request.id : 0;
}
