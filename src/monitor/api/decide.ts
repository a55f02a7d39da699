import type { HubClient } from './hub-client.ts';
import { HubError } from './hub-error.ts';
import type { ApprovalView } from './hub-types.ts';
import type { Login } from './login.ts';

/** True when this login can sign decisions. */
export function canDecide(login: Login | undefined): boolean {
  return login?.key !== undefined && login.person !== undefined;
}

/** Signs a person's decision and hands it in. */
export async function decide(
  hub: HubClient,
  approval: ApprovalView,
  wish: { decision: 'approve' | 'deny'; login: Login | undefined },
): Promise<void> {
  const { decision, login } = wish;
  const { person, key } = login ?? {};
  if (person === undefined || key === undefined) {
    throw new HubError('PERMISSION_DENIED', 'This browser has no key to sign with; let it approve first, or use atmo approve', {
      status: 0,
    });
  }
  // What signs is 5 kB that most visits never need.
  const { signApproval } = await hub.part(() => import('./approval-signature.ts'));
  const { approval_id, call_hash, expires_at, hub: runsOn, tool } = approval;
  const signature = await signApproval({ approval_id, decision, tool, call_hash, hub: runsOn, expires_at, person }, key);
  await hub.post(`/api/v1/approvals/${encodeURIComponent(approval_id)}`, { decision, person, signature });
}
