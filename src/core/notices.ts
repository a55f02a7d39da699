/** How much a message matters. A way may be quieter or louder by it. */
export const URGENCIES = ['low', 'medium', 'high', 'critical'] as const;
export type Urgency = (typeof URGENCIES)[number];

/** Kinds of notices, each with its default urgency. */
export const NOTICE_URGENCY = { approval: 'high' } as const satisfies Record<string, Urgency>;
/** The kind of a notice, by which a person chooses how to be reached. */
export type NoticeKind = keyof typeof NOTICE_URGENCY;

/** Something that a person of the household should know or decide, in words without ids and secrets. */
export interface Notice {
  /** Id that every message about the notice carries. A receiver can drop a repeat by it. */
  readonly id: string;
  readonly kind: NoticeKind;
  readonly urgency: Urgency;
  readonly title: string;
  readonly text: string;
  /** Path of the page that shows the subject, for example `/#/approvals/ID`. Opening it decides nothing. */
  readonly path: string;
  /** Milliseconds since 1970. */
  readonly atMs: number;
  /** Milliseconds since 1970. After this time the notice is not sent any more. */
  readonly untilMs: number;
}

/** A message about a notice to one person over one way. */
export interface NoticeMessage {
  readonly id: string;
  readonly recipient: string;
  readonly title: string;
  readonly message: string;
  readonly urgency: Urgency;
  readonly link: string;
  readonly atMs: number;
}

/** Port: the configured ways over which persons are reached, such as a phone or a mailbox. */
export interface PeopleReach {
  /** Returns the names of a person's ways for an urgency, first choice first. Returns none for a person whom the owner did not configure. */
  waysOf(person: string, urgency: Urgency): readonly string[];
  /**
   * Sends a message over one way and resolves when the provider has accepted it. Rejects with SERVICE_UNAVAILABLE or RATE_LIMITED (not
   * delivered), SERVICE_REFUSED (never delivered), NOT_FOUND (the way is not configured any more), OUTCOME_UNKNOWN, or the signal's reason.
   */
  send(way: string, message: NoticeMessage, signal: AbortSignal): Promise<string>;
}
