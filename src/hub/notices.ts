import type { ServiceStack } from '../core/lifecycle.ts';
import type { PeopleReach } from '../core/notices.ts';
import { ApprovalNotices } from '../notices/approval-notices.ts';
import { NoticeOutbox } from '../notices/notice-outbox.ts';
import type { Infrastructure } from './infrastructure.ts';

interface NoticeOptions {
  readonly reach: PeopleReach;
  /** Returns the address of the hub's page, which is known once the hub listens. */
  readonly pageUrl: () => string;
  readonly stack: ServiceStack;
}

/** Starts the notices to persons: what is told, and the outbox that delivers it. */
export async function openNotices(infrastructure: Infrastructure, { reach, pageUrl, stack }: NoticeOptions): Promise<void> {
  const { clock, store, events, auth } = infrastructure;
  const logger = infrastructure.logger.child({ module: 'notices' });
  const outbox = new NoticeOutbox({ clock, store, logger, reach, pageUrl });
  const { approvals, approvers } = auth;
  const approvalNotices = new ApprovalNotices({ clock, store, logger, events, approvals, approvers, reach, outbox });
  await stack.start(outbox);
  await stack.start(approvalNotices);
  outbox.resume();
}
