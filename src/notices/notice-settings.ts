import type { HubContext } from '../core/context.ts';
import { AtmoError } from '../core/errors.ts';
import { type Json, type JsonObject, objectOf } from '../core/json.ts';
import {
  NOTICE_LANGUAGES,
  type NoticeChoices,
  type NoticeKind,
  type NoticeLanguage,
  type NoticeRule,
  noticeKind,
  type PeopleReach,
  type PersonWay,
} from '../core/notices.ts';
import type { PersonalStore } from './removed-persons.ts';
import { clockTime } from './texts/notice-texts.ts';

const SPACE = 'notices.rules';
const TIME = /^([01][0-9]|2[0-3]):[0-5][0-9]$/;
/** Name of the way to a person's browsers. Rules may name it before a browser is there. */
export const PUSH_WAY = 'push';
/** Quiet hours that follow on each other are looked through at most this often. */
const MAX_QUIET_RULES = 8;

/** How a person is told of a notice: over these ways, from this time on. Without ways, the person is not told. */
export interface ChosenWays {
  readonly ways: readonly PersonWay[];
  /** Milliseconds since 1970. */
  readonly fromMs: number;
}

interface SettingsCollaborators extends Pick<HubContext, 'store'> {
  readonly reach: PeopleReach;
}

/** Stores how each person wants to be told, and applies it. */
export class NoticeSettings implements NoticeChoices, PersonalStore {
  readonly #collaborators: SettingsCollaborators;

  constructor(collaborators: SettingsCollaborators) {
    this.#collaborators = collaborators;
  }

  persons(): readonly string[] {
    return this.#collaborators.store.entries(SPACE).map(({ key }) => key);
  }

  removePerson(name: string): void {
    this.#collaborators.store.delete(SPACE, name);
  }

  rulesOf(person: string): readonly NoticeRule[] {
    const { rules } = this.#storedOf(person);
    return Array.isArray(rules) ? (rules as unknown as readonly NoticeRule[]) : [];
  }

  languageOf(person: string): NoticeLanguage {
    const { language, pageLanguage } = this.#storedOf(person);
    return NOTICE_LANGUAGES.find((one) => one === (language ?? pageLanguage)) ?? 'en';
  }

  setLanguage(person: string, language: NoticeLanguage, by: 'person' | 'page'): void {
    this.#change(person, by === 'person' ? { language } : { pageLanguage: language });
  }

  setRules(person: string, rules: readonly NoticeRule[]): void {
    const known = new Set([PUSH_WAY, ...this.waysOf(person).map(({ name }) => name)]);
    for (const rule of rules) requireUsable(rule, known);
    this.#change(person, { rules: rules as unknown as Json });
  }

  #storedOf(person: string): JsonObject {
    return objectOf(this.#collaborators.store.get(SPACE, person));
  }

  #change(person: string, change: JsonObject): void {
    this.#collaborators.store.set(SPACE, person, { ...this.#storedOf(person), ...change });
  }

  waysOf(person: string): readonly PersonWay[] {
    const { reach } = this.#collaborators;
    const all = (['medium', 'low', 'high', 'critical'] as const).flatMap((urgency) => reach.waysOf(person, urgency));
    return all.filter(({ name }, index) => all.findIndex((other) => other.name === name) === index);
  }

  /** Returns how and when a person is told of a notice of this kind that begins now. */
  choose(person: string, kind: NoticeKind, nowMs: number): ChosenWays {
    const rules = this.rulesOf(person);
    let fromMs = nowMs;
    for (let count = 0; count < MAX_QUIET_RULES; count++) {
      const rule = rules.find((one) => fits(one, kind, fromMs));
      if (!rule || rule.ways.length > 0) return { ways: this.#waysBy(rule, person, kind), fromMs };
      if (rule.to === undefined) break;
      fromMs = nextTime(rule.to, fromMs);
    }
    return { ways: [], fromMs };
  }

  /** Returns the ways that a rule names. If none of them reaches the person any more, returns the ways that are used without a rule. */
  #waysBy(rule: NoticeRule | undefined, person: string, kind: NoticeKind): readonly PersonWay[] {
    const all = this.waysOf(person);
    const named = (rule?.ways ?? []).flatMap((name) => all.filter((way) => way.name === name));
    return named.length > 0 ? named : this.#collaborators.reach.waysOf(person, noticeKind(kind).urgency);
  }
}

/** Returns whether a rule is about a kind at a time. A rule that silences everything is not about kinds that are silenced only by name. */
function fits({ kinds, from, to, ways }: NoticeRule, kind: NoticeKind, atMs: number): boolean {
  if (kinds ? !kinds.includes(kind) : ways.length === 0 && noticeKind(kind).isSilencedByName === true) return false;
  if (from === undefined || to === undefined) return true;
  const now = clockTime(atMs);
  return from < to ? from <= now && now < to : from <= now || now < to;
}

/** Returns when a time of day comes next in the zone of the machine, in milliseconds since 1970. */
function nextTime(time: string, afterMs: number): number {
  const [hours = 0, minutes = 0] = time.split(':').map(Number);
  const next = new Date(afterMs);
  next.setHours(hours, minutes, 0, 0);
  if (next.getTime() <= afterMs) next.setDate(next.getDate() + 1);
  return next.getTime();
}

function requireUsable({ from, to, ways }: NoticeRule, known: ReadonlySet<string>): void {
  const times = [from, to].filter((time) => time !== undefined);
  if (times.length === 1 || times.some((time) => !TIME.test(time)) || (from !== undefined && from === to)) {
    throw new AtmoError('VALIDATION_ERROR', 'The hours of a rule are from and to, two different times of day such as 22:00 and 07:00');
  }
  const unknown = ways.find((way) => !known.has(way));
  if (unknown === undefined) return;
  const message = `No way ${JSON.stringify(unknown)} reaches this person; there is ${[...known].join(', ')}`;
  throw new AtmoError('VALIDATION_ERROR', message, { allowed: [...known] });
}
