import { oauthError, type RequestedAccess } from '../../core/auth/oauth.ts';
import type { JsonObject } from '../../core/json.ts';

/** A list of scopes: visible characters without quotation mark and backslash, with single spaces between (RFC 6749 §3.3). */
const SCOPES = /^[\x21\x23-\x5b\x5d-\x7e]+(?: [\x21\x23-\x5b\x5d-\x7e]+)*$/;
const CONTROL: readonly string[] = ['device:control'];
const READINGS: readonly string[] = ['device:read', 'sensor:read'];
const EVERYTHING: RequestedAccess = { control: true, readings: true };

/**
 * Returns what a client asks for. Unknown scopes, such as `offline_access`, are ignored, and so is the resource in a scope. A client without any
 * known scope asks for everything that does no harm (RFC 6749 §3.3 leaves both to the server). Throws `invalid_scope` for a malformed list.
 */
export function requestedAccessOf(scope: string | undefined): RequestedAccess {
  if (scope === undefined || scope === '') return EVERYTHING;
  if (!SCOPES.test(scope)) throw oauthError('invalid_scope', 'scope has to be names with one space between them');
  const actions = scope.split(' ').map((one) => one.split(':', 2).join(':'));
  const requested = { control: actions.some((one) => CONTROL.includes(one)), readings: actions.some((one) => READINGS.includes(one)) };
  return requested.control || requested.readings ? requested : EVERYTHING;
}

/** Parses the stored access that a request asks for. A request of an earlier version of the hub asks for everything. */
export function readRequestedAccess({ control, readings }: JsonObject): RequestedAccess {
  return { control: control !== false, readings: readings !== false };
}
