import { describe, expect, test } from 'vitest';
import { EventStream, type EventStreamListener } from '../../../src/web/api/event-stream.ts';
import { HubError } from '../../../src/web/api/hub-client.ts';

const EVENT = (id: string): string => `id: ${id}\nevent: device.added\ndata: {"id":"${id}","type":"device.added"}\n\n`;

/** A hub that answers each opening with the next thing of a list, and then ends the stream's wish to go on. */
class ScriptedHub {
  readonly asked: (string | undefined)[] = [];
  readonly waits: number[] = [];
  readonly heard: string[] = [];
  readonly stream: EventStream;

  constructor(answers: readonly (string | Error)[]) {
    const left = [...answers];
    const listener: EventStreamListener = {
      onEvent: ({ id }) => this.heard.push(id),
      onGap: () => this.heard.push('gap'),
      onConnection: (connection) => this.heard.push(connection),
    };
    this.stream = new EventStream(
      {
        open: async (lastEventId) => {
          this.asked.push(lastEventId);
          const answer = left.shift();
          if (answer instanceof Error) throw answer;
          if (left.length === 0) queueMicrotask(() => setImmediate(() => this.stream.stop()));
          return new Response(answer ?? '');
        },
        wait: async (delayMs, signal) => {
          if (delayMs < 30_000) {
            this.waits.push(delayMs);
            // Lets the timer of the script's end have its turn.
            await new Promise((resolve) => setImmediate(resolve));
          } else await new Promise((resolve) => signal.addEventListener('abort', resolve));
        },
        random: () => 1,
      },
      listener,
    );
  }
}

const unreachable = new HubError('HUB_UNREACHABLE', 'no answer', { status: 0 });

describe('the event stream of the page', () => {
  test('asks for a reload at the beginning, and resumes after a cut', async () => {
    const hub = new ScriptedHub([EVENT('a') + EVENT('b'), EVENT('c')]);
    await hub.stream.run();
    expect(hub.asked.slice(0, 2)).toEqual([undefined, 'b']);
    expect(hub.heard.slice(0, 8)).toEqual(['connecting', 'gap', 'live', 'a', 'b', 'lost', 'connecting', 'live']);
    expect(hub.heard).toContain('c');
  });

  test('asks for a reload when the hub reports lost events', async () => {
    const hub = new ScriptedHub([EVENT('a'), 'event: gap\ndata: {}\n\n', EVENT('b')]);
    await hub.stream.run();
    expect(hub.heard.filter((word) => word === 'gap')).toHaveLength(3);
    expect(hub.asked.slice(0, 3)).toEqual([undefined, 'a', undefined]);
  });

  test('waits longer after each failure, up to a limit, and at once shorter after a success', async () => {
    const hub = new ScriptedHub([...Array.from({ length: 8 }, () => unreachable), EVENT('a'), unreachable, EVENT('b')]);
    await hub.stream.run();
    expect(hub.waits.slice(0, 8)).toEqual([500, 1_000, 2_000, 4_000, 8_000, 15_000, 15_000, 15_000]);
    expect(hub.waits[8]).toBe(500);
  });

  test('ends when the hub rejects the token', async () => {
    const hub = new ScriptedHub([EVENT('a'), new HubError('TOKEN_EXPIRED', 'expired', { status: 401 })]);
    await hub.stream.run();
    expect(hub.asked).toHaveLength(2);
    expect(hub.heard.at(-1)).toBe('connecting');
  });

  test('cuts a silent connection, and reconnects', async () => {
    const heard: string[] = [];
    let openings = 0;
    const stream: EventStream = new EventStream(
      {
        open: (_lastEventId, signal) => {
          if (++openings === 2) stream.stop();
          if (signal.aborted) return Promise.reject(signal.reason);
          // Neither an answer nor a refusal, until it is cut.
          return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
        },
        wait: () => new Promise((resolve) => setImmediate(resolve)),
        random: () => 0,
      },
      { onEvent: () => undefined, onGap: () => undefined, onConnection: (connection) => heard.push(connection) },
    );
    await stream.run();
    expect(openings).toBe(2);
    expect(heard).toEqual(['connecting', 'lost', 'connecting']);
  });

  test('makes a new connection at once when a request of the page got no response', async () => {
    const heard: string[] = [];
    const asked: (string | undefined)[] = [];
    const stream: EventStream = new EventStream(
      {
        open: async (lastEventId, signal) => {
          asked.push(lastEventId);
          if (asked.length === 2) stream.stop();
          signal.throwIfAborted();
          const body = new ReadableStream<Uint8Array>({
            start(controller) {
              controller.enqueue(new TextEncoder().encode(EVENT('a')));
              signal.addEventListener('abort', () => controller.error(signal.reason));
            },
          });
          return new Response(body);
        },
        wait: (delayMs, signal) =>
          delayMs < 30_000 ? Promise.resolve() : new Promise((resolve) => signal.addEventListener('abort', () => resolve())),
        random: () => 0,
      },
      { onEvent: () => stream.reconnect(), onGap: () => undefined, onConnection: (connection) => heard.push(connection) },
    );
    await stream.run();
    expect(asked).toEqual([undefined, 'a']);
    expect(heard).toEqual(['connecting', 'live', 'lost', 'connecting']);
  });
});
