import { createHash, randomBytes } from 'node:crypto';
import type { TrustedTime } from '../core/clock.ts';
import type { HubContext } from '../core/context.ts';
import { AtmoError, ERROR_CODES, toAtmoError } from '../core/errors.ts';
import { isJsonObject, type Json } from '../core/json.ts';
import type { Service } from '../core/lifecycle.ts';
import type { Notice, NoticeKind, PeopleReach } from '../core/notices.ts';
import type { PersonalStore } from './removed-persons.ts';

const SPACE = 'notices.deliveries';
/** A random text for each name of which a person was removed. It is in the ids of what the next person of that name gets. */
const NAMESAKE_SPACE = 'notices.namesakes';
/** Time for which a finished delivery can be read, in milliseconds. */
const KEPT_MS = 86_400_000;
const MAX_DELIVERIES = 2_000;
const ATTEMPT_MS = 10_000;
/** Pause before the second attempt, in milliseconds. Each further pause is twice as long, up to the maximum. */
const FIRST_PAUSE_MS = 2_000;
const MAX_PAUSE_MS = 60_000;
/** After this many failed attempts, the next way is used too. */
const FALLBACK_ATTEMPTS = 3;

/**
 * The state of a delivery. `sending` is stored before each attempt: if the process ends between the attempt and its outcome, the next start
 * sends the message again with the same id. `unknown` means that the provider did not say whether it took the message.
 */
export type DeliveryState = 'due' | 'sending' | 'sent' | 'unknown' | 'failed' | 'dropped';

/** The delivery of a notice to one person over one address of a way. */
export interface Delivery {
  readonly id: string;
  readonly notice: Notice;
  readonly person: string;
  readonly way: string;
  readonly state: DeliveryState;
  readonly dueMs: number;
  readonly attempts: number;
  /** Addresses of further ways, one list for each way. The next one is used if this delivery fails. */
  readonly fallback?: readonly (readonly string[])[];
  /** Why the last attempt failed. */
  readonly fault?: string;
}

/** Where and when a notice is delivered. `way` is an address of one of the person's ways. */
type DeliveryPlan = Pick<Delivery, 'person' | 'way' | 'dueMs' | 'fallback'>;

interface OutboxCollaborators extends Pick<HubContext, 'clock' | 'store' | 'logger'> {
  readonly time: Pick<TrustedTime, 'isTrusted'>;
  readonly reach: PeopleReach;
  /** Returns the persons whom a kind of notices concerns now. */
  readonly personsFor: (kind: NoticeKind) => readonly string[];
  /** Returns the address of the hub's page. */
  readonly pageUrl: () => string;
}

/**
 * Sends notices to persons and keeps each delivery on the disk until it has an outcome, so that no notice is lost by a crash. A message that
 * may have arrived is repeated only if the process ended between sending it and storing its outcome, and then it has the same id.
 */
export class NoticeOutbox implements Service, PersonalStore {
  readonly #collaborators: OutboxCollaborators;
  readonly #deliveries = new Map<string, Delivery>();
  /** Monotonic time before which a delivery is not tried again, in milliseconds, by its id. */
  readonly #pausedUntil = new Map<string, number>();
  readonly #running = new Set<Promise<void>>();
  readonly #stop = new AbortController();
  #isSending = false;
  #cancelTimer: () => void = () => {};

  constructor(collaborators: OutboxCollaborators) {
    this.#collaborators = collaborators;
  }

  /** Loads the deliveries. What was being sent when the last process ended is due again. Nothing is sent before `resume`. */
  async start(): Promise<void> {
    for (const { value } of this.#collaborators.store.entries(SPACE)) {
      const delivery = readDelivery(value);
      if (delivery) this.#deliveries.set(delivery.id, delivery.state === 'sending' ? { ...delivery, state: 'due' } : delivery);
    }
  }

  /** Begins to send. Called once the sources of notices have dropped what is not wanted any more. */
  resume(): void {
    this.#isSending = true;
    this.#startTimer();
  }

