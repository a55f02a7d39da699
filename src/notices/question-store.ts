import { randomUUID } from 'node:crypto';
import { rootAgentOf } from '../core/auth/principal.ts';
import type { HubContext } from '../core/context.ts';
import { AtmoError, invalidInput } from '../core/errors.ts';
import { isJsonObject, type Json } from '../core/json.ts';
import type { Service } from '../core/lifecycle.ts';
import { atWallTime } from '../core/local-time.ts';
import { NOTICE_KINDS } from '../core/notices.ts';
import type { Question, QuestionRequest, Questions } from '../core/questions.ts';
import type { NoticePublisher } from './notice-publisher.ts';
import type { NoticeStore } from './notice-store.ts';
import { audienceOf, type MessageCollaborators, messageText, requireFewMessages, senderName, subjectOf } from './person-messages.ts';
import type { PersonalStore } from './removed-persons.ts';
import { inAllLanguages } from './texts/all-languages.ts';

const SPACE = 'notices.questions';
/** Time for which a question can be read after it has ended, in milliseconds. */
const KEPT_MS = 7 * 86_400_000;
/** Largest number of open questions of one family (an agent and all that comes from it), and of its ended ones that can be read. */
const MAX_OPEN = 16;
const MAX_ENDED = 50;

interface QuestionCollaborators extends Pick<HubContext, 'clock' | 'store' | 'events'>, Omit<MessageCollaborators, 'publisher'> {
  readonly notices: Pick<NoticeStore, 'countSaid' | 'get'>;
  readonly publisher: Pick<NoticePublisher, 'publish' | 'endNotice'>;
}

/** Stores the questions of automations and agents, publishes a notice about each, and takes the answer of a person who was asked. */
export class QuestionStore implements Questions, Service, PersonalStore {
  readonly #collaborators: QuestionCollaborators;
  readonly #questions = new Map<string, Question>();
  readonly #timers = new Map<string, () => void>();
  readonly #callbacks = new Map<string, Set<() => void>>();
  #unsubscribe: () => void = () => {};

  constructor(collaborators: QuestionCollaborators) {
    this.#collaborators = collaborators;
  }

