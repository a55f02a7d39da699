import type { HubContext } from '../core/context.ts';
import { toAtmoError } from '../core/errors.ts';
import { redact } from '../core/logger.ts';
import { inLanguage, type Notice, type NoticeKind, type NoticeWords, noticeKind, type PersonWay } from '../core/notices.ts';
import type { NoticeOutbox } from './notice-outbox.ts';
import type { NoticeSettings } from './notice-settings.ts';
import type { NoticeStore, StoredNotice } from './notice-store.ts';
import { inAllLanguages } from './texts/all-languages.ts';
import type { NoticeWriter } from './texts/notice-texts.ts';

/**
 * Time after a request for approval that further ones of the same group have to join its message, in milliseconds; each further one begins it
 * anew, up to a second after the first.
 */
const GATHERING_MS = 400;
const LONGEST_GATHERING_MS = 1_000;
/** If a request for approval or a question is still open after this time, in milliseconds, its message goes over the person's further ways too. */
const FURTHER_WAYS_AFTER_MS = 30_000;
/** Time for which a message about a subject that lasts is tried, in milliseconds. */
const TRIED_MS = 3 * 86_400_000;

interface PublisherCollaborators extends Pick<HubContext, 'clock' | 'logger'> {
  readonly notices: NoticeStore;
  readonly settings: Pick<NoticeSettings, 'choose' | 'waysOf' | 'languageOf'>;
  readonly outbox: NoticeOutbox;
  /** Returns the persons whom a kind of notices concerns. */
  readonly personsFor: (kind: NoticeKind) => readonly string[];
}

/** What a notice is about, and for whom it is. */
interface Audience {
  readonly subject: string;
  /** Name of a person who is not told. */
  readonly except?: string | undefined;
  /** Names of persons; absent: those whom the kind concerns. */
  readonly persons?: readonly string[];
}

/** What a notice says about a subject. */
export interface Subject extends Pick<Notice, 'kind' | 'path'> {
  /** Name of the subject, such as `leak/cellar-sensor`. */
  readonly name: string;
  readonly write: NoticeWriter;
}

/**
 * Publishes notices: each subject once while it lasts, to the persons whom it concerns, over the ways that they chose. A person who did not
 * choose is told of a request for approval and of a question over the first way and then over the others, of danger over all ways at once, and of anything
 * else over the first way that works.
 */
export class NoticePublisher {
  readonly #collaborators: PublisherCollaborators;

  constructor(collaborators: PublisherCollaborators) {
    this.#collaborators = collaborators;
  }

