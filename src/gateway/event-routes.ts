import { AtmoError } from '../core/errors.ts';
import { EVENT_TYPES } from '../core/events.ts';
import { type EventFeed, type FeedSink, matchesType } from './event-feed.ts';
import { field } from './query.ts';
import { defineRoute, type Route } from './route.ts';

/** Bytes that may wait for a slow listener before it is let go; what a board can spare for all listeners together. */
const MAX_PENDING_BYTES = 1_048_576;
const MAX_LISTENERS = 32;

/** The stream of the hub's events. */
export function eventRoutes(feed: EventFeed): readonly Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/api/v1/events',
      summary: 'Server-Sent Events, each a CloudEvent in JSON. The header Last-Event-ID resumes; a `gap` event says that some were lost',
      query: { types: field.text(`comma list of event types or parts such as agi.tool.*; known are ${EVENT_TYPES.join(', ')}`) },
      answers: { 200: 'text/event-stream' },
      handle(request, query) {
        const types = parseTypes(query.types);
        refuseCrowd(feed.listenerCount);
        const lastEventId = request.header('last-event-id');
        const body = streamOf((sink) => feed.subscribe(sink, { types, ...(lastEventId !== undefined && { lastEventId }) }));
        return { status: 200, headers: { 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' }, body };
      },
    }),
  ];
}

function refuseCrowd(listeners: number): void {
  if (listeners < MAX_LISTENERS) return;
  throw new AtmoError('RESOURCE_EXCEEDED', `${listeners} listeners hear the events already; close one first`, { listeners });
}

function parseTypes(text: string | undefined): readonly string[] {
  const patterns = text?.split(',').filter((pattern) => pattern !== '') ?? [];
  const unknown = patterns.filter((pattern) => !EVENT_TYPES.some((type) => matchesType(type, pattern)));
  if (unknown.length === 0) return patterns;
  throw new AtmoError('VALIDATION_ERROR', `No event is of type ${unknown.join(', ')}; known are ${EVENT_TYPES.join(', ')}`, { unknown });
}

function streamOf(subscribe: (sink: FeedSink) => () => void): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  let unsubscribe = () => {};
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        unsubscribe = subscribe({
          write(chunk) {
            controller.enqueue(encoder.encode(chunk));
            return (controller.desiredSize ?? 0) > 0;
          },
          close: () => controller.close(),
        });
      },
      cancel: () => unsubscribe(),
    },
    new ByteLengthQueuingStrategy({ highWaterMark: MAX_PENDING_BYTES }),
  );
}
