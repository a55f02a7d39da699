import { createHash, randomBytes } from 'node:crypto';
import { rootAgentOf } from '../core/auth/principal.ts';
import type { HubContext } from '../core/context.ts';
import { isJsonObject, type Json } from '../core/json.ts';
import type { ListedNotice, Notice, NoticeKind, RecentNotices } from '../core/notices.ts';
import type { PersonalStore } from './removed-persons.ts';

const SPACE = 'notices.recent';
/** The ids of notices that begin, by subject, until they are stored. */
const BEGUN_SPACE = 'notices.begun';
/** Time for which a notice can be read after its subject has ended, in milliseconds. */
const KEPT_MS = 30 * 86_400_000;
/** Largest number of messages and questions together, and of one family of agents. They have room of their own, so that none pushes out others. */
const MAX_SAID = 500;
const MAX_SAID_OF_FAMILY = 50;
/** Number of other notices from which on the ended ones make room. */
const MAX_NOTICES = 500;

/** A notice with what it is about and whom it is for. */
export interface StoredNotice {
  readonly notice: Notice;
  /** Name of the subject, such as `leak/cellar-sensor`. At most one notice about a subject is open. */
  readonly subject: string;
  readonly persons: readonly string[];
  /** Milliseconds since 1970; absent while the subject lasts. */
  readonly endedMs?: number;
  /** Times at which persons marked the notice as read, by person. */
  readonly readMs: Readonly<Record<string, number>>;
}

/**
 * Stores the notices on the disk. An open notice means that its subject lasts and was told; so a subject is told once until it has ended,
 * also by a hub that was started again.
 */
export class NoticeStore implements RecentNotices, PersonalStore {
  readonly #collaborators: Pick<HubContext, 'clock' | 'store' | 'events'>;
  readonly #notices = new Map<string, StoredNotice>();
  /** Id of the newest notice of each subject. */
  readonly #newest = new Map<string, string>();

  constructor(collaborators: Pick<HubContext, 'clock' | 'store' | 'events'>) {
    this.#collaborators = collaborators;
  }

