import type { Risk } from '../../core/auth/authorizer.ts';
import type { Json, JsonObject } from '../../core/json.ts';
import type { ConverterName } from '../values/converters.ts';
import type { Shorthand } from '../values/parameter-shorthand.ts';

/** A file to save under `device-profiles/`, or in the owner's own profiles. */
export interface DraftFile {
  readonly path: string;
  readonly content: JsonObject;
}

/** Risk as files state it: `highest` is the highest of all tools of the same endpoint, for scenes that may do anything there. */
export type StatedRisk = Risk | 'highest';

/** Logic of the hub that a tool may name where data cannot say it. */
export type RecipeName =
  | 'set_color'
  | 'set_temperature'
  | 'adjust_temperature'
  | 'adjust_brightness'
  | 'adjust_volume'
  | 'select_areas'
  | 'turn_on_for';

/** Names that a device lists itself in an attribute: the modes, inputs or levels that it has. */
export interface ChoicesEntry {
  /** Attribute with the list. */
  readonly from: string;
  /** Another cluster on the same endpoint that has the attribute. */
  readonly cluster?: string;
  /** Member with the id; without it, the place in the list counts from 0. */
  readonly id?: string;
  /** Member with the name, as a path with dots; without it, the item itself is the name. */
  readonly label?: string;
}

/**
 * Which names of an enum or bitmap a device has: an attribute that lists or flags them; an attribute whose value stands
 * for some of them; or another cluster of the endpoint without which these names make no sense.
 */
export type OfferedEntry =
  | string
  | { readonly from: string; readonly names: Readonly<Record<string, readonly string[]>> }
  | { readonly cluster: string; readonly names: readonly string[] };

/** The device's own limits, raw: attributes, or members of them as paths with dots. Of several the tightest counts. */
export interface LimitsEntry {
  /** Another cluster on the same endpoint that has the attributes. */
  readonly cluster?: string;
  readonly min?: string | readonly string[];
  readonly max?: string | readonly string[];
  /** Attribute that counts the levels of the device, the lowest of which is 0. */
  readonly below?: string;
}

/** How a raw Matter value looks to people. */
interface Conversion {
  /** Without it: booleans and texts as they are, enums by name in snake_case, numbers unchanged. */
  readonly convert?: ConverterName;
  /** Unit of the human value, where the converter does not fix it. */
  readonly unit?: string;
  readonly choices?: ChoicesEntry;
  /** Plain words in place of names of the standard: name in snake_case → word. */
  readonly rename?: Readonly<Record<string, string>>;
}

/** One thing that a device tells: part of a tool's answer and, with `kind`, a reading with history. */
export interface ValueEntry extends Conversion {
  readonly attribute: string;
  /** Another cluster on the same endpoint; the value is left out where it is absent. */
  readonly cluster?: string;
  /** Member of a struct, or flag of a bitmap. */
  readonly member?: string;
  readonly title: string;
  readonly description?: string;
  /** What is measured; makes it a reading. */
  readonly kind?: string;
  /** It goes down to 0 by itself: what was asked for is shown as long as no more than that is left. */
  readonly countsDown?: boolean;
  /** An attribute that says the same better: where the device has it, this value is no reading. */
  readonly readingUnless?: string;
}

/** One parameter of a tool and the field or attribute that it fills. */
export interface ParamEntry extends Conversion {
  readonly field: string;
  readonly description: string;
  readonly default?: Json;
  readonly optional?: boolean;
  readonly example?: Json;
  readonly limits?: LimitsEntry;
  /** Values beyond the device's limits become the limit itself: the quietest that a speaker has is what 0 means. */
  readonly toLimits?: boolean;
  /** Another parameter of the tool that this one must not exceed. */
  readonly notAbove?: string;
  /** What the device says about which of the names it has. */
  readonly offered?: OfferedEntry | readonly OfferedEntry[];
  /** Narrower than what the device allows: `int [5-600]`, in human units. */
  readonly narrow?: Shorthand;
  readonly secret?: boolean;
}

/** One tool: exactly one of `command`, `write`, `read` and `recipe`. */
export interface ToolEntry {
  readonly title: string;
  /** One sentence for models; `{device}` becomes noun and quoted name. */
  readonly description: string;
  readonly risk: StatedRisk;
  readonly command?: string;
  /** Attributes that are written. */
  readonly write?: readonly string[];
  /** Values that are read from the device. */
  readonly read?: readonly string[];
  readonly recipe?: RecipeName;
  readonly params?: Readonly<Record<string, ParamEntry>>;
  /** Fields or attributes with constant raw values. */
  readonly fixed?: JsonObject;
  /** Values that the device should show afterwards, human. Parameters named like a value count by themselves. */
  readonly target?: JsonObject;
  /** Values that show what a parameter asked for, where the names differ: parameter → value. */
  readonly shows?: Readonly<Record<string, string>>;
  /** Values in the answer's state; all values of the file without it. */
  readonly state?: readonly string[];
  /** Feature codes that the cluster must have, all of them. */
  readonly features?: readonly string[];
  readonly idempotent?: boolean;
  readonly timeoutSeconds?: number;
  /** Short form of the action, kept as a second name. */
  readonly alias?: string;
}

/** An event that is worth telling. */
export interface EventEntry {
  readonly title: string;
  readonly kind: string;
  /** Titles by a number that the event carries; `title` for the others. */
  readonly titleBy?: { readonly member: string; readonly titles: Readonly<Record<string, string>> };
}

/** device-profiles/capabilities/<id>.json */
export interface CapabilityFile {
  readonly $schema?: string;
  readonly title: string;
  readonly cluster: string;
  /** Used only where a device file names it, in place of the cluster's usual capability. */
  readonly variant?: boolean;
  readonly values?: Readonly<Record<string, ValueEntry>>;
  readonly tools?: Readonly<Record<string, ToolEntry>>;
  readonly events?: Readonly<Record<string, EventEntry>>;
  /** Risk of commands and attributes that no tool here uses but the generic tool reaches. */
  readonly risks?: Readonly<Record<string, StatedRisk>>;
}

/** A capability file under its id, which is its file name. */
export interface Capability extends CapabilityFile {
  readonly id: string;
}

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
