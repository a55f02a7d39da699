import { rootAgentOf } from '../core/auth/principal.ts';
import { repeat } from '../core/clock.ts';
import type { HubContext } from '../core/context.ts';
import type { Service } from '../core/lifecycle.ts';
import { plain, quoted } from '../core/untrusted-text.ts';
import type { NoticePublisher, Subject } from './notice-publisher.ts';

const HOUR_MS = 3_600_000;

/** A proposal that waits for people. */
export interface NoticedProposal {
  /** Id of the agent that proposes. */
  readonly by: string;
  /** Name of the automation, as the agent wrote it. */
  readonly name: string;
  /** Names of the persons who may accept it. */
  readonly persons: readonly string[];
}

interface ProposalNoticeCollaborators extends Pick<HubContext, 'clock' | 'events'> {
  readonly publisher: Pick<NoticePublisher, 'begin' | 'endMissing'>;
  /** Returns the proposals that wait, the newest first. */
  readonly open: () => readonly NoticedProposal[];
}

/**
 * Publishes that an agent proposes automations, to those who may accept them. A person has one notice of an agent with all that comes from it, until
 * none of them waits that this person may accept.
 */
export class ProposalNotices implements Service {
  readonly #collaborators: ProposalNoticeCollaborators;
  #stops: readonly (() => void)[] = [];

  constructor(collaborators: ProposalNoticeCollaborators) {
    this.#collaborators = collaborators;
  }

  async start(): Promise<void> {
    const { events, clock } = this.#collaborators;
    // A proposal that nobody answers ends by the time alone.
    this.#stops = [events.listen(() => this.#check(), ['proposal.changed']), repeat(clock, HOUR_MS, () => this.#check())];
    this.#check();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const stop of this.#stops) stop();
  }

  #check(): void {
    const { open, publisher } = this.#collaborators;
    const subjects = open().flatMap((proposal) => proposal.persons.map((person) => ({ person, subject: subjectFor(person, proposal) })));
    for (const { person, subject } of subjects) publisher.begin(subject, { persons: [person] });
    publisher.endMissing('proposal', new Set(subjects.map(({ subject }) => subject.name)));
  }
}

function subjectFor(person: string, { by, name }: NoticedProposal): Subject {
  return {
    kind: 'proposal',
    name: `proposal/${rootAgentOf(by)}/${person}`,
    path: '/#/automations',
    write: ({ proposal }) => ({ title: proposal.title, text: proposal.text(plain(by), quoted(name)) }),
  };
}
