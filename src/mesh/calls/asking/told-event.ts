import { EVENT_TYPES, type EventType, type HubEvent } from '../../../core/events.ts';
import { isVisible, visibleJson } from '../../../core/foreign-text.ts';
import { isJsonObject, type JsonObject } from '../../../core/json.ts';
import { decodeSubscribedEvent } from '../../../wire/messages/call-queries.ts';

/** What a listener has asked for. */
interface Wish {
  readonly types: readonly EventType[];
  readonly subjects?: readonly string[];
}

/** Such as a UUID, a source or a time: it stands in a line of its own where events are passed on. */
const WORD = /^[\w.:/+-]{1,128}$/;
const MAX_SUBJECT = 512;

/**
 * An event of another hub, with the members that events have and no others; undefined for one that was not asked for or is
 * none: it is passed on, and must not pretend to be two.
 */
export function toldEvent(part: Uint8Array, { types, subjects }: Wish): HubEvent | undefined {
  const { id, source, type, subject, time, data } = decodeSubscribedEvent(part);
  const known = EVENT_TYPES.find((name) => name === type);
  if (!known || !types.includes(known) || !isWord(id) || !isWord(source) || !isWord(time)) return undefined;
  if (!isSubject(subject) || subjects?.includes(subject) === false) return undefined;
  return isJsonObject(data)
    ? { specversion: '1.0', id, source, type: known, subject, time, data: visibleJson(data) as JsonObject }
    : undefined;
}

function isSubject(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.length <= MAX_SUBJECT && isVisible(value) && !/[\n\t]/.test(value);
}

function isWord(value: unknown): value is string {
  return typeof value === 'string' && WORD.test(value);
}
