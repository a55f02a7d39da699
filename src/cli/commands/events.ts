import { isJsonObject, type Json, type JsonObject, objectOf } from '../../core/json.ts';
import type { Command, Invocation } from '../command.ts';
import { sseMessages } from '../hub/answer-body.ts';
import { errorOf } from '../hub/hub-client.ts';
import { Outages } from '../hub/outages.ts';
import type { Block, Tone } from '../terminal/blocks.ts';
import { cellText } from '../terminal/text-table.ts';
import { cutText, padText } from '../terminal/text-width.ts';

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
  run: tail,
};

/** Prints events until enough came. Once the hub has answered, a restart of it or of the network only makes a pause. */
async function tail(call: Invocation): Promise<void> {
  const outages = new Outages(call.output);
  let left = call.integer('count') ?? Number.POSITIVE_INFINITY;
  let lastEventId = call.text('after');
  while (!call.io.signal?.aborted) {
    try {
      const response = await openStream(call, lastEventId);
      outages.end();
      for await (const event of eventsIn(response, call)) {
        lastEventId = typeof event.id === 'string' ? event.id : lastEventId;
        call.output.line(event, eventLine(event));
        if (--left <= 0) return;
      }
    } catch (error) {
      if (call.io.signal?.aborted) return;
      outages.begin(error);
    }
    await call.io.sleep(RECONNECT_MS);
  }
}

function openStream(call: Invocation, lastEventId: string | undefined): Promise<Response> {
  const headers = lastEventId === undefined ? {} : { 'last-event-id': lastEventId };
  return call.hub.stream('/api/v1/events', { types: call.text('types'), hub: call.text('hub') }, headers);
}

/** Yields the events of one connection until it is cut. The caller then reconnects with the last event id. */
async function* eventsIn(response: Response, call: Invocation): AsyncIterable<JsonObject> {
  for await (const message of sseMessages(response.body)) {
    if (message.event === 'gap') {
      call.output.note('some events were lost: the hub no longer remembers them');
      continue;
    }
    const value: unknown = JSON.parse(message.data);
    if (message.event === 'error') throw errorOf(objectOf(value), 0);
    if (isJsonObject(value)) yield value;
  }
}

/** Data fields that `eventLine` does not print as `name=value`. It prints them elsewhere in the line, or only programs need them. */
const LEFT_OUT = ['tool', 'request_id', 'trace_id', 'response_hash', 'job_id', 'approval_id', 'at_ms', 'unit'];
const TYPE_COLUMNS = 22;

/** Returns an event on one line: time, type, subject and data. On a terminal the date is omitted and the line is cut to the width. */
export function eventLine(event: JsonObject): Block {
  return {
    render({ columns, ink }) {
      const type = cellText(event.type);
      const [when, what] = [columns === undefined ? cellText(event.time) : timeOfDay(event.time), padText(type, TYPE_COLUMNS)];
      const rest = [cellText(event.subject), factsText(event.data)].filter((text) => text !== '').join('  ');
      const room = columns === undefined ? rest : cutText(rest, columns - when.length - what.length - 4);
      return `${ink(when, 'quiet')}  ${ink(what, toneOf(type, event.data))}  ${room}`;
    },
  };
}

function toneOf(type: string, data: Json | undefined): Tone {
  const { code, reachability, status, state } = objectOf(data);
  if (code === 'APPROVAL_REQUIRED' || type === 'approval.requested' || type === 'hub.warning') return 'warning';
  if (type === 'agi.tool.failed' || status === 'failed' || state === 'denied' || reachability === 'unreachable') return 'bad';
  if (type === 'agi.tool.result' || status === 'succeeded' || state === 'approved') return 'good';
  return type === 'agi.tool.invoked' ? 'quiet' : 'plain';
}

function factsText(data: Json | undefined): string {
  if (!isJsonObject(data)) return '';
  const value =
    data.value === undefined ? [] : [`${cellText(data.value)}${typeof data.unit === 'string' ? ` ${cellText(data.unit)}` : ''}`];
  const others = Object.entries(data).filter(([name, fact]) => name !== 'value' && !LEFT_OUT.includes(name) && fact !== null);
  return [...value, ...others.map(([name, fact]) => `${name}=${factText(fact)}`)].join(' ');
}

function factText(fact: Json): string {
  if (!isJsonObject(fact)) return cellText(fact);
  return `(${Object.entries(fact)
    .map(([name, value]) => `${name}=${cellText(value)}`)
    .join(' ')})`;
}

function timeOfDay(time: Json | undefined): string {
  const at = new Date(String(time));
  return Number.isNaN(at.getTime()) ? cellText(time) : at.toTimeString().slice(0, 8);
}
