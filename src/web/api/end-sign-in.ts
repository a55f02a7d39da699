import { type HubClient, HubError } from './hub-client.ts';
import type { Login } from './session.ts';

const END_MS = 5_000;

/** Ends the login's sign-in on the hub. Returns false if the hub did not end it, for example because it did not answer in time. */
export async function endSignIn(hub: Pick<HubClient, 'delete'>, { signIn }: Pick<Login, 'signIn'>): Promise<boolean> {
  if (!signIn) return true;
  try {
    await hub.delete(`/api/v1/sign-ins/${encodeURIComponent(signIn.id)}`, { signal: AbortSignal.timeout(END_MS) });
    return true;
  } catch (thrown) {
    return thrown instanceof HubError && thrown.code === 'NOT_FOUND';
  }
}
