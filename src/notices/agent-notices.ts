import { repeat } from '../core/clock.ts';
import type { HubContext } from '../core/context.ts';
import type { Service } from '../core/lifecycle.ts';
import { plain, visibleLine } from '../core/untrusted-text.ts';
import type { NoticePublisher, Subject } from './notice-publisher.ts';
import type { EndCause, NoticeTexts, NoticeWriter } from './texts/notice-texts.ts';

const HOUR_MS = 3_600_000;
/** How long before the end of an automation a notice says so, in milliseconds. */
const WARN_END_MS = 7 * 24 * HOUR_MS;
const MAX_PROBLEM = 300;

/** An agent of this hub, as notices know it. */
export interface NoticedAgent {
  readonly id: string;
  readonly type: 'automation' | 'external';
  readonly name: string;
  readonly status: 'active' | 'failing' | 'killed' | 'expired';
  /** Id of the agent that made this one; absent if a person did. */
  readonly parent?: string;
  readonly createdAtMs: number;
  /** Milliseconds since 1970; absent if the agent has no end. */
  readonly expiresAtMs?: number;
  /** Number of failed runs since the last success. */
  readonly failures: number;
  readonly lastError?: { readonly message: string };
  /** How the agent ended: `by` somebody who asked for it and so knows of it, or by itself from a cause. */
  readonly ended?: { readonly by?: string; readonly cause?: EndCause };
}

interface AgentNoticeCollaborators extends Pick<HubContext, 'clock' | 'events'> {
  readonly time: Pick<HubContext['time'], 'now'>;
  readonly publisher: Pick<NoticePublisher, 'begin' | 'end' | 'endMissing'>;
  readonly agents: () => readonly NoticedAgent[];
}

/**
 * Publishes what happens to agents: an automation failed, stopped or is about to end; an outside agent stopped. Of agents that an
 * agent made, only that an automation is about to end: it acts in the house until then, and nobody else would notice.
 */
export class AgentNotices implements Service {
  readonly #collaborators: AgentNoticeCollaborators;
  #stops: readonly (() => void)[] = [];

  constructor(collaborators: AgentNoticeCollaborators) {
    this.#collaborators = collaborators;
  }

  async start(): Promise<void> {
    const { events, clock } = this.#collaborators;
    this.#stops = [events.listen(() => this.#check(), ['agent.changed']), repeat(clock, HOUR_MS, () => this.#check())];
    this.#check();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const stop of this.#stops) stop();
  }

  #check(): void {
    const { agents, publisher, time } = this.#collaborators;
    const subjects = agents().flatMap((agent) => subjectsOf(agent, time.now()));
    for (const subject of subjects) publisher.begin(subject);
    const names = new Set(subjects.map(({ name }) => name));
    for (const kind of ['automation', 'agent'] as const) publisher.endMissing(kind, names);
  }
}

function subjectsOf(agent: NoticedAgent, nowMs: number): readonly Subject[] {
  const { id, type, createdAtMs } = agent;
  const kind = type === 'automation' ? 'automation' : 'agent';
  const state = stateOf(agent, nowMs);
  if (state === undefined || !isNoticed(agent, state)) return [];
  const path = kind === 'automation' ? '/#/automations' : '/#/agents';
  return [{ kind, name: `${kind}/${id}/${state}/${createdAtMs}`, write: WRITERS[state](agent, kind), path }];
}

/** Returns what people should know about an agent now; undefined if there is nothing. */
function stateOf(agent: NoticedAgent, nowMs: number): 'stopped' | 'failing' | 'ending' | undefined {
  const { status, failures, ended } = agent;
  if (status === 'killed' || status === 'expired') return ended && ended.by === undefined ? 'stopped' : undefined;
  if (status === 'failing' || failures > 0) return 'failing';
  return isEnding(agent, nowMs) ? 'ending' : undefined;
}

/** Of an agent that an agent made, only the end counts, and that of one made for a day needs no notice. */
function isNoticed({ parent, createdAtMs, expiresAtMs = Infinity }: NoticedAgent, state: keyof typeof WRITERS): boolean {
  return parent === undefined || (state === 'ending' && expiresAtMs - createdAtMs > WARN_END_MS);
}

type AgentWriter = (agent: NoticedAgent, kind: 'automation' | 'agent') => NoticeWriter;

const WRITERS: Readonly<Record<'stopped' | 'failing' | 'ending', AgentWriter>> = {
  stopped:
    (agent, kind) =>
    ({ agents }) => ({ title: agents.stoppedTitle[kind], text: agents.stopped(nameOf(agent, kind, agents), causeOf(agent, agents)) }),
  failing:
    (agent, kind) =>
    ({ agents }) => ({
      title: agents.failedTitle[kind],
      text: agents.failed(nameOf(agent, kind, agents), problemOf(agent, agents), agent.status === 'failing'),
    }),
  ending:
    (agent, kind) =>
    ({ agents }) => ({ title: agents.endingTitle[kind], text: agents.ending(nameOf(agent, kind, agents), agent.expiresAtMs ?? 0) }),
};

type AgentTexts = NoticeTexts['agents'];

function nameOf({ name }: NoticedAgent, kind: 'automation' | 'agent', { named }: AgentTexts): string {
  return named[kind](plain(name));
}

function isEnding({ createdAtMs, expiresAtMs, type }: NoticedAgent, nowMs: number): boolean {
  if (expiresAtMs === undefined || type !== 'automation') return false;
  return expiresAtMs - nowMs <= Math.min(WARN_END_MS, (expiresAtMs - createdAtMs) / 4);
}

function causeOf({ ended }: NoticedAgent, { causes, unknown }: AgentTexts): string {
  return ended?.cause === undefined ? unknown : causes[ended.cause];
}

function problemOf({ lastError }: NoticedAgent, { unknown }: AgentTexts): string {
  return visibleLine(lastError?.message ?? unknown, MAX_PROBLEM).replace(/\.$/, '');
}
