import type { DeviceTypeEntry, SemanticTag } from '../../core/devices/device-model.ts';

/** What BasicInformation or BridgedDeviceBasicInformation tells, already made safe to show. */
export interface ProductFacts {
  readonly label: string;
  readonly vendor: { readonly id: number; readonly name: string };
  readonly product: { readonly id: number; readonly name: string };
  readonly serial: string;
  readonly softwareVersion: string;
  readonly uniqueId: string;
}

export interface EndpointSnapshot {
  readonly number: number;
  /** The endpoint whose PartsList holds this one most closely; absent for endpoint 0. */
  readonly parent?: number;
  readonly deviceTypes: readonly DeviceTypeEntry[];
  /** Does it for people what its type says, instead of describing power, network or structure. */
  readonly isApplication: boolean;
  readonly tags: readonly SemanticTag[];
  /** What people wrote into its UserLabel cluster, and its maker into FixedLabel. */
  readonly userLabel?: string;
  readonly fixedLabel?: string;
  /** Present behind a bridge. */
  readonly bridged?: ProductFacts;
  /** Server clusters by name. */
  readonly clusters: readonly string[];
}

/** The structure of one Matter node at one moment: plain data, so that what devices it makes is a pure question. */
export interface NodeSnapshot {
  readonly nodeId: string;
  readonly facts: ProductFacts;
  readonly endpoints: readonly EndpointSnapshot[];
}
