import type { Person } from '../../src/core/auth/people.ts';
import type { Principal } from '../../src/core/auth/principal.ts';
import type { Clock } from '../../src/core/clock.ts';
import type { EventBus } from '../../src/core/events.ts';
import { silentLogger } from '../../src/core/logger.ts';
import type { KeyValueStore } from '../../src/core/storage/key-value-store.ts';
import { NoticeOutbox } from '../../src/notices/notice-outbox.ts';
import { NoticePublisher } from '../../src/notices/notice-publisher.ts';
import { NoticeSettings } from '../../src/notices/notice-settings.ts';
import { NoticeStore } from '../../src/notices/notice-store.ts';
import { MessageNotices } from '../../src/notices/person-messages.ts';
import { QuestionStore } from '../../src/notices/question-store.ts';
import { questionTools } from '../../src/tools/builtin/question-tools.ts';
import { reachFake } from './notices-fixture.ts';

interface QuestionWorld {
  readonly clock: Clock;
  readonly store: KeyValueStore;
  readonly events: EventBus;
  readonly people: readonly Person[];
  readonly nameOf: (agentId: string) => string;
}

/** Messages and questions to people who all get notices, with the tools for them. What it keeps is in the store. */
export function questionFixture({ clock, store, events, people, nameOf }: QuestionWorld) {
  const logger = silentLogger;
  const reach = reachFake();
  const notices = new NoticeStore({ clock, store, events });
  notices.load();
  const settings = new NoticeSettings({ store, reach });
  const personsFor = () => people.map(({ name }) => name);
  const outbox = new NoticeOutbox({ clock, time: { isTrusted: () => true }, store, logger, reach, personsFor, pageUrl: () => '' });
  const publisher = new NoticePublisher({ clock, logger, notices, settings, outbox, personsFor });
  const messages = new MessageNotices({ clock, notices, publisher, personsFor, nameOf });
  const questions = new QuestionStore({ clock, store, events, notices, publisher, personsFor, nameOf });
  const personOf = ({ id }: Principal) => people.find(({ name }) => name === id);
  return { notices, messages, questions, outbox, reach, tools: questionTools({ messages, questions, people: { personOf } }) };
}
