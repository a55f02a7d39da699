import { hostname } from 'node:os';
import { type ErrorCode, toAtmoError } from '../../core/errors.ts';
import type { CliIo } from '../cli-io.ts';
import { type Invocation, usage } from '../command.ts';
import { HubClient } from '../hub/hub-client.ts';
import { isPinned, trustAuthority } from '../hub/hub-trust.ts';
import { hubUrl, readLogin } from '../identity/credential.ts';
import { signInWith } from '../identity/sign-in.ts';

/*
 * A host of agents asks its user for settings and passes them to `atmo mcp` as environment variables, because nobody types a command there:
 * ATMO_URL, ATMO_FINGERPRINT, ATMO_INVITATION, ATMO_TOKEN and ATMO_AGENT. An empty one counts as absent.
 */

/** Returns the name of the agent whose token is made and renewed, if the settings name one and hold no token. */
export function agentOfSettings({ ATMO_TOKEN: token, ATMO_AGENT: agent }: CliIo['env']): string | undefined {
  return token ? undefined : agent || undefined;
}

/**
 * Trusts the hub with the fingerprint of the settings, and signs in with their invitation. What was done at an earlier start is not done
 * again, so the settings can stay; where the hub has ended that sign-in, a new invitation counts. Throws VALIDATION_ERROR if the user is signed in at another hub, whose login is left alone.
 */
export async function applySettings({ io, output }: Pick<Invocation, 'io' | 'output'>): Promise<void> {
  const { ATMO_FINGERPRINT: fingerprint, ATMO_INVITATION: code } = io.env;
  if (!fingerprint && !code) return;
  const url = new URL(hubUrl(io.env));
  if (fingerprint && !isPinned(io.env, url, fingerprint)) await trustAuthority(io.env, url, fingerprint);
  if (!code) return;
  const hub = new HubClient({ fetch: io.fetch, signal: io.signal, env: { ...io.env, ATMO_URL: url.origin, ATMO_TOKEN: undefined } });
  if (isSignedIn(io.env, url) && !(await hasEnded(hub))) return;
  const label = `agents on ${hostname()}`;
  const { person } = await signInWith((path, body) => hub.postPublic(path, body), io, { url: url.origin, code, label });
  output.note(`signed in at ${url.origin} as ${person}`);
}

function isSignedIn(env: CliIo['env'], url: URL): boolean {
  const login = readLogin(env);
  if (login === undefined || login.url === url.origin) return login !== undefined;
  throw usage(`You are signed in at ${login.url}: give a token of ${url.origin} in place of the invitation, or run "atmo logout" first`);
}

const ENDED: readonly ErrorCode[] = ['UNAUTHENTICATED', 'TOKEN_INVALID', 'TOKEN_EXPIRED'];

/** Returns whether the hub refuses the login. A hub that does not answer may still know it. */
async function hasEnded(hub: HubClient): Promise<boolean> {
  try {
    await hub.get('/api/v1/tools', { limit: 1 });
    return false;
  } catch (thrown) {
    return ENDED.includes(toAtmoError(thrown).code);
  }
}
