import type { Clock } from '../core/clock.ts';
import type { DeviceDirectory } from '../core/devices/device-directory.ts';
import type { ReadingStore } from '../core/devices/sensor-readings.ts';
import type { EventBus } from '../core/events.ts';
import type { HubProblems } from '../core/health.ts';
import type { Service } from '../core/lifecycle.ts';
import type { Logger } from '../core/logger.ts';
import type { KeyValueStore } from '../core/storage/key-value-store.ts';
import type { RegisteredTool } from '../tools/definition/tool-definition.ts';
import type { ProgramSandbox } from '../tools/programs/program-sandbox.ts';
import type { Capability } from '../tools/registry/capability-catalogue.ts';
import type { ToolRegistry } from '../tools/registry/tool-registry.ts';
import type { AgentServices } from './connector-agent.ts';

/** What connectors are made from. */
export interface ConnectorContext {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly events: EventBus;
  /** Where it is reported that files of connectors have lost something. */
  readonly problems: Pick<HubProblems, 'raise'>;
  readonly store: KeyValueStore;
  readonly registry: ToolRegistry;
  /** Id of this hub. */
  readonly nodeId: string;
  readonly stateDir: string;
  /** Where secrets may be. */
  readonly env: NodeJS.ProcessEnv;
  /** What sensors say, for what shows the home elsewhere. */
  readonly readings: Pick<ReadingStore, 'sensors' | 'current'>;
  readonly devices: Pick<DeviceDirectory, 'get'>;
  /** What people call this hub, and its version. */
  readonly hub: { readonly name: string; readonly version: string };
  /** Where programs run apart from the hub; the bound on how many is one for all. */
  readonly programs: ProgramSandbox;
  /** For connectors that call tools as an agent of their own. */
  readonly agents: AgentServices;
}

/**
 * A service outside of the hub that tools use. Its tools are there in any case, as `unconfigured` makes them where the owner has
 * not configured it; what it takes to speak to the service is loaded by the first call.
 */
export interface Connector {
  readonly tools: readonly RegisteredTool[];
  /** Names beside their own, as in `{ tool_http_get: 'core:http_get' }`. */
  readonly aliases?: Readonly<Record<string, string>>;
  /** What the hub has now that it is configured. */
  readonly capabilities?: readonly Capability[];
  /** What runs beside calls, such as a bridge. */
  readonly service?: Service;
}
