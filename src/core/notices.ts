/** How much a message matters. A way may be quieter or louder by it. */
export const URGENCIES = ['low', 'medium', 'high', 'critical'] as const;
export type Urgency = (typeof URGENCIES)[number];

interface NoticeKindFacts {
  readonly urgency: Urgency;
  /** What notices of the kind are about, for a person who chooses how to be reached. */
  readonly title: string;
  /** True if only a setting that names the kind silences it. A setting about all kinds does not. */
  readonly isSilencedByName?: true;
}

/** All kinds of notices, the most urgent first. */
export const NOTICE_KINDS = {
  smoke: { urgency: 'critical', title: 'Smoke or carbon monoxide', isSilencedByName: true },
  leak: { urgency: 'critical', title: 'Water where none should be', isSilencedByName: true },
  approval: { urgency: 'high', title: 'A call waits for your approval', isSilencedByName: true },
  question: { urgency: 'high', title: 'An automation or agent asks something' },
  lock: { urgency: 'high', title: 'A lock is jammed or raises an alarm', isSilencedByName: true },
  disk: { urgency: 'high', title: 'The disk of the hub is nearly full' },
  certificate: { urgency: 'medium', title: 'A certificate is about to end' },
  automation: { urgency: 'medium', title: 'An automation failed, stopped or is about to end' },
  proposal: { urgency: 'medium', title: 'An agent proposes an automation' },
  agent: { urgency: 'medium', title: 'An agent stopped' },
  token: { urgency: 'medium', title: 'A token is about to end' },
  device: { urgency: 'medium', title: 'A device has not answered for long' },
  message: { urgency: 'medium', title: 'A message of an automation or agent' },
  tool: { urgency: 'medium', title: 'Somebody used a tool that the household is told about' },
  battery: { urgency: 'low', title: 'A battery is low' },
  backup: { urgency: 'low', title: 'A backup is overdue' },
  update: { urgency: 'low', title: 'An update can be installed' },
} as const satisfies Readonly<Record<string, NoticeKindFacts>>;

/** The kind of a notice, by which a person chooses how to be reached. */
export type NoticeKind = keyof typeof NOTICE_KINDS;

/** The names of all kinds. */
export const NOTICE_KIND_NAMES = Object.keys(NOTICE_KINDS) as readonly NoticeKind[];

/** Returns the facts about a kind. */
export function noticeKind(kind: NoticeKind): NoticeKindFacts {
  return NOTICE_KINDS[kind];
}

/** The languages of notices, by their tags (BCP 47). */
export const NOTICE_LANGUAGES = ['en', 'de'] as const;
export type NoticeLanguage = (typeof NOTICE_LANGUAGES)[number];

/** What a notice says, in words without ids and secrets. */
export interface NoticeWords {
  readonly title: string;
  readonly text: string;
}

/** Something that a person of the household should know or decide. `title` and `text` are English unless `inLanguage` chose another language. */
export interface Notice extends NoticeWords {
  /** Id that every message about the notice carries. A receiver can drop a repeat by it. */
  readonly id: string;
  readonly kind: NoticeKind;
  readonly urgency: Urgency;
  /** The same in the other languages; absent once a language was chosen. */
  readonly translations?: Readonly<Partial<Record<NoticeLanguage, NoticeWords>>>;
  /** Path of the page that shows the subject, for example `/#/approvals/ID`. Opening it decides nothing. */
  readonly path: string;
  /** Number of equal requests that the notice stands for; absent if it is one. */
  readonly count?: number;
  /** The answers from which a person chooses; absent if the notice is no question. */
  readonly answers?: readonly string[];
  /** Who answered the question, and what. */
  readonly answered?: { readonly answer: string; readonly by: string };
  /** Milliseconds since 1970. */
  readonly atMs: number;
  /** Milliseconds since 1970. After this time the notice is not sent any more. */
  readonly untilMs: number;
}

/** Returns a notice in one language; in English if it was not written in that language. */
export function inLanguage<Localized extends Notice>(
  { translations, ...notice }: Localized,
  language: NoticeLanguage,
): Omit<Localized, 'translations'> {
  return { ...notice, ...translations?.[language] };
}

/** A message about a notice to one person over one way. */
export interface NoticeMessage extends Pick<Notice, 'kind' | 'urgency' | 'title' | 'path' | 'count' | 'atMs' | 'untilMs'> {
  readonly id: string;
  readonly recipient: string;
  readonly message: string;
  /** Address of the page that shows the subject. */
  readonly link: string;
}

/** A way over which a person is reached. */
export interface PersonWay {
  /** Name by which the person's settings name the way. */
  readonly name: string;
  /** Kind of the way, such as `ntfy` or `push`. */
  readonly kind: string;
  /** Where `send` sends messages of this way: several if the person has several browsers, which all get each message. */
  readonly addresses: readonly string[];
}

