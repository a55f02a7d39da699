import type { TrustedTime } from '../../src/core/clock.ts';
import { EventBus } from '../../src/core/events.ts';
import { silentLogger } from '../../src/core/logger.ts';
import type { NoticeKind, NoticeMessage, PeopleReach, PersonWay } from '../../src/core/notices.ts';
import type { KeyValueStore } from '../../src/core/storage/key-value-store.ts';
import { NoticeOutbox } from '../../src/notices/notice-outbox.ts';
import { NoticePublisher, type Subject } from '../../src/notices/notice-publisher.ts';
import { NoticeSettings } from '../../src/notices/notice-settings.ts';
import { NoticeStore } from '../../src/notices/notice-store.ts';
import { settled } from '../calls/pipeline-fixture.ts';
import { ManualClock } from '../manual-clock.ts';
import { MemoryKeyValueStore } from '../memory-key-value-store.ts';

export const PAGE = 'https://home.example:8081';

export interface Sent extends NoticeMessage {
  readonly way: string;
}

/** A way with one address for each of these; its own name if there is none. */
export const way = (name: string, addresses: readonly string[] = [name]): PersonWay => ({ name, kind: 'ntfy', addresses });

/** A subject about a device, with the texts of each language. */
export function aboutDevice(kind: 'leak' | 'battery' | 'smoke', where: string): Subject {
  const id = where.toLowerCase();
  const write: Subject['write'] = (texts) => ({ title: texts[kind].title, text: texts[kind].text(where) });
  return { kind, name: `${kind}/${id}`, write, path: `/#/devices/${id}` };
}

/** Ways of ann and bob; `answer` is what a provider does with a message. */
export function reachFake(
  answer: (message: Sent) => Promise<void> = async () => {},
  ways: Readonly<Record<string, readonly PersonWay[]>> = { ann: [way('phone'), way('mail')], bob: [way('mail')] },
): PeopleReach & { readonly sent: Sent[] } {
  const sent: Sent[] = [];
  return {
    sent,
    waysOf: (person) => ways[person] ?? [],
    send: async (address, message) => {
      await answer({ ...message, way: address });
      sent.push({ ...message, way: address });
      return message.id;
    },
  };
}

interface Parts {
  readonly clock: ManualClock;
  readonly store: KeyValueStore;
  readonly reach: PeopleReach;
  readonly personsFor: (kind: NoticeKind) => readonly string[];
  readonly time?: Pick<TrustedTime, 'isTrusted'>;
}

/** The parts that publish and deliver notices. `start` is what a new process does. */
export function noticeParts({ clock, store, reach, personsFor, time = { isTrusted: () => true } }: Parts) {
  const logger = silentLogger;
  const events = new EventBus('hub:test', clock);
  const notices = new NoticeStore({ clock, store, events });
  const settings = new NoticeSettings({ store, reach });
  const outbox = new NoticeOutbox({ clock, time, store, logger, reach, personsFor, pageUrl: () => PAGE });
  const publisher = new NoticePublisher({ clock, logger, notices, settings, outbox, personsFor });
  const start = async () => {
    notices.load();
    await outbox.start();
  };
  const pass = async (ms: number): Promise<void> => {
    clock.advance(ms);
    await settled();
  };
  return { clock, store, events, notices, settings, outbox, publisher, start, pass };
}

/** A household of ann and bob with notices that are delivered. */
export async function household(options: Partial<Parts> = {}) {
  const clock = options.clock ?? new ManualClock();
  const store = options.store ?? new MemoryKeyValueStore(clock);
  const reach = options.reach ?? reachFake();
  const parts = noticeParts({ ...options, clock, store, reach, personsFor: options.personsFor ?? (() => ['ann', 'bob']) });
  await parts.start();
  parts.outbox.resume();
  return { ...parts, sent: (reach as ReturnType<typeof reachFake>).sent };
}
