import type { Risk } from '../../core/access/authorizer.ts';
import type { Device } from '../../core/devices/device-model.ts';
import type { StepOutcome } from '../device-tools/step-outcome.ts';
import type { EventEntry } from '../files/capability-file.ts';
import type { CompiledValue } from './compile-value.ts';
import type { DeviceStep } from './device-plan.ts';
import type { ToolBlueprint } from './tool-blueprint.ts';

/** A tool of a device, under its final action. */
export interface DeviceTool extends ToolBlueprint {
  readonly risk: Risk;
  /** What people call the part that it acts on: `light`. */
  readonly noun: string;
}

/** A reading of a device; its sensor id is `<device id>/<path>`. */
export interface DeviceReading extends CompiledValue {
  readonly kind: string;
  /** `temperature`, or `temperature/3` where several endpoints have it. */
  readonly path: string;
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
  /** What a command or write sets, as the device is now. */
  outcomeOf(step: DeviceStep): StepOutcome;
}
