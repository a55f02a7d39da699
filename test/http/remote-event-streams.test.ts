import { expect, test } from 'vitest';
import type { RemoteEvents } from '../../src/calls/mesh-ports.ts';
import type { EventListener, HubEvent } from '../../src/core/events.ts';
import { RemoteEventStreams } from '../../src/http/event-feed.ts';
import { owner, settled } from '../calls/pipeline-fixture.ts';
import { ManualClock } from '../manual-clock.ts';

const EVENT: HubEvent = { specversion: '1.0', id: 'e1', source: 'attic', type: 'device.added', subject: 'lamp', time: '', data: {} };

/** A stream of another hub's events, and what its listener was given. */
function stage() {
  const clock = new ManualClock();
  const told: { listener?: EventListener; signal?: AbortSignal; onGap?: () => void } = {};
  const subscribe: RemoteEvents['subscribe'] = (_hub, { signal, onGap }, listener) => {
    Object.assign(told, { listener, signal, onGap });
    return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
  };
  const streams = new RemoteEventStreams({ events: { subscribe }, clock });
  const seen = { text: '', isClosed: false, isValid: true };
  const sink = {
    write: (text: string) => {
      seen.text += text;
      return true;
    },
    close: () => {
      seen.isClosed = true;
    },
  };
  streams.subscribe(sink, { hub: 'hub-2', account: 'a', principal: owner, types: ['device.added'], isStillValid: () => seen.isValid });
  return { clock, streams, seen, told };
}

test('whose token has ended here hears nothing more, whatever the other hub still tells', async () => {
  const { streams, seen, told } = stage();
  told.listener?.(EVENT);
  expect(seen.text).toContain('"id":"e1"');
  seen.isValid = false;
  told.listener?.({ ...EVENT, id: 'e2' });
  await settled();
  expect(seen.text).not.toContain('e2');
  expect([told.signal?.aborted, seen.isClosed, streams.listenerCount]).toEqual([true, true, 0]);
});

test('a silent stream ends with the token of its listener, too', async () => {
  const { clock, seen } = stage();
  clock.advance(15_000);
  expect(seen.text).toContain(': still here');
  seen.isValid = false;
  clock.advance(15_000);
  await settled();
  expect(seen.isClosed).toBe(true);
});

test('what was lost on the way from the other hub is told as a gap', () => {
  const { seen, told } = stage();
  told.onGap?.();
  expect(seen.text).toMatch(/event: gap\ndata: \{\}\n\n$/);
});
