import type { StatedRisk } from './capability-file.ts';

/** What a device file fits: a device type of the library, one product, or one type of one product. */
export interface DeviceMatch {
  readonly deviceType?: string;
  readonly vendorId?: number;
  readonly productId?: number;
}

/** What a device file changes in a tool of its capabilities. */
export interface ToolOverride {
  readonly title?: string;
  readonly description?: string;
  readonly risk?: StatedRisk;
}

/** device-profiles/devices/<id>.json */
export interface DeviceFile {
  readonly $schema?: string;
  readonly title: string;
  /** What people call it: `light`, `robot vacuum`. */
  readonly noun: string;
  readonly match: DeviceMatch;
  /** A type that says something about a device beside what it is, such as where its power comes from. */
  readonly utility?: boolean;
  /** Ids of capability files, the leading one first. Clusters that none of them covers get their usual capability. */
  readonly capabilities: readonly string[];
  readonly overrides?: Readonly<Record<string, ToolOverride>>;
  /** What values are called on this device, where the capability's own title would mislead. */
  readonly titles?: Readonly<Record<string, string>>;
  /** Tools that make no sense on this device. */
  readonly without?: readonly string[];
}

/** A device file under its id, which is its file name. */
export interface DeviceProfile extends DeviceFile {
  readonly id: string;
}

/** How specific a match is: product and type 3, product 2, type 1. */
export function specificity(match: DeviceMatch): number {
  return (match.vendorId === undefined ? 0 : 2) + (match.deviceType === undefined ? 0 : 1);
}
