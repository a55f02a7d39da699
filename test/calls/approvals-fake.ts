import type { ApprovalQueue, ApprovalRequest, ApprovalStatus } from '../../src/core/auth/approvals.ts';

/** A queue in which every request has the same verdict, or the one that the function gives it. */
export function approvalsSaying(verdict: ApprovalStatus | ((request: ApprovalRequest) => ApprovalStatus)): ApprovalQueue {
  const answer = async (request: ApprovalRequest) => (typeof verdict === 'function' ? verdict(request) : verdict);
  return { check: answer, peek: answer, giveBack: () => {}, refusalOf: () => undefined, stillApprovedBy: () => [], withdraw: () => {} };
}
