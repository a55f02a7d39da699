import { NOT_FOUND_CODES } from '../../calls/routing/announced-device.ts';
import type { Principal } from '../../core/auth/principal.ts';
import { toAtmoError } from '../../core/errors.ts';
import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts';
import type { RegisteredTool } from '../../tools/definition/tool-definition.ts';
import { parseToolName, toolKey } from '../../tools/definition/tool-names.ts';
import { callerView, canSeeTool } from '../../tools/definition/tool-permissions.ts';
import type { SchemaValidator } from '../../tools/schema/schema-validator.ts';
import type { NamingPorts } from '../automation-ports.ts';
import { type ThingKind, thingNamedBy } from '../home-things.ts';
import { parseAutomation } from './parse-automation.ts';
import type { AutomationPlan } from './plan-schema.ts';

/** What an automation does, with ids in place of names. */
interface BoundDefinition {
  readonly config: JsonObject;
  readonly plan: AutomationPlan;
}

/**
 * Returns a configuration in which devices, sensors, scenes and tools that are named by a name are named by their id, and its plan. So a later
 * rename, or a name that is given to another device, changes nothing. Throws VALIDATION_ERROR or PAYLOAD_TOO_LARGE if the configuration is
 * invalid, DEVICE_NOT_FOUND, SENSOR_NOT_FOUND, AMBIGUOUS_DEVICE or AMBIGUOUS_TOOL.
 */
export function boundDefinition(written: JsonObject, principal: Principal, ports: NamingPorts): BoundDefinition {
  return boundBy(new Binder(principal, ports, keepUnknown), written, ports.validator);
}

/** Does as `boundDefinition`. Also refuses calls about a device that is not known here or that the principal may not see. */
export function boundSeenDefinition(written: JsonObject, principal: Principal, ports: NamingPorts): BoundDefinition {
  return boundBy(new Binder(principal, ports, refuseUnknown), written, ports.validator);
}

/** Decides what becomes of a name in the parameters of a call that nothing here has. */
type OnUnknown = (problem: unknown, text: string) => string;

/** Keeps the text: it may name a device of another hub, which only that hub knows. */
const keepUnknown: OnUnknown = (problem, text) => {
  if (NOT_FOUND_CODES.has(toAtmoError(problem).code)) return text;
  throw problem;
};

const refuseUnknown: OnUnknown = (problem) => {
  throw problem;
};

/** Binds only what is valid. The plan is made of what is bound, since a name and an id may differ in what is allowed. */
function boundBy(binder: Binder, written: JsonObject, validator: SchemaValidator): BoundDefinition {
  parseAutomation(written, validator);
  const bound = Object.entries(written).map(([name, value]): [string, Json] => [name, name === 'parameters' ? value : binder.bound(value)]);
  const config = Object.fromEntries(bound);
  return { config, plan: parseAutomation(config, validator) };
}

/** Returns the ids of the devices, sensors and scenes in a bound configuration, each once. */
export function thingsIn(config: Json): readonly NamedThing[] {
  const found = new Map(allThings(config).map((thing) => [`${thing.kind} ${thing.id}`, thing]));
  return [...found.values()];
}

/** A device, sensor or scene that a configuration names. */
export interface NamedThing {
  readonly kind: ThingKind;
  readonly id: string;
}

function allThings(value: Json): readonly NamedThing[] {
  if (Array.isArray(value)) return value.flatMap(allThings);
  if (!isJsonObject(value)) return [];
  return Object.entries(value).flatMap(([name, item]) => {
    const kind = thingNamedBy(name);
    const ids = kind ? [item].flat().filter((one) => typeof one === 'string') : [];
    return [...(kind ? ids.map((id) => ({ kind, id })) : []), ...allThings(item)];
  });
}

class Binder {
  readonly #principal: Principal;
  readonly #ports: NamingPorts;
  readonly #onUnknown: OnUnknown;

  constructor(principal: Principal, ports: NamingPorts, onUnknown: OnUnknown) {
    this.#principal = principal;
    this.#ports = ports;
    this.#onUnknown = onUnknown;
  }

  /** Returns a trigger, a condition, a step, or a list of them, with ids. */
  bound(value: Json): Json {
    if (Array.isArray(value)) return value.map((item: Json) => this.bound(item));
    if (!isJsonObject(value)) return value;
    if (typeof value.tool === 'string') return this.#call(value, value.tool);
    return this.#members(value, (kind, text) => this.#idOf(kind, text));
  }

  #call(action: JsonObject, name: string): JsonObject {
    const { authorizer, registry } = this.#ports;
    const tool = registry.find(name, { isVisible: (candidate) => canSeeTool(candidate, this.#principal, authorizer) });
    if (!tool || tool.hubs) return action;
    const { params } = action;
    // Only tools that resolve names themselves mean devices of this home by such parameters.
    const isNaming = tool.canonicalize !== undefined && isJsonObject(params);
    return {
      ...action,
      tool: fullName(tool, name),
      ...(isNaming && { params: this.#members(params, (kind, text) => this.#idHere(kind, text)) }),
    };
  }

  #members(value: JsonObject, idOf: (kind: ThingKind, text: string) => string): JsonObject {
    const bind = (kind: ThingKind, item: Json) => (typeof item === 'string' ? idOf(kind, item) : item);
    const members = Object.entries(value).map(([name, item]): [string, Json] => {
      const kind = thingNamedBy(name);
      if (kind === undefined) return [name, name === 'expr' ? item : this.bound(item)];
      return [name, Array.isArray(item) ? item.map((one: Json) => bind(kind, one)) : bind(kind, item)];
    });
    return Object.fromEntries(members);
  }

  #idOf(kind: ThingKind, text: string): string {
    return this.#ports.things.idOf(kind, text, callerView(this.#principal, this.#ports.authorizer));
  }

  #idHere(kind: ThingKind, text: string): string {
    try {
      return this.#idOf(kind, text);
    } catch (thrown) {
      return this.#onUnknown(thrown, text);
    }
  }
}

/** Returns the name of a tool with its namespace, so that a tool that gets the same short name later is not meant. */
function fullName(tool: RegisteredTool, written: string): string {
  const version = parseToolName(written)?.version;
  return version === undefined ? toolKey(tool) : `${toolKey(tool)}@${version}`;
}
