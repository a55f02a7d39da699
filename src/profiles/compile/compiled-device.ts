import type { Risk } from '../../core/access/authorizer.ts';
import type { Device } from '../../core/devices/device-model.ts';
import type { LiveValues } from '../clusters/cluster-view.ts';
import type { StepOutcome } from '../device-tools/step-outcome.ts';
import type { EventEntry } from '../files/capability-file.ts';
import type { CompiledValue } from './compile-value.ts';
import type { DeviceStep } from './device-plan.ts';
import type { ToolBlueprint } from './tool-blueprint.ts';

/** A tool of a device, under its final action. */
export interface DeviceTool extends ToolBlueprint {
  /** Endpoint, cluster and action: the same for the same tool, whatever it is called. */
  readonly key: string;
  readonly risk: Risk;
  /** What people call the part that it acts on: `light`. */
  readonly noun: string;
  /** The action without what tells its endpoint from others. */
  readonly plainAction: string;
  /** The action with the number of its endpoint, where several endpoints have it. */
  readonly numbered?: string;
  /** What the device calls the endpoint among those that have the action. */
  readonly part?: string;
}

/** A reading of a device; a device that is new here has it as the sensor `<device id>/<path>`. */
export interface DeviceReading extends CompiledValue {
  readonly kind: string;
  /** Endpoint, cluster and value: the same for the same reading, whatever it is called. */
  readonly key: string;
  /** `temperature`, or `temperature/3` where several endpoints have it. */
  readonly path: string;
  /** The path by the rule of hubs that kept no ids of readings. */
  readonly formerPath: string;
}

/** Which layer took care of a cluster. */
export interface Coverage {
  readonly endpoint: number;
  readonly cluster: string;
  readonly by: 'capability' | 'generic' | 'administrative' | 'nothing';
  readonly capability?: string;
}

/** An event that is worth telling. */
export interface DeviceEventRule extends EventEntry {
  readonly endpoint: number;
  readonly cluster: string;
  readonly event: string;
}

/** All that profiles make of a device. */
export interface CompiledDevice {
  readonly device: Device;
  readonly noun: string;
  readonly tools: readonly DeviceTool[];
  /** Everything that tools show and rules may name. */
  readonly values: readonly CompiledValue[];
  readonly readings: readonly DeviceReading[];
  readonly events: readonly DeviceEventRule[];
  readonly coverage: readonly Coverage[];
  /** Attributes whose live value shaped a tool, as `endpoint/cluster/attribute`. */
  readonly dependsOn: ReadonlySet<string>;
  /** What a command or write sets, as the device is now; `fresh` values count before those that are kept. */
  outcomeOf(step: DeviceStep, fresh?: LiveValues): StepOutcome;
}