  load(): void {
    const found = this.#collaborators.store.entries(SPACE).flatMap(({ value }) => readNotice(value) ?? []);
    for (const stored of found.sort((a, b) => a.notice.atMs - b.notice.atMs)) this.#remember(stored);
    // A crash may have come between the two writes of `put`.
    for (const { key, value } of this.#collaborators.store.entries(BEGUN_SPACE))
      if (this.#notices.has(String(value))) this.#collaborators.store.delete(BEGUN_SPACE, key);
  }

  get(noticeId: string): StoredNotice | undefined {
    return this.#notices.get(noticeId);
  }

  /** Returns the open notice about a subject. */
  openAbout(subject: string): StoredNotice | undefined {
    const newest = this.#notices.get(this.#newest.get(subject) ?? '');
    return newest?.endedMs === undefined ? newest : undefined;
  }

  open(kind: NoticeKind): readonly StoredNotice[] {
    return [...this.#notices.values()].filter(({ notice, endedMs }) => notice.kind === kind && endedMs === undefined);
  }

  /** Returns how many messages and questions a family of agents sent after a time (milliseconds since 1970). */
  countSaid(family: string, sinceMs: number): number {
    return this.#said().filter((stored) => familyOf(stored) === family && stored.notice.atMs > sinceMs).length;
  }

  #said(): readonly StoredNotice[] {
    return [...this.#notices.values()].filter(isSaid);
  }

  /**
   * Draws the id of the next notice about a subject, stores it until that notice is stored, and returns it; returns the same one until then, also after a
   * crash. Throws STORAGE_FAILED.
   */
  reserveId(subject: string): string {
    const { store } = this.#collaborators;
    const key = keyOfSubject(subject);
    const begun = store.get(BEGUN_SPACE, key);
    if (typeof begun === 'string') return begun;
    const id = randomBytes(16).toString('hex');
    store.set(BEGUN_SPACE, key, id, { ttlMs: KEPT_MS });
    return id;
  }

  /** Stores a notice. Throws STORAGE_FAILED if it cannot be stored; nothing has changed then. */
  put(stored: StoredNotice): void {
    this.#write(stored);
    for (const person of stored.persons) this.#emitChanged(person);
    const { store } = this.#collaborators;
    const key = keyOfSubject(stored.subject);
    if (store.get(BEGUN_SPACE, key) === stored.notice.id) store.delete(BEGUN_SPACE, key);
  }

  #write(stored: StoredNotice): void {
    const isEnded = stored.endedMs !== undefined;
    this.#collaborators.store.set(SPACE, stored.notice.id, stored as unknown as Json, isEnded ? { ttlMs: KEPT_MS } : {});
    this.#remember(stored);
    this.#makeRoom(stored);
  }

  persons(): readonly string[] {
    return [...this.#notices.values()].flatMap(({ persons }) => persons);
  }

  removePerson(name: string): void {
    const own = [...this.#notices.values()].filter(({ persons }) => persons.includes(name));
    for (const stored of own) {
      const { [name]: _, ...readMs } = stored.readMs;
      this.#write({ ...stored, persons: stored.persons.filter((person) => person !== name), readMs });
    }
  }

  recent(person: string): readonly ListedNotice[] {
    const own = [...this.#notices.values()].filter(({ persons }) => persons.includes(person));
    return own.map((stored) => this.#listed(stored, person)).sort((a, b) => b.atMs - a.atMs);
  }

  markRead(person: string, noticeIds: readonly string[] | undefined): number {
    const nowMs = this.#collaborators.clock.now();
    const own = [...this.#notices.values()].filter(({ persons, readMs }) => persons.includes(person) && readMs[person] === undefined);
    const unread = own.filter(({ notice }) => noticeIds?.includes(notice.id) ?? true);
    for (const stored of unread) this.#write({ ...stored, readMs: { ...stored.readMs, [person]: nowMs } });
    if (unread.length > 0) this.#emitChanged(person);
    return unread.length;
  }

  /** Emits that the list of a person has changed. The event says no more, since each person may see other notices. */
  #emitChanged(person: string): void {
    this.#collaborators.events.emit('notice.changed', person);
  }

  #listed({ notice, endedMs, readMs }: StoredNotice, person: string): ListedNotice {
    const isLate = (notice.kind === 'approval' || notice.kind === 'question') && notice.untilMs <= this.#collaborators.clock.now();
    const ended = endedMs ?? (isLate ? notice.untilMs : undefined);
    return { ...notice, ...(ended !== undefined && { endedMs: ended }), isRead: readMs[person] !== undefined };
  }

  #remember(stored: StoredNotice): void {
    const { notice, subject } = stored;
    const isKnown = this.#notices.has(notice.id);
    this.#notices.set(notice.id, stored);
    if (!isKnown) this.#newest.set(subject, notice.id);
  }

  #makeRoom(stored: StoredNotice): void {
    if (isSaid(stored)) this.#makeRoomForSaid(familyOf(stored));
    else this.#makeRoomForOthers();
  }

  #makeRoomForOthers(): void {
    const others = [...this.#notices.values()].filter((stored) => !isSaid(stored));
    const ended = others.filter(({ endedMs }) => endedMs !== undefined).sort((a, b) => (a.endedMs ?? 0) - (b.endedMs ?? 0));
    this.#forget(ended.slice(0, Math.max(0, others.length - MAX_NOTICES)));
  }

  /** Drops the oldest messages and questions, open ones too: an agent could send any number of them. */
  #makeRoomForSaid(family: string): void {
    const oldestFirst = [...this.#said()].sort((a, b) => a.notice.atMs - b.notice.atMs);
    const own = oldestFirst.filter((stored) => familyOf(stored) === family);
    this.#forget(own.slice(0, Math.max(0, own.length - MAX_SAID_OF_FAMILY)));
    this.#forget(oldestFirst.slice(0, Math.max(0, oldestFirst.length - MAX_SAID)));
  }

  #forget(excess: readonly StoredNotice[]): void {
    for (const { notice, subject } of excess) {
      this.#collaborators.store.delete(SPACE, notice.id);
      this.#notices.delete(notice.id);
      if (this.#newest.get(subject) === notice.id) this.#newest.delete(subject);
    }
  }
}

function keyOfSubject(subject: string): string {
  return createHash('sha256').update(subject).digest('hex').slice(0, 32);
}

/** Returns whether a notice says what an agent said, and not what the hub found. */
function isSaid({ notice: { kind } }: Pick<StoredNotice, 'notice'>): boolean {
  return kind === 'message' || kind === 'question';
}

/** Returns the root of the agent whose message or question a subject such as `message/AGENT#ID` names. */
function familyOf({ subject }: Pick<StoredNotice, 'subject'>): string {
  const [agentId = ''] = subject.slice(subject.indexOf('/') + 1).split('#', 1);
  return rootAgentOf(agentId);
}

function readNotice(value: Json): StoredNotice | undefined {
  if (!isJsonObject(value) || !isJsonObject(value.notice) || !isJsonObject(value.readMs) || !Array.isArray(value.persons)) return undefined;
  const isWhole = [value.subject, value.notice.id, value.notice.kind, value.notice.text].every((text) => typeof text === 'string');
  return isWhole ? (value as unknown as StoredNotice) : undefined;
}
