import type { ApprovalQueue, ApprovalRequest, ApprovalVerdict } from '../../src/core/access/approval-queue.ts';

/** A queue in which every request has the same verdict, or the one that the function gives it. */
export function approvalsSaying(verdict: ApprovalVerdict | ((request: ApprovalRequest) => ApprovalVerdict)): ApprovalQueue {
  const answer = async (request: ApprovalRequest) => (typeof verdict === 'function' ? verdict(request) : verdict);
  return { check: answer, peek: answer, giveBack: () => {} };
}
