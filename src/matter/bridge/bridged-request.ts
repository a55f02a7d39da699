import '../matter-platform.ts';
import type { Behavior, Endpoint } from '@matter/main';
import { hasRemoteActor } from '@matter/main/protocol';
import { Status, StatusResponseError } from '@matter/main/types';
import { type ErrorCode, toAtmoError } from '../../core/errors.ts';
import type { JsonObject } from '../../core/json.ts';

/** Carries out a command for the fabric that sent it. */
export type CarryOut = (fabricIndex: number, command: { readonly action: string; readonly params: JsonObject }) => Promise<void>;

/** What carries out the commands to an endpoint, and the fabric that started the timer of the endpoint. */
interface EndpointLink {
  readonly carryOut: CarryOut;
  timerFabric: number | undefined;
}

// A behaviour lives for one interaction and gets no collaborators. So the link is found by the endpoint.
const links = new WeakMap<Endpoint, EndpointLink>();

/** Sends the commands to the endpoint to `carryOut`. Must be called before the endpoint is added to its bridge. */
export function linkEndpoint(endpoint: Endpoint, carryOut: CarryOut): void {
  links.set(endpoint, { carryOut, timerFabric: undefined });
}

/**
 * Carries out a command that an ecosystem gave to the behaviour's endpoint. Resolves when it was done. Otherwise rejects with the Matter
 * status for the ecosystem; matter.js then takes back all changes of attributes that belong to the command.
 */
export async function request(behavior: Behavior, action: string, params: JsonObject = {}): Promise<void> {
  const link = links.get(behavior.endpoint);
  const fabricIndex = link && fabricOf(behavior, link);
  // Without a fabric, the sender only knows the setup code (PASE session). It has no token, so it may do nothing.
  if (!link || !fabricIndex) throw new StatusResponseError('This ecosystem has not commissioned the bridge', Status.UnsupportedAccess);
  try {
    await link.carryOut(fabricIndex, { action, params });
  } catch (thrown) {
    const { code, message } = toAtmoError(thrown);
    throw new StatusResponseError(message, STATUS[code] ?? Status.Failure);
  }
}

/** Lets the timer that the behaviour's command starts act for the fabric that gave the command, and for no other. */
export function startTimerFor({ context, endpoint }: Behavior): void {
  const link = links.get(endpoint);
  if (link && hasRemoteActor(context)) link.timerFabric = context.fabric;
}

/** Returns the fabric that sent the command, or that started the timer which now acts. */
function fabricOf({ context }: Behavior, link: EndpointLink): number | undefined {
  return hasRemoteActor(context) ? context.fabric : link.timerFabric;
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
