import { createHash } from 'node:crypto';
import { type ApprovalService, type ApprovalView, type ApproverDirectory, approvalSummary } from '../core/auth/approvals.ts';
import { maxRisk, type Risk } from '../core/auth/principal.ts';
import type { HubContext } from '../core/context.ts';
import { isJsonObject, type Json } from '../core/json.ts';
import type { Service } from '../core/lifecycle.ts';
import { NOTICE_URGENCY, type Notice, type PeopleReach } from '../core/notices.ts';
import type { NoticeOutbox } from './notice-outbox.ts';

const SPACE = 'notices.approvals';
/** Time that further requests of the same group have to join the first message, in milliseconds. */
const GATHERING_MS = 400;
/** If a request is still open after this time, in milliseconds, its message goes over the person's further ways too. */
const FURTHER_WAYS_AFTER_MS = 30_000;
const RISKS: readonly Risk[] = ['none', 'low', 'medium', 'dangerous'];

interface ApprovalNoticeCollaborators extends Pick<HubContext, 'clock' | 'store' | 'logger' | 'events'> {
  readonly approvals: Pick<ApprovalService, 'list'>;
  readonly approvers: Pick<ApproverDirectory, 'list'>;
  readonly reach: PeopleReach;
  readonly outbox: NoticeOutbox;
}

/** Requests of one agent for one tool and the same devices, which share a message. */
interface RequestGroup {
  readonly noticeId: string;
  /** Ids of the approval requests; the message links to the first one. */
  readonly approvalIds: readonly string[];
  readonly risk: Risk;
  readonly untilMs: number;
}

/**
 * Tells the persons who may approve about each request for approval. Requests of the same agent, tool and devices share one message with a
 * count. A request with a higher risk gets a message of its own.
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
    const view = this.#open().find((open) => open.view.approval_id === approvalId)?.view;
    if (!view) return;
    try {
      this.#tell(view);
    } catch {
      // The request itself is stored, and the next start of the hub tells about it.
      this.#collaborators.logger.warn('notices.approval_not_announced', { approval_id: approvalId });
    }
  }

  #tell(view: ApprovalView): void {
    const { store, clock, outbox } = this.#collaborators;
    const risk = maxRisk(...view.effects.map((effect) => effect.risk));
    const key = groupKey(view, risk);
    const known = readGroup(store.get(SPACE, key));
    const untilMs = Date.parse(view.expires_at);
    if (known?.approvalIds.includes(view.approval_id)) return;
    const isJoined = known !== undefined && this.#isOpen(known);
    const approvalIds = isJoined ? [...known.approvalIds, view.approval_id] : [view.approval_id];
    const group: RequestGroup = { noticeId: isJoined ? known.noticeId : view.approval_id, approvalIds, risk, untilMs };
    const notice = noticeOf(view, { noticeId: group.noticeId, first: approvalIds[0] ?? '', count: approvalIds.length, nowMs: clock.now() });
    if (isJoined) outbox.revise(notice);
    else this.#post(notice);
    // Written last: without it, the next start tells again, and each delivery that is stored already stays as it is.
    store.set(SPACE, key, group as unknown as Json, { ttlMs: Math.max(1, untilMs - clock.now()) });
  }

  #isOpen({ approvalIds }: RequestGroup): boolean {
    return this.#open().some(({ view }) => approvalIds.includes(view.approval_id));
  }

  #post(notice: Notice): void {
    const { approvers, reach, outbox, clock, logger } = this.#collaborators;
    const persons = [...new Set(approvers.list().map(({ person }) => person))];
    const reached = persons.filter((person) => reach.waysOf(person, notice.urgency).length > 0);
    if (reached.length === 0) logger.warn('notices.nobody_reached', { kind: notice.kind, persons });
    for (const person of reached) {
      for (const [index, way] of reach.waysOf(person, notice.urgency).entries()) {
        outbox.add(notice, { person, way, dueMs: clock.now() + (index === 0 ? GATHERING_MS : FURTHER_WAYS_AFTER_MS) });
      }
    }
  }

  /** Drops the messages that were not sent yet about requests of which none is open any more. */
  #dropClosed(): void {
    const { store, outbox } = this.#collaborators;
    const open = new Set(this.#open().map(({ view }) => view.approval_id));
    const groups = store.entries(SPACE).flatMap(({ value }) => readGroup(value) ?? []);
    const isOpen = (noticeId: string) =>
      open.has(noticeId) || groups.some((group) => group.noticeId === noticeId && group.approvalIds.some((id) => open.has(id)));
    const waiting = outbox.list().filter(({ state, notice }) => state === 'due' && notice.kind === 'approval');
    for (const id of new Set(waiting.map(({ notice }) => notice.id))) if (!isOpen(id)) outbox.drop(id);
  }
}

/** Returns the key of the group of a request: the agent, the tool, the devices and the risk. */
function groupKey({ agent_id: agent, tool, devices, effects }: ApprovalView, risk: Risk): string {
  const targets = devices.length > 0 ? devices.map(({ id }) => id) : effects.map(({ target }) => target);
  const subject = [agent, tool, [...new Set(targets)].sort(), RISKS.indexOf(risk)];
  return createHash('sha256').update(JSON.stringify(subject)).digest('hex').slice(0, 32);
}

interface MessageFacts {
  readonly noticeId: string;
  /** Id of the request to which the message links. */
  readonly first: string;
  readonly count: number;
  readonly nowMs: number;
}

function noticeOf(view: ApprovalView, { noticeId, first, count, nowMs }: MessageFacts): Notice {
  const more = count === 1 ? '' : ` (${count} requests like this wait)`;
  return {
    id: noticeId,
    kind: 'approval',
    urgency: NOTICE_URGENCY.approval,
    title: 'Approval needed',
    text: `${approvalSummary(view)}${more}. Decide until ${clockTime(view.expires_at)}.`,
    path: `/#/approvals/${first}`,
    atMs: nowMs,
    untilMs: Date.parse(view.expires_at),
  };
}

/** Returns the time of day in the zone of the machine, such as `12:04`. */
function clockTime(time: string): string {
  return new Date(time).toTimeString().slice(0, 5);
}

function readGroup(value: Json | undefined): RequestGroup | undefined {
  if (!isJsonObject(value)) return undefined;
  const { noticeId, approvalIds, untilMs } = value;
  const isWhole = typeof noticeId === 'string' && Array.isArray(approvalIds) && typeof untilMs === 'number';
  return isWhole ? (value as unknown as RequestGroup) : undefined;
}
