import { HubError } from '../api/hub-error.ts';
import type { HomeStore } from '../api/store.ts';

interface Guard {
  readonly store: Pick<HomeStore, 'onEvent'>;
  /** Told once when people have to agree first. */
  onWaiting(approvalId: string): void;
}

/** The answer of `call`; where people have to agree first, waits for their word and calls once more. A denial is thrown. */
export async function callOnceApproved<Answer>(call: () => Promise<Answer>, { store, onWaiting }: Guard): Promise<Answer> {
  try {
    return await call();
  } catch (error) {
    const approvalId = error instanceof HubError && error.code === 'APPROVAL_REQUIRED' ? error.details.approval_id : undefined;
    if (typeof approvalId !== 'string') throw error;
    const decided = decisionOf(approvalId, store);
    onWaiting(approvalId);
    const state = await decided;
    if (state === 'approved') return call();
    throw new HubError('PERMISSION_DENIED', state === 'denied' ? 'This was denied.' : 'Nobody agreed in time.', { status: 0 });
  }
}

/** How a request ends: the last of its states that is not `pending`. */
function decisionOf(approvalId: string, store: Pick<HomeStore, 'onEvent'>): Promise<string> {
  return new Promise((resolve) => {
    const stop = store.onEvent(({ type, subject, data }) => {
      if (type !== 'approval.decided' || subject !== approvalId || data.state === 'pending') return;
      stop();
      resolve(String(data.state));
    });
  });
}
