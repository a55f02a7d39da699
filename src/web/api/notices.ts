import type { NoticeKind, Urgency } from '../../core/notices.ts';
import { type HubClient, HubError } from './hub-client.ts';
import { Observable } from './observable.ts';
import { SerialLoads } from './serial-loads.ts';

const PATH = '/api/v1/notices';

/** A notice in the result of `GET /api/v1/notices`. */
export interface NoticeView {
  readonly notice_id: string;
  readonly kind: NoticeKind;
  readonly urgency: Urgency;
  readonly title: string;
  readonly text: string;
  /** Path and fragment of the page that shows the subject, such as `/#/devices/lamp`. */
  readonly path: string;
  readonly at: string;
  readonly is_read: boolean;
  /** Number of equal requests that the notice stands for. */
  readonly count?: number;
  /** The answers of a question. */
  readonly answers?: readonly string[];
  /** What was answered, and the name of the person who did. */
  readonly answer?: string;
  readonly answered_by?: string;
  /** When the subject ended; absent while it lasts. */
  readonly ended_at?: string;
}

/** The notices of the person who is signed in, newest first. */
export class OwnNotices extends Observable {
  readonly #hub: Pick<HubClient, 'get' | 'post'>;
  #all: readonly NoticeView[] = [];
  #isForPerson = true;
  readonly #loads = new SerialLoads<'list'>(() => this.#fetch());

  constructor(hub: Pick<HubClient, 'get' | 'post'>) {
    super();
    this.#hub = hub;
  }

  get all(): readonly NoticeView[] {
    return this.#all;
  }

  /** False once the hub has refused the list: children, guests and agents get no notices. */
  get isForPerson(): boolean {
    return this.#isForPerson;
  }

  /** Number of unread notices. Requests for approval are left out, since the page Approvals counts those that wait. */
  get unread(): number {
    return this.#all.filter(({ is_read: isRead, kind }) => !isRead && kind !== 'approval').length;
  }

  /** Loads the list. If a request runs already, asks again after it, once for all that changed meanwhile. */
  load(): Promise<void> {
    return this.#loads.request('list');
  }

  /** Marks notices as read: these, or all. Throws HubError if the hub did not store it. */
  async markRead(ids?: readonly string[]): Promise<void> {
    await this.#hub.post(`${PATH}/read`, ids ? { notice_ids: [...ids] } : {});
    await this.load();
  }

  /** Answers a question, and marks its notice as read. Throws HubError if the question has ended or the hub did not store the answer. */
  async answer(noticeId: string, answer: string): Promise<void> {
    await this.#hub.post(`/api/v1/questions/${noticeId}/answer`, { answer });
    await this.markRead([noticeId]);
  }

  /** Forgets the notices. Called after sign-out. */
  clear(): void {
    this.#isForPerson = true;
    this.#set([]);
  }

  async #fetch(): Promise<void> {
    try {
      const { notices } = await this.#hub.get<{ readonly notices: readonly NoticeView[] }>(PATH);
      this.#set(notices);
    } catch (error) {
      this.#refuse(error);
    }
  }

  /** Notes that the hub refuses the list. After any other failure the list stays as it is, until something changes. */
  #refuse(error: unknown): void {
    const isRefused = error instanceof HubError && (error.code === 'TOOL_NOT_FOUND' || error.code === 'PERMISSION_DENIED');
    if (!isRefused) return;
    this.#isForPerson = false;
    this.changed();
  }

  #set(notices: readonly NoticeView[]): void {
    this.#all = notices;
    this.changed();
  }
}
