import { BrokenInvariant } from '../broken-invariant.ts';
import type { SimulatedProcess } from '../simulated-process.ts';

/** An attempt of a hub to tell a person something over a way, as everybody together saw it. */
export interface Telling {
  readonly machine: string;
  /** Whose address it was sent to, and over which way. */
  readonly person: string;
  readonly way: string;
  readonly id: string;
  /** Whom the message names. */
  readonly recipient: string;
  readonly title: string;
  readonly text: string;
  readonly link: string;
  /** When its notice began, by the clock of the hub, as ISO 8601. */
  readonly begunAt: string;
  readonly sender: SimulatedProcess;
  /** When it was sent. Milliseconds of the world. */
  readonly sentMs: number;
  /** The person has it. */
  isAccepted: boolean;
  /** What the hub knows of it: nothing yet, that it was taken, not taken, refused for ever, or that nobody can say. */
  outcome?: 'taken' | 'not taken' | 'refused' | 'unknown';
  /** Whether the hub could store that. */
  isRecorded: boolean;
}

/** A message that an agent sends to people over a hub. */
export interface SentMessage {
  readonly machine: string;
  /** A text that no other message has. */
  readonly text: string;
  readonly persons: readonly string[];
  /** When the agent got the answer that it is sent; undefined if it got another one, or none. */
  sentMs?: number;
}

/** A time in which a person does not belong to the household of a machine. Milliseconds of the world. */
export interface Absence {
  readonly machine: string;
  readonly person: string;
  /** When the call began that removes the person, when it was answered, and when one began that adds the person again. */
  readonly begunMs: number;
  fromMs?: number;
  untilMs?: number;
}

/** All that hubs have told people. */
export class ToldNotices {
  readonly messages = new Map<string, SentMessage>();
  readonly absences: Absence[] = [];
  /** Machines and persons whose key approves calls there, or may. The owner's always does. */
  readonly approvers = new Set<string>();
  /** Attempts by machine and id, in their order. */
  readonly #byId = new Map<string, Telling[]>();
  /** The id by what was told. */
  readonly #ids = new Map<string, string>();
  /** Attempts for messages of agents, by their texts. */
  readonly #byText = new Map<string, Telling[]>();
  /** Paths of requests for approval that a person was told of. */
  readonly #told = new Set<string>();

  /** A hub has lost what it knew. */
  forget(machine: string): void {
    for (const key of this.#byId.keys()) if (key.startsWith(`${machine} `)) this.#byId.delete(key);
    for (const key of this.#ids.keys()) if (key.startsWith(`${machine} `)) this.#ids.delete(key);
    for (const [text, message] of this.messages) if (message.machine === machine) this.messages.set(text, { ...message, sentMs: Infinity });
  }

  /** A hub may have lost that persons were removed. */
  forgetAbsences(machine: string): void {
    for (const absence of this.absences) if (absence.machine === machine) delete absence.fromMs;
  }

  /** An attempt begins. Throws BrokenInvariant if it may not. */
  begin(telling: Telling): void {
    const { machine, id, person, recipient, text, link } = telling;
    const key = `${machine} ${id}`;
    const before = this.#byId.get(key) ?? [];
    this.#byId.set(key, [...before, telling]);
    this.#told.add(`${machine} ${person} ${link.replace(/^.*#/, '')}`);
    const message = this.messages.get(text);
    if (message) this.#byText.set(text, [...(this.#byText.get(text) ?? []), telling]);
    if (recipient !== person) fail('nobody is told what is for others', telling, `it is for ${recipient}`);
    if (message && !message.persons.includes(person)) fail('nobody is told what is for others', telling, `it is for ${message.persons}`);
    if (this.absences.some((absence) => wasAbsent(absence, telling)))
      fail('nobody is told what is for others', telling, 'that person was removed');
    if (link.includes('#/approvals/') && person !== 'owner' && !this.approvers.has(`${machine} ${person}`))
      fail('nobody is told what is for others', telling, 'that person approves nothing');
    const again = before.find((earlier) => !mayBeRepeated(earlier, telling));
    if (again) fail('a notice is told once', telling, `it had been ${again.outcome ?? 'begun'} at ${again.sentMs} ms`);
    this.#requireSameId(telling);
  }

  #requireSameId(telling: Telling): void {
    const { machine, person, way, begunAt, title, text, id } = telling;
    // Who is added after a removal is another person, whose messages have ids of their own.
    const namesakes = this.absences.filter((absence) => isOver(absence, telling)).length;
    const key = `${machine} ${JSON.stringify([person, namesakes, way, begunAt, title, text])}`;
    const known = this.#ids.get(key) ?? id;
    this.#ids.set(key, known);
    if (known !== id) fail('a notice is repeated with the same id', telling, `it had the id ${known} before`);
  }

  /** Returns whether a hub has begun to tell a person of this request for approval. */
  has(machine: string, person: string, approvalId: string): boolean {
    return this.#told.has(`${machine} ${person} /approvals/${approvalId}`);
  }

  /** Checks that all messages of agents came to those whom they are for. Throws BrokenInvariant. */
  requireAllTold(): void {
    for (const { text, sentMs = Number.POSITIVE_INFINITY, persons, machine } of this.messages.values()) {
      if (sentMs === Number.POSITIVE_INFINITY) continue;
      const leftSince = this.absences.filter((one) => one.machine === machine && (one.untilMs ?? Infinity) > sentMs - ANSWERED_MS);
      const there = persons.filter((person) => !leftSince.some((absence) => absence.person === person));
      const missing = there.find((person) => !isSettled((this.#byText.get(text) ?? []).filter((one) => one.person === person)));
      if (missing === undefined) continue;
      throw new BrokenInvariant('no notice is lost', `${machine} has not told ${missing} “${text}”, which was sent at ${sentMs} ms`, [
        text,
      ]);
    }
  }
}

/** A hub may answer so long after it has sent a message, in milliseconds. */
const ANSWERED_MS = 60_000;

function wasAbsent(
  { machine, person, fromMs = Number.POSITIVE_INFINITY, untilMs = Number.POSITIVE_INFINITY }: Absence,
  telling: Telling,
): boolean {
  return machine === telling.machine && person === telling.person && fromMs < telling.sentMs && telling.sentMs < untilMs;
}

/** Returns whether a person was removed, and was or is being added again, before a message is sent. */
function isOver({ machine, person, untilMs = Number.POSITIVE_INFINITY }: Absence, telling: Telling): boolean {
  return machine === telling.machine && person === telling.person && untilMs <= telling.sentMs;
}

/** Returns whether a hub may send something again that it has sent before: it was not taken, or the hub ended before it could keep the outcome. */
function mayBeRepeated({ outcome, isRecorded, sender }: Telling, again: Telling): boolean {
  if (outcome === 'not taken') return true;
  return sender !== again.sender && !(outcome !== undefined && isRecorded);
}

/** Returns whether a person has a message, may have it, or cannot be reached over any way. */
function isSettled(tellings: readonly Telling[]): boolean {
  if (tellings.some(({ isAccepted, outcome }) => isAccepted || outcome === 'unknown')) return true;
  return WAYS.every((way) => tellings.some((one) => one.way === way && one.outcome === 'refused'));
}

/** The ways of each person, in their order. */
export const WAYS = ['phone', 'mail'] as const;

function fail(invariant: string, { machine, person, way, id, text, sentMs }: Telling, problem: string): never {
  const what = `${machine} tells ${person} by ${way} at ${sentMs} ms “${text}” with the id ${id}, although ${problem}`;
  throw new BrokenInvariant(invariant, what, [id, text]);
}
