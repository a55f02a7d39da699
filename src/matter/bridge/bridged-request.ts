import '../matter-platform.ts';
import type { Behavior, Endpoint } from '@matter/main';
import { hasRemoteActor } from '@matter/main/protocol';
import { Status, StatusResponseError } from '@matter/main/types';
import { type ErrorCode, toAtmoError } from '../../core/errors.ts';
import type { JsonObject } from '../../core/json.ts';

/** Carries out a command for the fabric that sent it. */
export type CarryOut = (fabricIndex: number, command: { readonly action: string; readonly params: JsonObject }) => Promise<void>;

// A behaviour lives for one interaction and gets no collaborators. So what carries out its commands is found by the endpoint.
const links = new WeakMap<Endpoint, CarryOut>();

/** Sends the commands to the endpoint to `carryOut`. Must be called before the endpoint is added to its bridge. */
export function linkEndpoint(endpoint: Endpoint, carryOut: CarryOut): void {
  links.set(endpoint, carryOut);
}

/**
 * Carries out a command that an ecosystem gave to the behaviour's endpoint. Resolves when it was done. Otherwise rejects with the Matter
 * status for the ecosystem; matter.js then takes back all changes of attributes that belong to the command.
 */
export async function request({ context, endpoint }: Behavior, action: string, params: JsonObject = {}): Promise<void> {
  const carryOut = links.get(endpoint);
  // Without a fabric, the sender only knows the setup code (PASE session). Without a sender, a timer of matter.js acts, for example after
  // the transition of a scene. Neither has a token, so neither may do anything.
  if (!carryOut || !hasRemoteActor(context) || !context.fabric)
    throw new StatusResponseError('This ecosystem has not commissioned the bridge', Status.UnsupportedAccess);
  try {
    await carryOut(context.fabric, { action, params });
  } catch (thrown) {
    const { code, message } = toAtmoError(thrown);
    throw new StatusResponseError(message, STATUS[code] ?? Status.Failure);
  }
}

/** Refuses a command that a bridge does not carry out, although its cluster has it. */
export function refuse(command: string): never {
  throw new StatusResponseError(`A bridge does not carry out ${command}`, Status.UnsupportedCommand);
}

/** The Matter status for each error code (Matter core specification 8.10); any other error is a FAILURE. */
const STATUS: Partial<Record<ErrorCode, Status>> = {
  PERMISSION_DENIED: Status.UnsupportedAccess,
  RULE_BLOCKED: Status.UnsupportedAccess,
  TOKEN_INVALID: Status.UnsupportedAccess,
  TOKEN_EXPIRED: Status.UnsupportedAccess,
  VALIDATION_ERROR: Status.ConstraintError,
  RATE_LIMITED: Status.Busy,
  RESOURCE_EXCEEDED: Status.Busy,
  OUTCOME_UNKNOWN: Status.Timeout,
};
