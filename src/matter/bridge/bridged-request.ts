import '../matter-platform.ts';
import type { ActionContext, Behavior, Endpoint } from '@matter/main';
import { ClusterModel } from '@matter/main/model';
import { hasRemoteActor } from '@matter/main/protocol';
import { Status, StatusResponseError } from '@matter/main/types';
import { type ErrorCode, toAtmoError } from '../../core/errors.ts';
import type { JsonObject } from '../../core/json.ts';

/** Carries out a command for the fabric that sent it. */
export type CarryOut = (fabricIndex: number, command: { readonly action: string; readonly params: JsonObject }) => Promise<void>;

// A behaviour lives for one interaction and gets no collaborators. So what carries out its commands is found by the endpoint.
const links = new WeakMap<Endpoint, CarryOut>();

/**
 * Sends the commands to the endpoint to `carryOut`, and lets ecosystems write only what `CARRIED_OUT` and `KEPT` name. Must be called before
 * the endpoint is added to its bridge: matter.js then asks here before it acts on a write itself.
 */
export function linkEndpoint(endpoint: Endpoint, carryOut: CarryOut): void {
  links.set(endpoint, carryOut);
  for (const [cluster, { schema }] of Object.entries(endpoint.behaviors.supported)) {
    if (!(schema instanceof ClusterModel)) continue;
    for (const { writable, propertyName } of schema.attributes) if (writable) refuseWrites(endpoint, cluster, propertyName);
  }
}

/** Writes of these are carried out as calls. */
const CARRIED_OUT = ['occupiedHeatingSetpoint', 'occupiedCoolingSetpoint', 'systemMode'] as const;
/** These are for the bridge: how it announces a thing for a moment, whether it takes commands to what is off, and a name that it puts back. */
const KEPT = ['identifyTime', 'options', 'nodeLabel'] as const;
const WRITABLE: ReadonlySet<string> = new Set([...CARRIED_OUT, ...KEPT]);

/** Refuses writes of an attribute. A setting such as the mode of a lock would be answered with success, and the thing would not have it. */
function refuseWrites(endpoint: Endpoint, cluster: string, attribute: string): void {
  if (WRITABLE.has(attribute)) return;
  const events = endpoint.events as unknown as Readonly<Record<string, Readonly<Record<string, ChangingEvent>>>>;
  events[cluster]?.[`${attribute}$Changing`]?.on((_after, _before, context) => {
    if (context && hasRemoteActor(context))
      throw new StatusResponseError(`A bridge does not set ${attribute}; set it at the thing itself`, Status.UnsupportedWrite);
  });
}

interface ChangingEvent {
  on(observer: (after: unknown, before: unknown, context?: ActionContext) => void): void;
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
