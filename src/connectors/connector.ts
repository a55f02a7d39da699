import { covers, NO_GROUPS, parseGrant, parsePermission } from '../core/auth/permission.ts';
import { readSecret } from '../core/config/config-section.ts';
import type { HubContext } from '../core/context.ts';
import type { DeviceDirectory } from '../core/devices/device-directory.ts';
import type { ReadingStore } from '../core/devices/sensor-readings.ts';
import type { HubProblems } from '../core/health.ts';
import type { JsonSchema } from '../core/json.ts';
import type { Service } from '../core/lifecycle.ts';
import type { PeopleReach } from '../core/notices.ts';
import { type RegisteredTool, unconfigured } from '../tools/definition/tool-definition.ts';
import type { ProgramSandbox } from '../tools/programs/program-sandbox.ts';
import type { Capability } from '../tools/registry/capability-catalogue.ts';
import type { ToolRegistry } from '../tools/registry/tool-registry.ts';
import type { AgentServices } from './connector-agent.ts';

/** The parts of the hub that connectors use. */
export interface ConnectorContext extends Pick<HubContext, 'clock' | 'logger' | 'events' | 'store'> {
  /** Receives reports of lost data in the connectors' files. */
  readonly problems: Pick<HubProblems, 'raise'>;
  readonly registry: ToolRegistry;
  readonly nodeId: string;
  readonly stateDir: string;
  /** The environment variables of the hub, which may contain secrets. */
  readonly env: NodeJS.ProcessEnv;
  readonly readings: Pick<ReadingStore, 'sensors' | 'current'>;
  readonly devices: Pick<DeviceDirectory, 'get'>;
  /** Display name and version of this hub. */
  readonly hub: { readonly name: string; readonly version: string };
  /** Runs programs in a sandbox, with one limit of running programs for all connectors together. */
  readonly programs: ProgramSandbox;
  /** The parts that a connector's agent needs to call tools. */
  readonly agents: AgentServices;
}

/**
 * A service outside of the hub, and the tools that use it. If the service is not configured, the tools are still listed, but their calls
 * fail with NOT_CONFIGURED. The first call loads the packages of the service.
 */
export interface Connector {
  readonly tools: readonly RegisteredTool[];
  /** Further names of the tools, such as `{ tool_http_get: 'core:http_get' }`. */
  readonly aliases?: Readonly<Record<string, string>>;
  /** Capabilities that the hub has if the connector is configured. */
  readonly capabilities?: readonly Capability[];
  /** A service that runs permanently, not only during calls, such as a bridge. */
  readonly service?: Service;
  /** The ways over which persons are reached. */
  readonly reach?: PeopleReach;
}

/** The listeners of a connection that reconnects by itself. */
export interface ConnectionEvents {
  /** Is called after the first connection, and again after each reconnection. */
  readonly onReady: () => void;
  readonly onDown: (reason: string) => void;
}

/**
 * Returns a tool that uses a service. If the service is absent, the tool is listed, but its calls fail with NOT_CONFIGURED and name
 * `setting`. `define` may use the service only inside the tool's handler, because `define` gets undefined if the service is absent.
 */
export function toolOver<Part>(service: Part | undefined, setting: string, define: (service: Part) => RegisteredTool): RegisteredTool {
  return service === undefined ? unconfigured(define(undefined as never), `set ${setting} in the configuration`) : define(service);
}

/** Returns the JSON Schema of a tool's result: an object with these properties. Only the properties in `required` are always present. */
export function resultSchema(required: readonly string[], properties: Readonly<Record<string, JsonSchema>>): JsonSchema {
  return { type: 'object', required, properties };
}

/** Returns the secret of an optional setting, or undefined if the setting is absent. Throws CONFIG_INVALID if the secret cannot be read. */
export function optionalSecret(source: string | undefined, env: NodeJS.ProcessEnv): string | undefined {
  return source === undefined ? undefined : readSecret(source, env);
}

/** Returns whether grants cover a permission. Ignores grants for groups of devices, since connectors have no devices. */
export function hasPermission(grants: readonly string[], permission: string): boolean {
  const required = parsePermission(permission);
  return required !== undefined && grants.map(parseGrant).some((grant) => grant && covers(grant, required, NO_GROUPS));
}

/** Returns the names for which the caller has the permission `permission:NAME`. */
export function permittedNames(grants: readonly string[], permission: string, names: readonly string[]): readonly string[] {
  return names.filter((name) => hasPermission(grants, `${permission}:${name}`));
}