/** Port: the configured ways over which persons are reached, such as a phone or a mailbox. */
export interface PeopleReach {
  /** Returns a person's ways for an urgency, first choice first. Returns none for a person whom nothing reaches. */
  waysOf(person: string, urgency: Urgency): readonly PersonWay[];
  /**
   * Sends a message to one address of a way and resolves when the provider has accepted it. Rejects with SERVICE_UNAVAILABLE or RATE_LIMITED
   * (not delivered, or a repeat with the same id replaces it), SERVICE_REFUSED (never delivered), NOT_FOUND (the address is not there any
   * more), OUTCOME_UNKNOWN, or the signal's reason.
   */
  send(address: string, message: NoticeMessage, signal: AbortSignal): Promise<string>;
}

/** A choice of a person. Of all rules of the person, the first one that fits a notice and the hour decides how the person is reached. */
export interface NoticeRule {
  /** Kinds of notices; absent: all kinds. */
  readonly kinds?: readonly NoticeKind[];
  /** Hours of the day in the hub's local time, `HH:MM`. If `from` is later than `to`, they go over midnight. Absent: all hours. */
  readonly from?: string;
  readonly to?: string;
  /**
   * Names of ways, first choice first. Empty: the person is not told; if the rule has hours, the person is told after them, unless the
   * subject has ended by then.
   */
  readonly ways: readonly string[];
}

/** A notice as a person sees it in the list. */
export interface ListedNotice extends Notice {
  /** Time at which the subject ended, milliseconds since 1970; absent while it lasts. */
  readonly endedMs?: number;
  readonly isRead: boolean;
}

/** Stands in place of the name of a person for everybody who gets notices: the owner and the adults. */
export const HOUSEHOLD = 'household';

/** A message of an automation or agent to a person. */
export interface MessageToPerson {
  readonly agentId: string;
  /** Name of a person who gets notices, or HOUSEHOLD. */
  readonly person: string;
  readonly text: string;
  readonly urgency: Exclude<Urgency, 'critical'>;
}

/** Port: passes messages of automations and agents on as notices. */
export interface PersonMessages {
  /** Throws NOT_FOUND if nobody of this name gets notices. */
  requirePerson(person: string): void;
  /**
   * Returns the id of the notice. Throws NOT_FOUND, RATE_LIMITED (the agent sent too many messages within an hour) or STORAGE_FAILED.
   */
  send(message: MessageToPerson): string;
}

/** Port: the recent notices of each person. */
export interface RecentNotices {
  /** Returns the notices for a person, the newest first. They are here even if no way reached the person. */
  recent(person: string): readonly ListedNotice[];
  /** Marks notices as read by a person: these, or all of the person's. Returns how many were unread before. */
  markRead(person: string, noticeIds: readonly string[] | undefined): number;
}

/** Port: how each person wants to be told. */
export interface NoticeChoices {
  /** Returns the language that the person chose, or else that of the page where the person is signed in. */
  languageOf(person: string): NoticeLanguage;
  /** Stores the language that the person chose, or, with `page`, that of the person's page, which holds until the person chooses. */
  setLanguage(person: string, language: NoticeLanguage, by: 'person' | 'page'): void;
  rulesOf(person: string): readonly NoticeRule[];
  /** Replaces the rules of a person. Throws VALIDATION_ERROR if a rule has wrong hours or names a way that does not reach the person. */
  setRules(person: string, rules: readonly NoticeRule[]): void;
  /** Returns the ways that reach a person now, in the order in which they are used if no rule says otherwise. */
  waysOf(person: string): readonly Pick<PersonWay, 'name' | 'kind'>[];
}

/** A subscription of a browser to Web Push (W3C Push API, `PushSubscription`). Who knows it can send to the browser. */
export interface PushSubscriptionKeys {
  /** Address at the browser's push service. */
  readonly endpoint: string;
  /** Public P-256 key of the browser, uncompressed, base64url. */
  readonly p256dh: string;
  /** Authentication secret of the browser (RFC 8291 §3.2), base64url. */
  readonly auth: string;
}

/** A browser that gets messages by Web Push, as its person sees it. */
export interface PushBrowser {
  readonly id: string;
  readonly person: string;
  readonly label: string;
  /** Host of the browser's push service. */
  readonly service: string;
  readonly createdAtMs: number;
}

/** Whose a browser is, and the sign-in with which it ends; no sign-in for a caller who has another token. */
export interface PushOwner {
  readonly person: string;
  readonly signIn: string | undefined;
}

/** Port: the browsers that get messages by Web Push. */
export interface PushBrowsers {
  /** Public key of this hub for `PushManager.subscribe` (RFC 8292): P-256, uncompressed, base64url. */
  readonly publicKey: string;
  list(person: string): readonly PushBrowser[];
  /**
   * Stores a subscription of a person's browser, until its sign-in ends. A subscription with a known endpoint replaces the earlier one. Throws VALIDATION_ERROR
   * (malformed, or an endpoint without https) or RESOURCE_EXCEEDED (too many browsers).
   */
  add(owner: PushOwner, subscription: PushSubscriptionKeys, label: string): PushBrowser;
  /** Removes a browser of a person. Throws NOT_FOUND if the person has no such browser. */
  remove(person: string, id: string): void;
}
