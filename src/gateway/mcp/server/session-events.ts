import type { EventStore, JSONRPCMessage } from '@modelcontextprotocol/server';

interface KeptEvent {
  readonly number: number;
  readonly streamId: string;
  readonly message: JSONRPCMessage;
  readonly size: number;
}

/** How much one session keeps for a client that comes back, in messages and in characters of their JSON. */
const KEPT = { events: 256, size: 131_072 } as const;

/** What a session has told lately, so that a client whose connection was cut hears the rest of it (Last-Event-ID). */
export class SessionEvents implements EventStore {
  #kept: KeptEvent[] = [];
  #size = 0;
  #next = 1;

  async storeEvent(streamId: string, message: JSONRPCMessage): Promise<string> {
    const event = { number: this.#next++, streamId, message, size: JSON.stringify(message).length };
    // Where a stream begins, nothing is said but the id.
    const isEmpty = Object.keys(message).length === 0;
    if (!isEmpty && event.size <= KEPT.size) this.#keep(event);
    return `${event.number}_${streamId}`;
  }

  async getStreamIdForEventId(eventId: string): Promise<string | undefined> {
    return parse(eventId)?.streamId;
  }

  async replayEventsAfter(
    lastEventId: string,
    { send }: { readonly send: (eventId: string, message: JSONRPCMessage) => Promise<void> },
  ): Promise<string> {
    const { number: last, streamId } = parse(lastEventId) ?? { number: Number.POSITIVE_INFINITY, streamId: '' };
    for (const event of this.#kept) {
      if (event.number > last && event.streamId === streamId) await send(`${event.number}_${streamId}`, event.message);
    }
    return streamId;
  }

  #keep(event: KeptEvent): void {
    this.#kept.push(event);
    this.#size += event.size;
    while (this.#kept.length > KEPT.events || this.#size > KEPT.size) this.#size -= this.#kept.shift()?.size ?? 0;
  }
}

function parse(eventId: string): { readonly number: number; readonly streamId: string } | undefined {
  const match = /^(\d{1,15})_(.{1,64})$/.exec(eventId);
  return match?.[2] === undefined ? undefined : { number: Number(match[1]), streamId: match[2] };
}
