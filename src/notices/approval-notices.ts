import { createHash } from 'node:crypto';
import { type ApprovalService, type ApprovalView, callText } from '../core/auth/approvals.ts';
import { hubOfForeignAgent, maxRisk, type Risk } from '../core/auth/principal.ts';
import type { HubContext } from '../core/context.ts';
import { isJsonObject, type Json } from '../core/json.ts';
import type { Service } from '../core/lifecycle.ts';
import { NOTICE_KINDS, type Notice } from '../core/notices.ts';
import type { NoticePublisher } from './notice-publisher.ts';
import type { NoticeStore } from './notice-store.ts';
import { inAllLanguages } from './texts/all-languages.ts';
import type { RequestFacts } from './texts/notice-texts.ts';

const SPACE = 'notices.approvals';
const RISKS: readonly Risk[] = ['none', 'low', 'medium', 'dangerous'];

interface ApprovalNoticeCollaborators extends Pick<HubContext, 'clock' | 'store' | 'logger' | 'events'> {
  readonly approvals: Pick<ApprovalService, 'list' | 'get'>;
  readonly notices: Pick<NoticeStore, 'open' | 'openAbout' | 'get' | 'reserveId'>;
  readonly publisher: NoticePublisher;
  /** Returns the name of another hub; undefined if it is not known. */
  readonly hubName: (hubId: string) => string | undefined;
}

/** Requests of one agent for one tool and the same devices, which share a message. */
interface RequestGroup {
  readonly noticeId: string;
  /** Ids of the approval requests; the message links to the first one that is open. */
  readonly approvalIds: readonly string[];
  readonly risk: Risk;
  readonly untilMs: number;
}

/**
 * Tells the persons who may approve about each request for approval. Requests of the same agent, tool and devices share one message with a
 * count. A request with a higher risk gets a message of its own, and so does one that waits again because its approvals count no more.
 */
export class ApprovalNotices implements Service {
  readonly #collaborators: ApprovalNoticeCollaborators;
  #unsubscribe: () => void = () => {};

  constructor(collaborators: ApprovalNoticeCollaborators) {
    this.#collaborators = collaborators;
  }

  /** Also tells about open requests of which the last process had not told, and drops messages about requests that are closed. */
  async start(): Promise<void> {
    const { events } = this.#collaborators;
    this.#unsubscribe = events.listen(
      ({ type, subject }) => (type === 'approval.requested' ? this.#announce(subject) : this.#dropClosed()),
      ['approval.requested', 'approval.decided'],
    );
    for (const { view } of this.#open()) this.#announce(view.approval_id);
    this.#dropClosed();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#unsubscribe();
  }

  #open() {
    return this.#collaborators.approvals.list().filter(({ view }) => view.state === 'pending');
  }

  #announce(approvalId: string): void {
    const view = this.#collaborators.approvals.get(approvalId)?.view;
    if (view?.state !== 'pending') return;
    try {
      this.#publish(view);
    } catch {
      // The request itself is stored, and the next start of the hub tells about it.
      this.#collaborators.logger.warn('notices.approval_not_announced', { approval_id: approvalId });
    }
  }

  #publish(view: ApprovalView): void {
    const { store, clock, publisher, hubName } = this.#collaborators;
    const risk = maxRisk(...view.effects.map((effect) => effect.risk));
    const key = groupKey(view, risk);
    const known = readGroup(store.get(SPACE, key));
    const untilMs = Date.parse(view.expires_at);
    const isJoined = known !== undefined && this.#isOpen(known.approvalIds) && this.#isNoticeOpen(known.noticeId);
    if (isJoined && known.approvalIds.includes(view.approval_id)) return;
    const approvalIds = isJoined ? [...known.approvalIds, view.approval_id] : [view.approval_id];
    const group: RequestGroup = { noticeId: isJoined ? known.noticeId : this.#newNoticeId(view.approval_id), approvalIds, risk, untilMs };
    const first = approvalIds.find((id) => this.#isOpen([id])) ?? view.approval_id;
    const notice = noticeOf(view, {
      noticeId: group.noticeId,
      first,
      ...whoAsks(view.agent_id, hubName),
      count: approvalIds.length,
      nowMs: clock.now(),
    });
    if (isJoined) publisher.revise(notice);
    else publisher.publish(notice, { subject: subjectOf(view.approval_id) });
    // Written last: without it, the next start tells again, and each delivery that is stored already stays as it is.
    store.set(SPACE, key, group as unknown as Json, { ttlMs: Math.max(1, untilMs - clock.now()) });
  }

  /** Returns the id of the notice about a request. The first one has the id of the request; each later one, about one that waits again, has its own. */
  #newNoticeId(approvalId: string): string {
    const { notices } = this.#collaborators;
    const open = notices.openAbout(subjectOf(approvalId));
    if (open) return open.notice.id;
    return notices.get(approvalId) ? notices.reserveId(subjectOf(approvalId)) : approvalId;
  }

  #isNoticeOpen(noticeId: string): boolean {
    const stored = this.#collaborators.notices.get(noticeId);
    return stored !== undefined && stored.endedMs === undefined;
  }

  #isOpen(approvalIds: readonly string[]): boolean {
    return approvalIds.some((id) => this.#collaborators.approvals.get(id)?.view.state === 'pending');
  }

  /** Ends the notices about requests of which none is open any more. */
  #dropClosed(): void {
    const { store, notices, publisher } = this.#collaborators;
    const open = new Set(this.#open().map(({ view }) => view.approval_id));
    const groups = store.entries(SPACE).flatMap(({ value }) => readGroup(value) ?? []);
    const isGroupOpen = (noticeId: string) =>
      groups.some((group) => group.noticeId === noticeId && group.approvalIds.some((id) => open.has(id)));
    const first = new Set([...open].map(subjectOf));
    for (const stored of notices.open('approval'))
      if (!first.has(stored.subject) && !isGroupOpen(stored.notice.id)) publisher.endNotice(stored);
  }
}

