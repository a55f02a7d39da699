import { isoTime } from '../../core/time/iso-time.ts';
import type { Urgency } from './urgency.ts';

/** Something to tell somebody. */
export interface Notification {
  /** The same for every attempt of one call, so that a receiver can drop what comes twice. */
  readonly id: string;
  /** Name of the recipient in the configuration. */
  readonly recipient: string;
  readonly title?: string;
  readonly message: string;
  readonly urgency: Urgency;
  /** Milliseconds since 1970. */
  readonly atMs: number;
}

/** The kinds of ways, as the configuration calls them. */
export type WayKind = 'ntfy' | 'webhook' | 'apprise' | 'email' | 'sms' | 'slack' | 'mqtt';

/** One way to reach one recipient. */
export interface NotificationWay {
  /** The owner's name for it. */
  readonly name: string;
  readonly kind: WayKind;
  /**
   * Resolves with the provider's id of the message when a provider said that it took it, and never otherwise. Errors:
   * SERVICE_UNAVAILABLE and RATE_LIMITED (nothing was delivered), SERVICE_REFUSED, OUTCOME_UNKNOWN, or what the signal aborts with.
   */
  send(notification: Notification, signal: AbortSignal): Promise<string>;
}

/** All of it as JSON, for ways that have no form of their own. */
export function notificationJson({ id, recipient, title, message, urgency, atMs }: Notification): string {
  return JSON.stringify({ id, recipient, ...(title !== undefined && { title }), message, urgency, timestamp: isoTime(atMs) });
}

/** Title and text as one, for ways that have no title. */
export function oneText({ title, message }: Notification): string {
  return title === undefined ? message : `${title}\n${message}`;
}
