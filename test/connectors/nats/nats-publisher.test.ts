import { expect, test } from 'vitest';
import type { ConnectionEvents } from '../../../src/connectors/connector.ts';
import { NatsPublisher } from '../../../src/connectors/nats/nats-publisher.ts';
import { EventBus } from '../../../src/core/events.ts';
import { silentLogger } from '../../../src/core/logger.ts';
import { ManualClock } from '../../manual-clock.ts';

async function makePublisher(types: readonly string[]) {
  const events = new EventBus('test', new ManualClock());
  const sent: { subject: string; turn: unknown }[] = [];
  const infos: unknown[] = [];
  let told: ConnectionEvents = { onReady: () => {}, onDown: () => {} };
  const publisher = new NatsPublisher(
    {
      events,
      logger: { ...silentLogger, info: (_, fields) => void infos.push(fields) },
      open: async (_, link) => {
        told = link;
        return {
          publish: (subject, text) => void sent.push({ subject, turn: JSON.parse(text).data.turn }),
          async [Symbol.asyncDispose]() {},
        };
      },
    },
    { target: { servers: [], name: 'hub' }, subjectPrefix: 'home.', types },
  );
  await publisher.start();
  return { publisher, events, sent, infos, link: () => told };
}

test('a type matches itself, and a part with a star every type that begins with it', async () => {
  const { events, sent, link } = await makePublisher(['device.*', 'job.changed']);
  link().onReady();
  for (const type of ['device.added', 'job.changed', 'agi.tool.result', 'sensor.reading'] as const) events.emit(type, 'x', { turn: 1 });
  expect(sent.map(({ subject }) => subject)).toEqual(['home.device.added', 'home.job.changed']);
});

test('the newest thousand events of the time without a server are sent in order, and the others are counted', async () => {
  const { events, sent, infos, link } = await makePublisher(['device.*']);
  for (let turn = 0; turn < 1_003; turn++) events.emit('device.added', 'x', { turn });
  expect(sent).toEqual([]);
  link().onReady();
  expect(sent.map(({ turn }) => turn)).toEqual(Array.from({ length: 1_000 }, (_, index) => index + 3));
  expect(infos).toEqual([{ dropped: 3 }]);
  link().onDown('gone');
  events.emit('device.added', 'x', { turn: -1 });
  expect(sent).toHaveLength(1_000);
});

test('nothing is sent after the end', async () => {
  const { publisher, events, sent, link } = await makePublisher(['device.*']);
  link().onReady();
  await publisher[Symbol.asyncDispose]();
  events.emit('device.added', 'x', { turn: 1 });
  expect(sent).toEqual([]);
});