/** Returns the subject of the notice that a request began. */
function subjectOf(approvalId: string): string {
  return `approval/${approvalId}`;
}

/** Returns the key of the group of a request: the agent, the tool, the devices and the risk. */
function groupKey({ agent_id: agent, tool, devices, effects }: ApprovalView, risk: Risk): string {
  const targets = devices.length > 0 ? devices.map(({ id }) => id) : effects.map(({ target }) => target);
  const subject = [agent, tool, [...new Set(targets)].sort(), RISKS.indexOf(risk)];
  return createHash('sha256').update(JSON.stringify(subject)).digest('hex').slice(0, 32);
}

interface MessageFacts extends Omit<RequestFacts, 'call' | 'untilMs'> {
  readonly noticeId: string;
  /** Id of the request to which the message links. */
  readonly first: string;
}

/** Returns the name of a hub; undefined if this hub or another one has it too, so that no hub passes for another. */
export function uniqueName(
  id: string,
  peers: readonly { readonly id: string; readonly name: string }[],
  ownName: string,
): string | undefined {
  const name = peers.find((peer) => peer.id === id)?.name;
  const others = [ownName, ...peers.filter((peer) => peer.id !== id).map((peer) => peer.name)];
  return name === undefined || others.some((other) => other.toLowerCase() === name.toLowerCase()) ? undefined : name;
}

/** Returns an agent and, for one of another hub that has a name of its own, that name. Hubs choose their names, but not their ids. */
function whoAsks(id: string, hubName: (hubId: string) => string | undefined): Pick<MessageFacts, 'agent' | 'hub'> {
  const hubId = hubOfForeignAgent(id);
  const hub = hubId === undefined ? undefined : hubName(hubId);
  return hub === undefined ? { agent: id } : { agent: id.replace(`@${hubId}`, ''), hub };
}

function noticeOf(view: ApprovalView, { noticeId, first, count, nowMs, ...who }: MessageFacts): Notice {
  const untilMs = Date.parse(view.expires_at);
  const facts = { ...who, count, untilMs, nowMs };
  return {
    ...inAllLanguages(({ approval, call }) => ({ title: approval.title, text: approval.text({ ...facts, call: callText(view, call) }) })),
    id: noticeId,
    kind: 'approval',
    urgency: NOTICE_KINDS.approval.urgency,
    path: `/#/approvals/${first}`,
    ...(count > 1 && { count }),
    atMs: nowMs,
    untilMs,
  };
}

function readGroup(value: Json | undefined): RequestGroup | undefined {
  if (!isJsonObject(value)) return undefined;
  const { noticeId, approvalIds, untilMs } = value;
  const isWhole = typeof noticeId === 'string' && Array.isArray(approvalIds) && typeof untilMs === 'number';
  return isWhole ? (value as unknown as RequestGroup) : undefined;
}
