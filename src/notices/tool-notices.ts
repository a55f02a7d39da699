import { repeat } from '../core/clock.ts';
import type { HubContext } from '../core/context.ts';
import type { HubEvent } from '../core/events.ts';
import type { Service } from '../core/lifecycle.ts';
import { plain } from '../core/untrusted-text.ts';
import type { NoticePublisher } from './notice-publisher.ts';
import type { NoticeWriter } from './texts/notice-texts.ts';

/** Time for which further calls of the same tool by the same agent need no notice of their own, in milliseconds. */
const TOGETHER_MS = 600_000;
/** Time after which a notice about a use is over, in milliseconds. */
const OVER_AFTER_MS = 86_400_000;
const CHECK_MS = 3_600_000;

interface ToolNoticeCollaborators extends Pick<HubContext, 'clock' | 'events'> {
  readonly publisher: Pick<NoticePublisher, 'begin' | 'end' | 'endBefore' | 'openAtMs'>;
  /** Returns the title of a tool for people; undefined for a tool that is not there any more. */
  readonly titleOf: (toolId: string) => string | undefined;
  /** Returns the person who calls under this id; undefined for agents. */
  readonly personCalled: (agentId: string) => { readonly name: string; readonly title: string } | undefined;
}

/** Publishes that a tool was used whose audit settings ask for it (`notify_admins`), to everybody but the person who used it. */
export class ToolNotices implements Service {
  readonly #collaborators: ToolNoticeCollaborators;
  #stops: readonly (() => void)[] = [];

  constructor(collaborators: ToolNoticeCollaborators) {
    this.#collaborators = collaborators;
  }

  async start(): Promise<void> {
    const { events, clock, publisher } = this.#collaborators;
    this.#stops = [
      events.listen((event) => this.#onResult(event), ['agi.tool.result']),
      repeat(clock, CHECK_MS, () => publisher.endBefore('tool', clock.now() - OVER_AFTER_MS)),
    ];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const stop of this.#stops) stop();
  }

  #onResult({ subject: tool, data }: HubEvent): void {
    if (data.notify_admins !== true || typeof data.agent_id !== 'string') return;
    const { publisher, clock, titleOf, personCalled } = this.#collaborators;
    const { agent_id: agent } = data;
    const name = `tool/${agent}/${tool}`;
    const openAtMs = publisher.openAtMs(name);
    if (openAtMs !== undefined && clock.now() - openAtMs < TOGETHER_MS) return;
    publisher.end(name);
    const person = personCalled(agent);
    const [who, what, atMs] = [plain(person?.title ?? agent), plain(titleOf(tool) ?? tool), clock.now()];
    const write: NoticeWriter = (texts) => ({ title: texts.tool.title, text: texts.tool.text(who, what, atMs) });
    publisher.begin({ kind: 'tool', name, write, path: '/#/activity' }, { except: person?.name });
  }
}
