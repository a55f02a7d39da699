import { type Authenticator, principalKey, rootAgentOf } from '../../core/auth/principal.ts';
import { AtmoError } from '../../core/errors.ts';
import { EVENT_TYPES, type EventType } from '../../core/events.ts';
import type { HubId } from '../../core/ids.ts';
import type { MeshView } from '../../core/mesh-view.ts';
import { type EventFeed, type EventSink, type EventSubscription, matchesType, type RemoteEventStreams } from '../event-feed.ts';
import type { EventVisibility } from '../event-visibility.ts';
import type { Answer } from '../server/answer.ts';
import { field } from '../server/query.ts';
import { defineRoute, type Route } from '../server/route.ts';
import { SSE_HEADERS, TextStream } from '../server/sse.ts';

const MAX_LISTENERS = 32;
/** Maximum number of streams of one account (an agent and its descendants), so that other accounts get streams too. */
const MAX_LISTENERS_EACH = 8;
/** Number of further streams for accounts that have no stream yet, so that a few busy agents cannot lock out the owner's page. */
const RESERVED_LISTENERS = 32;

interface EventRouteCollaborators {
  readonly feed: EventFeed;
  readonly remote: RemoteEventStreams;
  readonly mesh: Pick<MeshView, 'peers'>;
  readonly visibility: Pick<EventVisibility, 'mayReceive'>;
  readonly authenticator: Pick<Authenticator, 'isStillValid'>;
  /** Above this number of pending bytes, a listener is disconnected. The limit keeps the bytes of all listeners within a board's memory. */
  readonly maxPendingBytes: number;
}

/** Returns the route of the event stream. It sends only events that the caller may see. */
export function eventRoutes({ feed, remote, mesh, visibility, authenticator, maxPendingBytes }: EventRouteCollaborators): readonly Route[] {
  const streamAnswer = (subscribe: (sink: EventSink) => () => void) => eventStream(subscribe, maxPendingBytes);
  return [
    defineRoute({
      method: 'GET',
      path: '/api/v1/events',
      summary:
        'What happens, as far as it is for the caller: Server-Sent Events, each a CloudEvent in JSON. The header Last-Event-ID resumes; a `gap` event says that some were lost',
      query: {
        types: field.text(`comma list of event types or parts such as agi.tool.*; known are ${EVENT_TYPES.join(', ')}`),
        hub: field.text('of this other hub of the mesh, by id or name; without Last-Event-ID'),
      },
      answers: {
        200: {
          description: 'each message is an Event in JSON',
          media: 'text/event-stream',
          schema: { $ref: '#/components/schemas/Event' },
        },
      },
      handle({ principal, header }, query) {
        const types = parseTypes(query.types);
        const account = rootAgentOf(principalKey(principal));
        refuseTooManyListeners([feed, remote], account);
        const isStillValid = () => authenticator.isStillValid(principal);
        if (query.hub !== undefined) {
          const request = {
            hub: hubNamed(query.hub, mesh),
            account,
            principal,
            isStillValid,
            types: EVENT_TYPES.filter((type) => isWanted(type, types)),
          };
          return streamAnswer((sink) => remote.subscribe(sink, request));
        }
        const lastEventId = header('last-event-id');
        const subscription: EventSubscription = {
          types,
          account,
          ...(lastEventId !== undefined && { lastEventId }),
          mayReceive: (event) => visibility.mayReceive(event, principal),
          isStillValid,
        };
        return streamAnswer((sink) => feed.subscribe(sink, subscription));
      },
    }),
  ];
}

function eventStream(subscribe: (sink: EventSink) => () => void, maxPendingBytes: number): Answer {
  let unsubscribe = () => {};
  const stream = new TextStream(maxPendingBytes, () => unsubscribe());
  unsubscribe = subscribe({
    write(chunk) {
      stream.write(chunk);
      return stream.canWrite;
    },
    close: () => stream.close(),
  });
  return { status: 200, headers: SSE_HEADERS, body: stream.body };
}

function isWanted(type: EventType, patterns: readonly string[]): boolean {
  return patterns.length === 0 || patterns.some((pattern) => matchesType(type, pattern));
}

function hubNamed(text: string, mesh: Pick<MeshView, 'peers'>): HubId {
  const hub = mesh.peers().find(({ id, name }) => id === text || name === text);
  if (hub) return hub.id;
  throw new AtmoError('NOT_FOUND', `There is no hub ${JSON.stringify(text)} in the mesh; list the peers to see who is`);
}

type ListenerCounts = Pick<EventFeed, 'listenersOf' | 'listenerCount'>;

function refuseTooManyListeners(streams: readonly ListenerCounts[], account: string): void {
  const own = streams.reduce((count, stream) => count + stream.listenersOf(account), 0);
  const all = streams.reduce((count, stream) => count + stream.listenerCount, 0);
  if (own >= MAX_LISTENERS_EACH)
    throw new AtmoError('RESOURCE_EXCEEDED', `You hear the events ${own} times already; close one stream first`, { listeners: own });
  if (all >= MAX_LISTENERS + (own === 0 ? RESERVED_LISTENERS : 0))
    throw new AtmoError('RESOURCE_EXCEEDED', 'All places for listeners are taken; try again later', { listeners: all });
}

function parseTypes(text: string | undefined): readonly string[] {
  const patterns = text?.split(',').filter((pattern) => pattern !== '') ?? [];
  const unknown = patterns.filter((pattern) => !EVENT_TYPES.some((type) => matchesType(type, pattern)));
  if (unknown.length === 0) return patterns;
  throw new AtmoError('VALIDATION_ERROR', `No event is of type ${unknown.join(', ')}; known are ${EVENT_TYPES.join(', ')}`, { unknown });
}