  /** Stores the delivery of a notice to a person over a way. It is sent at `dueMs`. Throws STORAGE_FAILED if it cannot be stored. */
  add(notice: Notice, { person, way, dueMs, fallback = [] }: DeliveryPlan): void {
    const id = this.#idOf(notice.id, person, way);
    if (this.#deliveries.has(id)) return;
    const further = fallback.length > 0 && { fallback };
    const delivery: Delivery = { id, notice, person, way, state: 'due', dueMs, attempts: 0, ...further };
    this.#collaborators.store.set(SPACE, id, delivery as unknown as Json);
    this.#deliveries.set(id, delivery);
    this.#startTimer();
  }

  /** Replaces a notice in all deliveries that were not sent yet, for each person by that person's. None is sent before `dueMs`. */
  revise(noticeId: string, noticeFor: (person: string) => Notice, dueMs: number): void {
    for (const delivery of this.#due(noticeId))
      this.#change({ ...delivery, notice: noticeFor(delivery.person), dueMs: Math.max(delivery.dueMs, dueMs) });
  }

  /** Drops the deliveries of a notice that were not sent yet. */
  drop(noticeId: string): void {
    for (const delivery of this.#due(noticeId)) this.#change({ ...delivery, state: 'dropped' });
  }

  persons(): readonly string[] {
    return [...this.#deliveries.values()].map(({ person }) => person);
  }

  /**
   * Also lets the next person of this name get messages with ids of their own, so that no receiver takes one about a subject that lasts for a
   * repeat of what the removed person got.
   */
  removePerson(name: string): void {
    this.#collaborators.store.set(NAMESAKE_SPACE, name, randomBytes(16).toString('hex'));
    for (const { id, person } of [...this.#deliveries.values()]) {
      if (person !== name) continue;
      this.#deliveries.delete(id);
      this.#pausedUntil.delete(id);
      this.#collaborators.store.delete(SPACE, id);
    }
  }

  /** Returns all deliveries that are known, the oldest first. */
  list(): readonly Delivery[] {
    return [...this.#deliveries.values()].sort((a, b) => a.notice.atMs - b.notice.atMs);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#cancelTimer();
    this.#stop.abort(new AtmoError('SHUTTING_DOWN', 'The hub is stopping'));
    await Promise.allSettled(this.#running);
  }

  /** Returns the id of a delivery, which depends only on the notice, the person and the way. Throws STORAGE_FAILED. */
  #idOf(noticeId: string, person: string, way: string): string {
    const draw = this.#collaborators.store.get(NAMESAKE_SPACE, person);
    const facts = [noticeId, person, way, ...(draw === undefined ? [] : [draw])];
    return createHash('sha256').update(JSON.stringify(facts)).digest('hex').slice(0, 32);
  }

  #due(noticeId: string): readonly Delivery[] {
    return [...this.#deliveries.values()].filter(({ notice, state }) => notice.id === noticeId && state === 'due');
  }

  #startTimer(): void {
    this.#cancelTimer();
    if (!this.#isSending || this.#stop.signal.aborted) return;
    const due = [...this.#deliveries.values()].filter(({ state }) => state === 'due');
    if (due.length === 0) return;
    const nextMs = Math.min(...due.map((delivery) => this.#remainingMs(delivery)));
    this.#cancelTimer = this.#collaborators.clock.after(Math.max(0, nextMs), () => this.#sendDue());
  }

  #sendDue(): void {
    for (const delivery of this.#deliveries.values()) {
      if (delivery.state !== 'due' || this.#remainingMs(delivery) > 0) continue;
      const sending = this.#send(delivery).finally(() => this.#running.delete(sending));
      this.#running.add(sending);
    }
    this.#startTimer();
  }

  /** Returns the milliseconds until a delivery that is due can be sent; 0 or less if it can be sent now. */
  #remainingMs({ id, dueMs }: Delivery): number {
    const { clock } = this.#collaborators;
    const pausedMs = (this.#pausedUntil.get(id) ?? Number.NEGATIVE_INFINITY) - clock.monotonic();
    return Math.max(dueMs - clock.now(), pausedMs);
  }

  /** Tries a delivery again after a pause. It has been due already, so a clock that is set back does not delay it further. */
  #pause(delivery: Delivery, pauseMs: number): void {
    this.#pausedUntil.set(delivery.id, this.#collaborators.clock.monotonic() + pauseMs);
    this.#change({ ...delivery, state: 'due', dueMs: 0 });
  }

  async #send(delivery: Delivery): Promise<void> {
    const { clock, time, reach, pageUrl, personsFor } = this.#collaborators;
    const { notice, person: recipient, way, id } = delivery;
    const persons = personsFor(notice.kind);
    const isConcerned = persons.includes(recipient);
    // Who left the household meanwhile, or may approve no more, is not told what still waited.
    if (!isConcerned && persons.length > 0 && time.isTrusted()) {
      this.#change({ ...delivery, state: 'dropped' });
      return;
    }
    if (notice.untilMs <= clock.now()) {
      this.#change({ ...delivery, state: 'failed', fault: 'It was not delivered in time' });
      return;
    }
    // By a wrong clock somebody seems to have left, and an empty list says that nobody is known now.
    if (!isConcerned) {
      this.#pause(delivery, MAX_PAUSE_MS);
      return;
    }
    const sending: Delivery = { ...delivery, state: 'sending', attempts: delivery.attempts + 1 };
    this.#change(sending);
    const limit = new AbortController();
    const stopLimit = clock.after(ATTEMPT_MS, () => limit.abort(new AtmoError('SERVICE_UNAVAILABLE', 'No answer within 10 s')));
    const { id: _, text: message, ...rest } = notice;
    try {
      const link = `${pageUrl()}${notice.path}`;
      const signal = AbortSignal.any([limit.signal, this.#stop.signal]);
      await reach.send(way, { ...rest, id, recipient, message, link }, signal);
      this.#change({ ...sending, state: 'sent' });
    } catch (thrown) {
      this.#fail(sending, toAtmoError(thrown));
    } finally {
      stopLimit();
      this.#startTimer();
    }
  }

  #fail(delivery: Delivery, { code, message: fault }: AtmoError): void {
    const { logger } = this.#collaborators;
    // The delivery stays `sending` on the disk, so that the next start sends it. A channel cannot say what became of a message that a stop cut off.
    if (code === 'SHUTTING_DOWN' || (code === 'OUTCOME_UNKNOWN' && this.#stop.signal.aborted)) return;
    const facts = { person: delivery.person, way: delivery.way, kind: delivery.notice.kind, code };
    if (code === 'OUTCOME_UNKNOWN') {
      logger.warn('notices.outcome_unknown', facts);
      this.#change({ ...delivery, state: 'unknown', fault });
    } else if (ERROR_CODES[code].retry !== 'later') {
      logger.warn('notices.not_delivered', facts);
      this.#fallBack(delivery);
      this.#change({ ...delivery, state: 'failed', fault });
    } else {
      if (delivery.attempts === FALLBACK_ATTEMPTS) this.#fallBack(delivery);
      const pauseMs = Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (delivery.attempts - 1));
      this.#pause({ ...delivery, fault }, pauseMs);
    }
  }

  /** Adds the deliveries over the person's next way. It is stored before the failure, so that a crash between the two loses neither. */
  #fallBack({ notice, person, fallback: [next, ...rest] = [] }: Delivery): void {
    const { clock, logger } = this.#collaborators;
    try {
      for (const way of next ?? []) this.add(notice, { person, way, dueMs: clock.now(), fallback: rest });
    } catch {
      logger.warn('notices.further_way_not_stored', { person, kind: notice.kind });
    }
  }

  /** Changes a stored delivery. If the disk refuses, the change holds until the hub stops: a full disk must not keep people uninformed. */
  #change(delivery: Delivery): void {
    // It may have been sent while its person was removed.
    if (!this.#deliveries.has(delivery.id)) return;
    this.#deliveries.set(delivery.id, delivery);
    if (delivery.state !== 'due') this.#pausedUntil.delete(delivery.id);
    const isFinished = delivery.state !== 'due' && delivery.state !== 'sending';
    try {
      this.#collaborators.store.set(SPACE, delivery.id, delivery as unknown as Json, isFinished ? { ttlMs: KEPT_MS } : {});
    } catch {
      this.#collaborators.logger.warn('notices.state_not_stored', { delivery_id: delivery.id, state: delivery.state });
    }
    if (isFinished) this.#makeRoom();
  }

  #makeRoom(): void {
    const finished = [...this.#deliveries.values()].filter(({ state }) => state !== 'due' && state !== 'sending');
    for (const { id } of finished.slice(0, Math.max(0, this.#deliveries.size - MAX_DELIVERIES))) this.#deliveries.delete(id);
  }
}

function readDelivery(value: Json): Delivery | undefined {
  if (!isJsonObject(value) || !isJsonObject(value.notice)) return undefined;
  const texts = [value.id, value.person, value.way, value.state, value.notice.id, value.notice.text];
  const isWhole = texts.every((text) => typeof text === 'string') && [value.dueMs, value.attempts].every(Number.isFinite);
  return isWhole ? (value as unknown as Delivery) : undefined;
}
