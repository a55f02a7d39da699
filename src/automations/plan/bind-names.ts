import { NOT_FOUND_CODES } from '../../calls/routing/remote-device.ts';
import type { Principal } from '../../core/auth/principal.ts';
import { toAtmoError } from '../../core/errors.ts';
import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts';
import type { RegisteredTool } from '../../tools/definition/tool-definition.ts';
import { parseToolName, toolKey } from '../../tools/definition/tool-names.ts';
import { callerView, canSeeTool } from '../../tools/definition/tool-permissions.ts';
import type { NamingPorts } from '../automation-ports.ts';
import { type ThingKind, thingNamedBy } from '../home-things.ts';

/**
 * Returns a configuration in which devices, sensors, scenes and tools that are named by a name are named by their id. So a later rename, or a
 * name that is given to another device, changes nothing. Throws DEVICE_NOT_FOUND, SENSOR_NOT_FOUND, AMBIGUOUS_DEVICE or AMBIGUOUS_TOOL.
 * What is malformed stays as it is, since the check of the configuration refuses it.
 */
export function bindNames(config: JsonObject, principal: Principal, ports: NamingPorts): JsonObject {
  const binder = new Binder(principal, ports);
  const bound = Object.entries(config).map(([name, value]): [string, Json] => [name, name === 'parameters' ? value : binder.bound(value)]);
  return Object.fromEntries(bound);
}

class Binder {
  readonly #principal: Principal;
  readonly #ports: NamingPorts;

  constructor(principal: Principal, ports: NamingPorts) {
    this.#principal = principal;
    this.#ports = ports;
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

  /** Returns the id as `#idOf` does; the text itself for a device of another hub, which only that hub knows. */
  #idHere(kind: ThingKind, text: string): string {
    try {
      return this.#idOf(kind, text);
    } catch (thrown) {
      if (NOT_FOUND_CODES.has(toAtmoError(thrown).code)) return text;
      throw thrown;
    }
  }
}

/** Returns the name of a tool with its namespace, so that a tool that gets the same short name later is not meant. */
function fullName(tool: RegisteredTool, written: string): string {
  const version = parseToolName(written)?.version;
  return version === undefined ? toolKey(tool) : `${toolKey(tool)}@${version}`;
}
