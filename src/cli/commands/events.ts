import { setTimeout as delay } from 'node:timers/promises';
import { isJsonObject, type JsonObject } from '../../core/json.ts';
import type { Command, Invocation } from '../command.ts';
import { eventLine } from '../event-line.ts';
import { errorOf } from '../hub/hub-client.ts';
import { sseMessages } from '../hub/sse-reader.ts';

const RECONNECT_MS = 1_000;

export const events: Command = {
  name: 'events',
  summary: 'tell what happens, until Ctrl-C; with --json one CloudEvent a line',
  examples: ['events', "events --types 'device.*,agi.tool.failed'", 'events --count 1 --json'],
  options: {
    types: { value: 'LIST', help: 'only these types, such as device.*,agi.tool.failed' },
    count: { value: 'N', help: 'end after N events' },
    hub: { value: 'HUB', help: 'of this other hub of the mesh, by id or name' },
    after: { value: 'ID', help: 'begin after this event id' },
  },
  async run(call) {
    try {
      await tail(call);
    } catch (thrown) {
      if (!call.io.signal?.aborted) throw thrown;
    }
    return undefined;
  },
};

async function tail(call: Invocation): Promise<void> {
  let left = call.integer('count') ?? Number.POSITIVE_INFINITY;
  let lastEventId = call.text('after');
  while (!call.io.signal?.aborted) {
    for await (const event of streamOnce(call, lastEventId)) {
      lastEventId = typeof event.id === 'string' ? event.id : lastEventId;
      call.output.line(event, eventLine(event));
      if (--left <= 0) return;
    }
    await (call.io.sleep ?? delay)(RECONNECT_MS);
  }
}

/** The events of one connection; a cut one ends the sequence, the caller comes back with the last id. */
async function* streamOnce(call: Invocation, lastEventId: string | undefined): AsyncIterable<JsonObject> {
  const headers = lastEventId === undefined ? {} : { 'last-event-id': lastEventId };
  const response = await call.hub.stream('/api/v1/events', { types: call.text('types'), hub: call.text('hub') }, headers);
  for await (const message of sseMessages(response.body)) {
    if (message.event === 'gap') {
      call.output.note('some events were lost: the hub no longer remembers them');
      continue;
    }
    const value: unknown = JSON.parse(message.data);
    if (message.event === 'error') throw errorOf(isJsonObject(value) ? value : {}, 0);
    if (isJsonObject(value)) yield value;
  }
}
