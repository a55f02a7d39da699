import { describe, expect, test, vi } from 'vitest';
import { EventBus } from '../../src/core/events.ts';
import { EventFeed, type EventSubscription } from '../../src/http/event-feed.ts';
import { ManualClock } from '../manual-clock.ts';

class MemorySink {
  readonly chunks: string[] = [];
  isFull = false;
  isClosed = false;

  write(chunk: string): boolean {
    this.chunks.push(chunk);
    return !this.isFull;
  }

  close(): void {
    this.isClosed = true;
  }

  /** The CloudEvents that were told. */
  get events(): { id: string; type: string; subject: string }[] {
    return this.chunks.flatMap((chunk) => /^id: .*\nevent: .*\ndata: (.*)\n\n$/.exec(chunk)?.[1] ?? []).map((text) => JSON.parse(text));
  }

  get subjects(): string[] {
    return this.events.map((event) => event.subject);
  }
}

/** A listener that may hear everything, for ever. */
function wish(extra: Partial<EventSubscription> = {}): EventSubscription {
  return { types: [], account: 'owner:owner', mayReceive: () => true, isStillValid: () => true, ...extra };
}

function makeFeed(options = {}) {
  const clock = new ManualClock();
  const bus = new EventBus('hub:test', clock);
  const feed = new EventFeed(bus, clock, options);
  feed.start();
  return { clock, bus, feed };
}

