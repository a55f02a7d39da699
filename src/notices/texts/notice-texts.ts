import type { CallWords } from '../../core/devices/call-words.ts';
import { oncePerText } from '../../core/lifecycle.ts';
import type { NoticeWords } from '../../core/notices.ts';

/** The titles of one kind of agents, or of automations. */
type ByType = Readonly<Record<'automation' | 'agent', string>>;

/** Alarms of locks that need a person (Matter Application Clusters §5.2.6.2, AlarmCodeEnum). */
export const LOCK_ALARMS = [
  'LockJammed',
  'LockFactoryReset',
  'LockRadioPowerCycled',
  'WrongCodeEntryLimit',
  'FrontEsceutcheonRemoved',
  'DoorForcedOpen',
  'DoorAjar',
  'ForcedUser',
] as const;
export type LockAlarm = (typeof LOCK_ALARMS)[number];

/**
 * Which certificate ends: that of the hub's own authority for the page, one that the owner gave to the page, one that the hub renews for its
 * name, or that of the mesh.
 */
export type CertificateOf = 'authority' | 'page' | 'name' | 'mesh';

/** Why an agent ended by itself. */
export type EndCause = 'lifetime_over' | 'token_revoked' | 'token_invalid';

/** What a device senses. `where` is its name and room. */
interface DeviceText {
  readonly title: string;
  readonly text: (where: string) => string;
}

/** What a message says about requests for approval. */
export interface RequestFacts {
  readonly agent: string;
  /** Name of the other hub to which the agent belongs. */
  readonly hub?: string;
  /** The call in the words of `call`. */
  readonly call: string;
  /** Number of requests like this that wait. */
  readonly count: number;
  readonly untilMs: number;
  readonly nowMs: number;
}

/** What a message says about a question. */
interface QuestionFacts extends Pick<RequestFacts, 'untilMs' | 'nowMs'> {
  readonly text: string;
  readonly answers: readonly string[];
}

/** All texts of notices in one language. Times are milliseconds since 1970. Names and reasons are put in as they are. */
export interface NoticeTexts {
  readonly call: CallWords;
  readonly approval: { readonly title: string; readonly text: (facts: RequestFacts) => string };
  readonly question: { readonly title: (name: string) => string; readonly text: (facts: QuestionFacts) => string };
  readonly message: { readonly title: (name: string) => string };
  readonly leak: DeviceText;
  readonly smoke: DeviceText;
  readonly carbonMonoxide: DeviceText;
  readonly battery: DeviceText;
  readonly lock: {
    readonly title: string;
    /** What each alarm says about a lock, without the last dot. */
    readonly alarms: Readonly<Record<LockAlarm, (where: string) => string>>;
    readonly text: (alarm: string) => string;
  };
  readonly lost: { readonly title: string; readonly text: (where: string, forMs: number) => string };
  readonly agents: {
    readonly named: Readonly<Record<'automation' | 'agent', (name: string) => string>>;
    readonly stoppedTitle: ByType;
    readonly failedTitle: ByType;
    readonly endingTitle: ByType;
    readonly stopped: (what: string, reason: string) => string;
    readonly failed: (what: string, problem: string, isPaused: boolean) => string;
    readonly ending: (what: string, atMs: number) => string;
    /** Why one ended by itself. */
    readonly causes: Readonly<Record<EndCause, string>>;
    readonly unknown: string;
  };
  /** `name` is the agent's own name for the automation, in quotation marks. */
  readonly proposal: { readonly title: string; readonly text: (agent: string, name: string) => string };
  readonly token: { readonly title: string; readonly text: (agent: string, atMs: number) => string };
  readonly certificate: {
    readonly title: string;
    readonly text: Readonly<Record<CertificateOf, (atMs: number) => string>>;
    readonly notRenewed: { readonly title: string; readonly text: (problem: string) => string };
  };
  readonly backup: { readonly title: string; readonly text: (problem: string) => string };
  readonly update: {
    readonly title: string;
    readonly text: (device: string, version: string) => string;
    readonly hub: (version: string) => string;
    readonly notKept: { readonly title: string; readonly text: (version: string, isPossible: boolean) => string };
  };
  readonly disk: { readonly title: string; readonly text: (freeMiB: number) => string };
  readonly tool: { readonly title: string; readonly text: (who: string, tool: string, atMs: number) => string };
}

/** Writes what a notice says with the texts of a language. */
export type NoticeWriter = (texts: NoticeTexts) => NoticeWords;

/** Returns the time of day in the zone of the machine, such as `12:04`. */
export function clockTime(atMs: number): string {
  return new Date(atMs).toTimeString().slice(0, 5);
}

const dayFormatOf = oncePerText((locale) => new Intl.DateTimeFormat(locale, { day: 'numeric', month: 'long', year: 'numeric' }), {
  maxKept: 4,
});

/** Returns the day in the zone of the machine, such as `1 May 2026` for `en-GB`. */
export function dateText(atMs: number, locale: string): string {
  return dayFormatOf(locale).format(atMs);
}