  async start(): Promise<void> {
    const { store, events } = this.#collaborators;
    for (const { value } of store.entries(SPACE)) {
      // The cast is safe because only this class writes questions.
      if (isJsonObject(value)) this.#remember(value as unknown as Question);
    }
    this.#unsubscribe = events.listen(
      ({ subject, data }) => {
        if (waitsForNothing(data)) for (const { id } of this.#openOf(subject)) this.end(id);
      },
      ['agent.changed'],
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#unsubscribe();
    for (const cancel of this.#timers.values()) cancel();
  }

  get(id: string): Question | undefined {
    return this.#questions.get(id);
  }

  ask({ agentId, person, text, answers, timeoutMs }: QuestionRequest): Question {
    const { clock, personsFor, store } = this.#collaborators;
    const persons = audienceOf(person, personsFor('question'));
    requireFewMessages(agentId, this.#collaborators);
    this.#requireFewOpen(rootAgentOf(agentId));
    const [id, atMs] = [randomUUID().replaceAll('-', ''), clock.now()];
    const said = { text: messageText(text), answers: answers.map(messageText) };
    const question: Question = { id, agentId, persons, ...said, atMs, untilMs: atMs + timeoutMs };
    store.set(SPACE, id, question as unknown as Json, { ttlMs: timeoutMs + KEPT_MS });
    this.#publish(question);
    this.#remember(question);
    return question;
  }

  answer(id: string, answer: string, person: string): Question {
    const question = this.#questions.get(id);
    if (!question?.persons.includes(person)) throw new AtmoError('NOT_FOUND', `Nobody asked ${person} such a question`);
    if (!isOpen(question)) throw new AtmoError('CONFLICT', `The question ${JSON.stringify(question.text)} ${howEnded(question)}`);
    if (!question.answers.includes(answer)) throw invalidInput(`The answer is one of ${question.answers.join(', ')}`);
    const answered = { ...question, answered: { answer, by: person, atMs: this.#collaborators.clock.now() } };
    this.#change(answered);
    return answered;
  }

  end(id: string): Question | undefined {
    const question = this.#questions.get(id);
    if (!question || !isOpen(question)) return question;
    const ended = { ...question, endedMs: this.#collaborators.clock.now() };
    this.#change(ended);
    return ended;
  }

  persons(): readonly string[] {
    return [...this.#questions.values()].flatMap(({ persons }) => persons);
  }

  /** Asks a person no more. A question that nobody else was asked stays open until its time is over. */
  removePerson(name: string): void {
    const { store, clock } = this.#collaborators;
    for (const question of this.#questions.values()) {
      if (!question.persons.includes(name)) continue;
      const others = { ...question, persons: question.persons.filter((person) => person !== name) };
      const endsMs = (question.answered?.atMs ?? question.endedMs ?? question.untilMs) + KEPT_MS;
      store.set(SPACE, question.id, others as unknown as Json, { ttlMs: Math.max(1, endsMs - clock.now()) });
      this.#questions.set(question.id, others);
    }
  }

  onEnd(id: string, callback: () => void): () => void {
    const callbacks = this.#callbacks.get(id) ?? new Set();
    this.#callbacks.set(id, callbacks.add(callback));
    return () => callbacks.delete(callback);
  }

  #requireFewOpen(family: string): void {
    if (this.#ofFamily(family).filter(isOpen).length < MAX_OPEN) return;
    throw new AtmoError('RATE_LIMITED', `${MAX_OPEN} questions of ${family} and what comes from it are open, which is the most`);
  }

  #ofFamily(family: string): readonly Question[] {
    return [...this.#questions.values()].filter(({ agentId }) => rootAgentOf(agentId) === family);
  }

  /** Forgets the oldest ended questions of a family that has too many. */
  #makeRoom(family: string): void {
    const ended = this.#ofFamily(family).filter((question) => !isOpen(question));
    const excess = ended.sort((a, b) => a.atMs - b.atMs).slice(0, Math.max(0, ended.length - MAX_ENDED));
    for (const { id } of excess) {
      this.#collaborators.store.delete(SPACE, id);
      this.#timers.get(id)?.();
      this.#forget(id);
    }
  }

  #openOf(agentId: string): readonly Question[] {
    return [...this.#questions.values()].filter((question) => question.agentId === agentId && isOpen(question));
  }

  #publish({ id, agentId, persons, text, answers, atMs, untilMs }: Question): void {
    const { publisher, nameOf } = this.#collaborators;
    const name = senderName(agentId, nameOf);
    const words = inAllLanguages(({ question }) => ({
      title: question.title(name),
      text: question.text({ text, answers, untilMs, nowMs: atMs }),
    }));
    const { urgency } = NOTICE_KINDS.question;
    const facts = { id, kind: 'question', urgency, path: '/#/notices', answers, atMs, untilMs } as const;
    publisher.publish({ ...facts, ...words }, { subject: subjectOf('question', agentId, id), persons });
  }

  /** Stores a question that has ended, and ends its notice. Throws STORAGE_FAILED; nothing has changed then. */
  #change(question: Question): void {
    const { store, notices, publisher } = this.#collaborators;
    store.set(SPACE, question.id, question as unknown as Json, { ttlMs: KEPT_MS });
    this.#remember(question);
    const stored = notices.get(question.id);
    const { answered } = question;
    const said = answered && { answered: { answer: answered.answer, by: answered.by } };
    if (stored) publisher.endNotice({ ...stored, notice: { ...stored.notice, ...said } });
    for (const callback of this.#callbacks.get(question.id) ?? []) callback();
    this.#callbacks.delete(question.id);
    this.#makeRoom(rootAgentOf(question.agentId));
  }

  /** Keeps a question in memory, and ends it or forgets it when it is time. */
  #remember(question: Question): void {
    const { clock } = this.#collaborators;
    this.#questions.set(question.id, question);
    this.#timers.get(question.id)?.();
    const endedMs = question.answered?.atMs ?? question.endedMs;
    const work = endedMs === undefined ? () => this.#endInTime(question.id) : () => this.#forget(question.id);
    this.#timers.set(question.id, atWallTime(clock, endedMs === undefined ? question.untilMs : endedMs + KEPT_MS, work));
  }

  /** Ends a question whose time is over. If the disk refuses, it stays open until the next start of the hub. */
  #endInTime(id: string): void {
    try {
      this.end(id);
    } catch {
      this.#timers.delete(id);
    }
  }

  #forget(id: string): void {
    this.#questions.delete(id);
    this.#timers.delete(id);
  }
}

function isOpen({ answered, endedMs }: Question): boolean {
  return answered === undefined && endedMs === undefined;
}

function howEnded({ answered }: Question): string {
  return answered ? `was answered by ${answered.by}: ${answered.answer}` : 'is over: nobody waits for its answer any more';
}

/** Returns whether a change of an agent says that it waits for no answer: the agent has ended, or its run. */
function waitsForNothing({ agent_type: type, status, is_running: isRunning }: Readonly<Record<string, unknown>>): boolean {
  const isLiving = status === 'active' || status === 'failing';
  return !isLiving || (type === 'automation' && isRunning !== true);
}
