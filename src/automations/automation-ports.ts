import type { Authorizer, Principal } from '../core/auth/principal.ts';
import type { RuleAdministration } from '../core/auth/rules.ts';
import type { Clock } from '../core/clock.ts';
import type { DeviceDirectory } from '../core/devices/device-directory.ts';
import type { DeviceFacts } from '../core/devices/device-names.ts';
import type { ReadingStore } from '../core/devices/sensor-readings.ts';
import type { DeviceId, SensorId } from '../core/ids.ts';
import type { JsonSchema } from '../core/json.ts';
import type { Logger } from '../core/logger.ts';
import type { MeshView } from '../core/mesh-view.ts';
import type { ToolDirectory } from '../tools/registry/tool-directory.ts';
import type { SchemaValidator } from '../tools/schema/schema-validator.ts';
import type { AgentRecord } from './agent-store.ts';
import type { HomeThings } from './home-things.ts';
import type { HouseState } from './house/house.ts';
import type { AutomationPlan } from './plan/plan-schema.ts';
import type { RunWait } from './run/run-log.ts';

/** The parts of the hub against which a configuration is checked. */
export interface AccessPorts {
  readonly authorizer: Authorizer;
  readonly readings: Pick<ReadingStore, 'current'>;
  readonly devices: Pick<DeviceDirectory, 'get'>;
  readonly registry: Pick<ToolDirectory, 'resolve' | 'hubsOf'>;
  /** The other hubs. */
  readonly mesh: { readonly view: Pick<MeshView, 'peers'> };
  readonly validator: SchemaValidator;
  readonly house: Pick<HouseState, 'place'>;
  readonly clock: Clock;
}

/** The parts of the hub that find what a configuration names. */
export interface NamingPorts {
  readonly things: HomeThings;
  readonly authorizer: Authorizer;
  readonly registry: Pick<ToolDirectory, 'find'>;
  readonly validator: SchemaValidator;
}

/** The parts of the hub against which a definition is checked and bound to ids. */
export type DefinitionPorts = AccessPorts & NamingPorts;

/** A value of a device that one of its sensors shows. Effects of calls name the value in the same way. */
export interface ShownValue {
  readonly endpoint: number;
  readonly name: string;
  /** Schema of the value in units for people. */
  readonly schema: JsonSchema;
}

/** Port: what device profiles say about the values and events of devices. */
export interface DeviceValues {
  /** Returns the value that a sensor shows; undefined for a sensor of the board or of a device that is gone. */
  shownBy(sensor: SensorId): ShownValue | undefined;
  /** Returns the unit of a value that calls set, such as `%`; empty or undefined if it has none or is not known. */
  unitOf(value: Pick<ShownValue, 'endpoint' | 'name'> & { readonly device: DeviceId }): string | undefined;
  /** Returns the names of the events that the hub passes on from a device, each as `Cluster/Event`; undefined if they are not known. */
  eventsOf(device: DeviceId): readonly string[] | undefined;
}

/** The values and events of a hub without devices. */
export const NO_DEVICE_VALUES: DeviceValues = { shownBy: () => undefined, unitOf: () => undefined, eventsOf: () => undefined };

/** The parts of the hub that a check of automations reads. Nothing is called or changed. */
export interface CheckPorts extends AccessPorts {
  /** IANA time zone of triggers and conditions that name none. */
  readonly timeZone: string;
  readonly rules: Pick<RuleAdministration, 'list' | 'test'>;
  readonly facts: DeviceFacts;
  readonly values: DeviceValues;
}

/** Port: the agents of the hub, and what the automations among them do. */
export interface AgentQueries {
  /** Returns the agents that `by` may see. */
  list(by: Principal): readonly AgentRecord[];
  /** Returns all agents, for the hub itself. */
  records(): readonly AgentRecord[];
  /** Returns the plan of an automation; undefined for a stored configuration that this version cannot read any more. */
  planOf(record: Pick<AgentRecord, 'config'>): AutomationPlan | undefined;
}

/** What an automation will do by the time alone. */
export interface ComingRuns {
  /** When each trigger fires next, milliseconds since 1970, in their order; undefined for one that does not fire by the time. */
  readonly due: readonly (number | undefined)[];
  /**
   * Returns when the run of a trigger that fires at a time begins, by its limits and the rest after failures (both milliseconds since 1970);
   * undefined if they drop the trigger.
   */
  readonly beginOf: (firedMs: number) => number | undefined;
  /** True while a run is under way, even if it does not wait. */
  readonly isRunning: boolean;
  /** The steps of its run that wait. */
  readonly waits: readonly RunWait[];
}

/** What an agent will do that is no automation, or whose automation has not started. */
export const NO_COMING_RUNS: ComingRuns = { due: [], beginOf: () => undefined, isRunning: false, waits: [] };

/** The parts of the hub that the tools of the check and the views of automations need. */
export interface CheckToolPorts extends NamingPorts {
  readonly agents: AgentQueries;
  readonly check: CheckPorts;
  readonly logger: Logger;
}