describe('the event feed', () => {
  test('says when a subscriber comes while there is no other', () => {
    let firsts = 0;
    const { feed } = makeFeed({ onFirst: () => (firsts += 1) });
    const stops = [feed.subscribe(new MemorySink(), wish()), feed.subscribe(new MemorySink(), wish())];
    expect(firsts).toBe(1);
    for (const stop of stops) stop();
    feed.subscribe(new MemorySink(), wish());
    expect(firsts).toBe(2);
  });

  test('tells CloudEvents as they happen, by type or part of the tree', () => {
    const { bus, feed } = makeFeed();
    const [all, some] = [new MemorySink(), new MemorySink()];
    feed.subscribe(all, wish());
    feed.subscribe(some, wish({ types: ['agi.tool.*', 'device.removed'] }));
    bus.emit('device.added', 'lamp', { name: 'Lamp' });
    bus.emit('agi.tool.failed', 'dim');
    bus.emit('device.removed', 'lamp');
    expect(all.subjects).toEqual(['lamp', 'dim', 'lamp']);
    expect(some.events.map((event) => event.type)).toEqual(['agi.tool.failed', 'device.removed']);
    expect(all.events[0]).toMatchObject({
      specversion: '1.0',
      source: 'hub:test',
      data: { name: 'Lamp' },
      time: '2026-01-01T00:00:00.000Z',
    });
  });

  test('a listener that comes back hears what it missed, once and in order', () => {
    const { bus, feed } = makeFeed();
    const first = new MemorySink();
    const leave = feed.subscribe(first, wish());
    bus.emit('device.added', 'a');
    leave();
    bus.emit('device.added', 'b');
    bus.emit('device.removed', 'c');
    const again = new MemorySink();
    feed.subscribe(again, wish({ types: ['device.added'], lastEventId: first.events[0]?.id ?? '' }));
    bus.emit('device.added', 'd');
    expect(first.subjects).toEqual(['a']);
    expect(again.subjects).toEqual(['b', 'd']);
  });

  test('a listener that was away too long is told of the gap and gets what is left', () => {
    const { bus, feed } = makeFeed({ historySize: 2 });
    for (const name of ['a', 'b', 'c']) bus.emit('device.added', name);
    const sink = new MemorySink();
    feed.subscribe(sink, wish({ types: [], lastEventId: 'forgotten' }));
    expect(sink.chunks.find((chunk) => chunk.startsWith('event: gap'))).toContain('"last_event_id":"forgotten"');
    expect(sink.subjects).toEqual(['b', 'c']);
  });

  test('a newcomer hears nothing of before', () => {
    const { bus, feed } = makeFeed();
    bus.emit('device.added', 'a');
    const sink = new MemorySink();
    feed.subscribe(sink, wish());
    expect(sink.events).toEqual([]);
  });

  test('silence is filled with heartbeats', () => {
    const { clock, feed } = makeFeed({ heartbeatMs: 15_000 });
    const sink = new MemorySink();
    feed.subscribe(sink, wish());
    clock.advance(31_000);
    expect(sink.chunks.filter((chunk) => chunk.startsWith(':'))).toHaveLength(2);
  });

  test('has no timer while nobody listens', () => {
    const { clock, feed } = makeFeed();
    const timers = vi.spyOn(clock, 'after');
    clock.advance(60_000);
    expect(timers).not.toHaveBeenCalled();
    const ends = [new MemorySink(), new MemorySink()].map((sink) => feed.subscribe(sink, wish()));
    for (const end of ends) end();
    timers.mockClear();
    clock.advance(60_000);
    expect(timers).not.toHaveBeenCalled();
  });

  test('a listener that does not keep up is let go, the others are not', () => {
    const { bus, feed } = makeFeed();
    const [slow, fast] = [new MemorySink(), new MemorySink()];
    slow.isFull = true;
    feed.subscribe(slow, wish());
    feed.subscribe(fast, wish());
    bus.emit('device.added', 'a');
    bus.emit('device.added', 'b');
    expect([slow.isClosed, slow.subjects]).toEqual([true, ['a']]);
    expect(fast.subjects).toEqual(['a', 'b']);
    expect(feed.listenerCount).toBe(1);
  });

  test('the end closes every listener and takes no new one', async () => {
    const { bus, feed } = makeFeed();
    const [before, after] = [new MemorySink(), new MemorySink()];
    feed.subscribe(before, wish());
    await feed[Symbol.asyncDispose]();
    feed.subscribe(after, wish());
    bus.emit('device.added', 'a');
    expect([before.isClosed, after.isClosed, before.events.length]).toEqual([true, true, 0]);
  });

  test('what is not for a listener is told neither now nor when it comes back', () => {
    const { bus, feed } = makeFeed();
    const mayReceive = ({ subject }: { subject: string }) => subject === 'lamp';
    const first = new MemorySink();
    const leave = feed.subscribe(first, wish({ mayReceive }));
    bus.emit('device.added', 'lamp');
    bus.emit('device.added', 'door');
    leave();
    bus.emit('device.removed', 'door');
    bus.emit('device.removed', 'lamp');
    const again = new MemorySink();
    feed.subscribe(again, wish({ mayReceive, lastEventId: first.events[0]?.id ?? '' }));
    expect([first.subjects, again.subjects]).toEqual([['lamp'], ['lamp']]);
    expect(again.chunks.join('')).not.toContain('door');
  });

  test('the id of an event that a listener may not hear is as unknown as an invented one', () => {
    const { bus, feed } = makeFeed();
    const all = new MemorySink();
    feed.subscribe(all, wish());
    bus.emit('device.added', 'door');
    bus.emit('device.added', 'lamp');
    const answers = [all.events[0]?.id ?? '', 'invented'].map((lastEventId) => {
      const sink = new MemorySink();
      feed.subscribe(sink, wish({ lastEventId, mayReceive: ({ subject }) => subject === 'lamp' }));
      return sink.chunks.join('').replace(lastEventId, 'ID');
    });
    expect(answers[0]).toBe(answers[1]);
    expect(answers[0]).toContain('event: gap');
  });

  test('a stream ends with its token: before the next event, and within 5 s where nothing happens', () => {
    const { bus, clock, feed } = makeFeed();
    const [busy, silent] = [new MemorySink(), new MemorySink()];
    let isStillValid = true;
    feed.subscribe(busy, wish({ types: ['device.*'], isStillValid: () => isStillValid }));
    feed.subscribe(silent, wish({ types: ['job.changed'], isStillValid: () => isStillValid }));
    bus.emit('device.added', 'before');
    isStillValid = false;
    bus.emit('device.added', 'after');
    expect([busy.subjects, busy.isClosed, busy.chunks.at(-1)]).toEqual([['before'], true, expect.stringMatching(/^: the token .*\n\n$/)]);
    expect(silent.isClosed).toBe(false);
    clock.advance(5_000);
    expect([silent.isClosed, feed.listenerCount]).toEqual([true, 0]);
  });
});
