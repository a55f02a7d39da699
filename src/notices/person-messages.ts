import { randomUUID } from 'node:crypto';
import { rootAgentOf } from '../core/auth/principal.ts';
import { repeat } from '../core/clock.ts';
import type { HubContext } from '../core/context.ts';
import { AtmoError } from '../core/errors.ts';
import type { Service } from '../core/lifecycle.ts';
import { redact } from '../core/logger.ts';
import { HOUSEHOLD, type MessageToPerson, type NoticeKind, type PersonMessages } from '../core/notices.ts';
import { plain, visibleLine } from '../core/untrusted-text.ts';
import type { NoticePublisher } from './notice-publisher.ts';
import type { NoticeStore } from './notice-store.ts';
import { inAllLanguages } from './texts/all-languages.ts';

const HOUR_MS = 3_600_000;
/** Largest number of messages and questions of one family (an agent and all that comes from it) within an hour. */
const MAX_PER_HOUR = 12;
/** Time after which a message is over, in milliseconds. */
const OVER_AFTER_MS = 24 * HOUR_MS;
/** Longest text of a message or question, in characters. */
const MAX_TEXT = 500;

/** The parts of the hub that messages and questions use. */
export interface MessageCollaborators extends Pick<HubContext, 'clock'> {
  readonly notices: Pick<NoticeStore, 'countSaid'>;
  readonly publisher: Pick<NoticePublisher, 'publish' | 'endBefore'>;
  /** Returns the persons whom a kind of notices concerns. */
  readonly personsFor: (kind: NoticeKind) => readonly string[];
  /** Returns the name that people read of an automation or agent. */
  readonly nameOf: (agentId: string) => string;
}

/** Publishes messages of automations and agents to persons. A message is over after a day. */
export class MessageNotices implements PersonMessages, Service {
  readonly #collaborators: MessageCollaborators;
  #stop: () => void = () => {};

  constructor(collaborators: MessageCollaborators) {
    this.#collaborators = collaborators;
  }

  async start(): Promise<void> {
    const { clock, publisher } = this.#collaborators;
    this.#stop = repeat(clock, HOUR_MS, () => publisher.endBefore('message', clock.now() - OVER_AFTER_MS));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop();
  }

  requirePerson(person: string): void {
    audienceOf(person, this.#collaborators.personsFor('message'));
  }

  send({ agentId, person, text, urgency }: MessageToPerson): string {
    const { clock, publisher, personsFor, nameOf } = this.#collaborators;
    const persons = audienceOf(person, personsFor('message'));
    requireFewMessages(agentId, this.#collaborators);
    const id = randomUUID().replaceAll('-', '');
    const [name, said, atMs] = [senderName(agentId, nameOf), messageText(text), clock.now()];
    const words = inAllLanguages(({ message }) => ({ title: message.title(name), text: said }));
    const facts = { id, kind: 'message', urgency, path: '/#/notices', atMs, untilMs: atMs + OVER_AFTER_MS } as const;
    publisher.publish({ ...facts, ...words }, { subject: subjectOf('message', agentId, id), persons });
    return id;
  }
}

/** Returns the persons who are meant by a name. Throws NOT_FOUND if nobody of this name gets notices. */
export function audienceOf(person: string, persons: readonly string[]): readonly string[] {
  if (person === HOUSEHOLD) return persons;
  if (persons.includes(person)) return [person];
  const known = [...persons, HOUSEHOLD].join(', ');
  throw new AtmoError('NOT_FOUND', `Nobody called ${JSON.stringify(person)} gets notices; write one of ${known}`);
}

/** Throws RATE_LIMITED if the agent and all that comes from its root sent too many messages and questions within the last hour. */
export function requireFewMessages(agentId: string, { clock, notices }: Pick<MessageCollaborators, 'clock' | 'notices'>): void {
  const family = rootAgentOf(agentId);
  const count = notices.countSaid(family, clock.now() - HOUR_MS);
  if (count < MAX_PER_HOUR) return;
  const who = family === agentId ? family : `${family} and what comes from it`;
  throw new AtmoError('RATE_LIMITED', `${who} sent ${count} messages and questions within an hour, which is the most`);
}

/**
 * Returns the name under which people read a message. An agent chooses the names of what it makes, so that the id, which begins with that of the
 * agent, stands beside such a name.
 */
export function senderName(agentId: string, nameOf: MessageCollaborators['nameOf']): string {
  const name = plain(nameOf(agentId));
  return rootAgentOf(agentId) === agentId || name === agentId ? name : `${name} (${agentId})`;
}

/** Returns the name of the subject of a message or question. */
export function subjectOf(kind: 'message' | 'question', agentId: string, id: string): string {
  return `${kind}/${agentId}#${id}`;
}

/** Returns the text of a message or question as it is kept and seen: one line of visible characters, of bounded length, without secrets. */
export function messageText(text: string): string {
  return String(redact(visibleLine(text, MAX_TEXT)));
}
