import { isJsonObject, type Json, type JsonObject, tryParseJson } from '../../core/json.ts';

/** A notification, as the browser shows it. */
export interface ShownNotification {
  readonly title: string;
  readonly body: string;
  /** A notification replaces the one with the same tag, so that a message that came twice is shown once. */
  readonly tag: string;
  /** Path and fragment of the page that shows more, such as `/#/approvals/ap-1`. */
  readonly path: string;
  readonly isUrgent: boolean;
  readonly isApproval: boolean;
}

const PATH = /^\/#\/[\w~%/.:?=&-]{0,500}$/;
const MAX_TITLE = 120;
const MAX_BODY = 600;

/**
 * Returns what to show for the content of a push message. A browser demands that something is shown for each message, so a content that
 * is no notice of a hub becomes a notification that only opens the page. The path is one of this page; a message cannot open another.
 */
export function notificationOf(content: string | undefined): ShownNotification {
  const notice = tryParseJson(content ?? '');
  const { id, kind, title, text, path, urgency, count }: JsonObject = isJsonObject(notice) ? notice : {};
  const times = typeof count === 'number' && count > 1 ? ` (${count})` : '';
  return {
    title: wordsOf(title, MAX_TITLE) === '' ? 'Atmosphere' : `${wordsOf(title, MAX_TITLE)}${times}`,
    body: wordsOf(text, MAX_BODY),
    tag: typeof id === 'string' && id !== '' ? id : 'atmosphere',
    path: typeof path === 'string' && PATH.test(path) ? path : '/',
    isUrgent: urgency === 'high' || urgency === 'critical',
    isApproval: kind === 'approval',
  };
}

function wordsOf(value: Json | undefined, limit: number): string {
  return typeof value === 'string' ? value.slice(0, limit) : '';
}