  /**
   * Publishes that a subject has begun, unless an open notice says so. That goes to persons whom it concerns by now, and who do not have it: who
   * joined the household since, or seemed to have left it by a wrong clock. A failure of the disk is logged; the next check tries again.
   */
  begin({ name, kind, path, write }: Subject, { except, persons }: Omit<Audience, 'subject'> = {}): void {
    const { notices, clock } = this.#collaborators;
    const open = notices.openAbout(name);
    if (open) {
      this.#guarded(kind, () => this.#addPersons(open, this.#personsOf(kind, { except, ...(persons && { persons }) })));
      return;
    }
    const nowMs = clock.now();
    const { urgency } = noticeKind(kind);
    const facts = { kind, path, urgency, atMs: nowMs, untilMs: nowMs + TRIED_MS };
    this.#guarded(kind, () =>
      this.publish(
        { ...facts, id: notices.reserveId(name), ...inAllLanguages(write) },
        { subject: name, except, ...(persons && { persons }) },
      ),
    );
  }

  /** Ends the open notice about a subject, if there is one: messages that were not sent yet are dropped. */
  end(subject: string): void {
    const open = this.#collaborators.notices.openAbout(subject);
    if (open) this.endNotice(open);
  }

  /** Ends the open notices of a kind, except those about the named subjects. */
  endMissing(kind: NoticeKind, subjects: ReadonlySet<string>): void {
    for (const stored of this.#collaborators.notices.open(kind)) if (!subjects.has(stored.subject)) this.endNotice(stored);
  }

  /** Ends the open notices of a kind that began before a time, in milliseconds since 1970. */
  endBefore(kind: NoticeKind, beforeMs: number): void {
    for (const stored of this.#collaborators.notices.open(kind)) if (stored.notice.atMs < beforeMs) this.endNotice(stored);
  }

  /** Returns when the open notice about a subject began, in milliseconds since 1970; undefined if there is none. */
  openAtMs(subject: string): number | undefined {
    return this.#collaborators.notices.openAbout(subject)?.notice.atMs;
  }

  endNotice(stored: StoredNotice): void {
    const { outbox, notices, clock } = this.#collaborators;
    outbox.drop(stored.notice.id);
    this.#guarded(stored.notice.kind, () => notices.put({ ...stored, endedMs: clock.now() }));
  }

  /** Stores a notice and its deliveries. Throws STORAGE_FAILED if they cannot be stored; a repeat then completes them. */
  publish(notice: Notice, { subject, except, persons: named }: Audience): void {
    const { notices } = this.#collaborators;
    if (notices.get(notice.id)) return;
    const persons = this.#personsOf(notice.kind, { except, ...(named && { persons: named }) });
    const shown = withoutSecrets(notice);
    this.#deliver(shown, persons);
    // Written last: without it, the next start publishes again, and each delivery that is stored already stays as it is.
    notices.put({ notice: shown, subject, persons, readMs: {} });
  }

  #personsOf(kind: NoticeKind, { except, persons = this.#collaborators.personsFor(kind) }: Omit<Audience, 'subject'>): readonly string[] {
    return persons.filter((person) => person !== except);
  }

  #addPersons(stored: StoredNotice, persons: readonly string[]): void {
    const further = persons.filter((person) => !stored.persons.includes(person));
    if (further.length === 0) return;
    this.#deliver(stored.notice, further);
    this.#collaborators.notices.put({ ...stored, persons: [...stored.persons, ...further] });
  }

  /** Replaces the text of a notice where it was not sent yet. */
  revise(notice: Notice): void {
    const { notices, outbox, clock } = this.#collaborators;
    const stored = notices.get(notice.id);
    const shown = { ...withoutSecrets(notice), atMs: stored?.notice.atMs ?? notice.atMs };
    const dueMs = Math.min(clock.now() + GATHERING_MS, shown.atMs + LONGEST_GATHERING_MS);
    outbox.revise(notice.id, (person) => this.#localizedFor(person, shown), dueMs);
    if (stored) notices.put({ ...stored, notice: shown });
  }

  #deliver(notice: Notice, persons: readonly string[]): void {
    const { settings, clock, logger } = this.#collaborators;
    const chosen = persons.map((person) => ({ person, ...settings.choose(person, notice.kind, clock.now()) }));
    const reached = chosen.filter(({ ways, fromMs }) => ways.length > 0 && fromMs < notice.untilMs);
    const isUrgent = notice.urgency === 'high' || notice.urgency === 'critical';
    if (isUrgent && persons.every((person) => settings.waysOf(person).length === 0)) {
      logger.warn('notices.nobody_reached', { kind: notice.kind, persons });
    }
    for (const { person, ways, fromMs } of reached) this.#deliverTo(person, notice, { ways, fromMs });
  }

  #deliverTo(person: string, notice: Notice, { ways, fromMs }: { readonly ways: readonly PersonWay[]; readonly fromMs: number }): void {
    const { outbox } = this.#collaborators;
    const localized = this.#localizedFor(person, notice);
    const add = ({ addresses }: PersonWay, dueMs: number, fallback: readonly (readonly string[])[] = []) => {
      for (const way of addresses) outbox.add(localized, { person, way, dueMs, fallback });
    };
    const [first, ...others] = ways;
    if (notice.kind === 'approval' || notice.kind === 'question') {
      for (const [index, way] of ways.entries()) add(way, fromMs + (index === 0 ? GATHERING_MS : FURTHER_WAYS_AFTER_MS));
    } else if (notice.urgency === 'critical') {
      for (const way of ways) add(way, fromMs);
    } else if (first) {
      const fallback = others.map(({ addresses }) => addresses);
      add(first, fromMs, fallback);
    }
  }

  #localizedFor(person: string, notice: Notice): Notice {
    return inLanguage(notice, this.#collaborators.settings.languageOf(person));
  }

  #guarded(kind: NoticeKind, work: () => void): void {
    try {
      work();
    } catch (thrown) {
      this.#collaborators.logger.warn('notices.not_stored', { kind, problem: toAtmoError(thrown).message });
    }
  }
}

/** Returns the notice without texts that look like tokens or codes: a caller may have written one where no secret is expected. */
function withoutSecrets(notice: Notice): Notice {
  const clean = ({ title, text }: NoticeWords): NoticeWords => ({ title: String(redact(title)), text: String(redact(text)) });
  const translations = Object.fromEntries(Object.entries(notice.translations ?? {}).map(([language, words]) => [language, clean(words)]));
  return { ...notice, ...clean(notice), translations };
}
