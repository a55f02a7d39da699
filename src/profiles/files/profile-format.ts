import type { Risk } from '../../core/auth/principal.ts';
import type { Json, JsonObject } from '../../core/json.ts';
import type { ConverterName } from '../values/converters.ts';
import type { Shorthand } from '../values/parameter-shorthand.ts';

/** A drafted file to save under `device-profiles/` or among the owner's profiles. */
export interface DraftFile {
  readonly path: string;
  readonly content: JsonObject;
}

/** Risk in a profile file. `highest` means the highest risk of all tools of the endpoint; it is for scenes, which may do anything. */
export type StatedRisk = Risk | 'highest';

/** Name of a recipe: hub code for tools that data cannot describe. */
export type RecipeName =
  | 'set_color'
  | 'set_temperature'
  | 'adjust_temperature'
  | 'adjust_brightness'
  | 'adjust_volume'
  | 'select_areas'
  | 'turn_on_for';

/** Names that a device lists in an attribute, such as its modes, inputs or levels. */
export interface ChoicesEntry {
  readonly from: string;
  /** Another cluster on the same endpoint that has the attribute. */
  readonly cluster?: string;
  /** Member with the id; if absent, the id is the index in the list, from 0. */
  readonly id?: string;
  /** Dotted path of the member with the name; if absent, the item itself is the name. */
  readonly label?: string;
}

/**
 * States which names of an enum or bitmap a device supports. A string names an attribute that lists or flags them. `from` is an attribute;
 * each of its values implies some names. `cluster` is a cluster that the names need on the endpoint.
 */
export type OfferedEntry =
  | string
  | { readonly from: string; readonly names: Readonly<Record<string, readonly string[]>> }
  | { readonly cluster: string; readonly names: readonly string[] };

/** Attributes with the device's own limits in raw units, or dotted paths to their members. If there are several, the tightest applies. */
export interface LimitsEntry {
  /** Another cluster on the same endpoint that has the attributes. */
  readonly cluster?: string;
  readonly min?: string | readonly string[];
  readonly max?: string | readonly string[];
  /** Attribute with the number of levels; the lowest level is 0. */
  readonly below?: string;
}

/** Conversion of a raw Matter value to a human unit. */
interface Conversion {
  /** If absent, booleans, texts and numbers stay unchanged, and enum names become snake_case. */
  readonly convert?: ConverterName;
  /** Unit of the human value, if the converter does not set one. */
  readonly unit?: string;
  readonly choices?: ChoicesEntry;
  /** Plain words for names of the Matter model: name in snake_case → word. */
  readonly rename?: Readonly<Record<string, string>>;
}

/** A value of a device: part of a tool's result and, if `kind` is set, a reading with history. */
export interface ValueEntry extends Conversion {
  readonly attribute: string;
  /** Another cluster on the same endpoint; the value is omitted if the endpoint lacks the cluster. */
  readonly cluster?: string;
  /** Member of a struct, or flag of a bitmap. */
  readonly member?: string;
  readonly title: string;
  readonly description?: string;
  /** Measured quantity, which makes the value a reading. */
  readonly kind?: string;
  /** True if the value counts down to 0. Then any value above 0 and up to the target meets the target. */
  readonly countsDown?: boolean;
  /** An attribute that is better for the same quantity. If the device has it, this value is not a reading. */
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
  /** True if a value beyond the device's limits is replaced by the limit. For example, 0 then sets the lowest volume of a speaker. */
  readonly toLimits?: boolean;
  /** Another parameter of the tool that is the maximum of this parameter. */
  readonly notAbove?: string;
  /** Tells which names the device supports. */
  readonly offered?: OfferedEntry | readonly OfferedEntry[];
  /** Bounds in human units that are narrower than the device's, such as `int [5-600]`. */
  readonly narrow?: Shorthand;
  readonly secret?: boolean;
}

/** A tool, which has exactly one of `command`, `write`, `read` and `recipe`. */
export interface ToolEntry {
  readonly title: string;
  /** One sentence for language models; `{device}` is replaced by the noun and the quoted name. */
  readonly description: string;
  readonly risk: StatedRisk;
  readonly command?: string;
  readonly write?: readonly string[];
  readonly read?: readonly string[];
  readonly recipe?: RecipeName;
  readonly params?: Readonly<Record<string, ParamEntry>>;
  /** Constant raw values of fields or attributes. */
  readonly fixed?: JsonObject;
  /** Values in human units that the device should report after the call. Parameters that have the name of a value are added to them. */
  readonly target?: JsonObject;
  /** Parameter → the value that reports the parameter's effect, if the two have different names. */
  readonly shows?: Readonly<Record<string, string>>;
  /** Values in the `state` of the result; if absent, all values of the file. */
  readonly state?: readonly string[];
  /** Feature codes, all of which the cluster must have. */
  readonly features?: readonly string[];
  readonly idempotent?: boolean;
  readonly timeoutSeconds?: number;
  /** Short form of the action, used as an alias. */
  readonly alias?: string;
}

/** An event that the hub emits. */
export interface EventEntry {
  readonly title: string;
  readonly kind: string;
  /** Titles for numbers in the field `member` of the event. `title` is used for all other numbers. */
  readonly titleBy?: { readonly member: string; readonly titles: Readonly<Record<string, string>> };
}

/** Content of the file `device-profiles/capabilities/<id>.json`. */
export interface CapabilityFile {
  readonly $schema?: string;
  readonly title: string;
  readonly cluster: string;
  /** True for a file that replaces the cluster's default capability. It applies only to device files that name it. */
  readonly variant?: boolean;
  readonly values?: Readonly<Record<string, ValueEntry>>;
  readonly tools?: Readonly<Record<string, ToolEntry>>;
  readonly events?: Readonly<Record<string, EventEntry>>;
  /** Risk of commands and attributes that only the generic tool can use. */
  readonly risks?: Readonly<Record<string, StatedRisk>>;
}

/** A capability file under its id, which is its file name. */
export interface Capability extends CapabilityFile {
  readonly id: string;
}

/** The devices that a device file matches: a Matter device type, one product, or one device type of one product. */
export interface DeviceMatch {
  readonly deviceType?: string;
  readonly vendorId?: number;
  readonly productId?: number;
}

/** Changes that a device file makes to a tool of its capabilities. */
export interface ToolOverride {
  readonly title?: string;
  readonly description?: string;
  readonly risk?: StatedRisk;
}

/** Content of the file `device-profiles/devices/<id>.json`. */
export interface DeviceFile {
  readonly $schema?: string;
  readonly title: string;
  /** Noun for the device: `light`, `robot vacuum`. */
  readonly noun: string;
  readonly match: DeviceMatch;
  /** True for a device type that says nothing about the device's purpose, such as a power source. */
  readonly utility?: boolean;
  /** Ids of capability files, the most important first. All other clusters get their default capability. */
  readonly capabilities: readonly string[];
  readonly overrides?: Readonly<Record<string, ToolOverride>>;
  /** Titles of values on this device, if the capability's title would mislead. */
  readonly titles?: Readonly<Record<string, string>>;
  /** Tools that this device does not get. */
  readonly without?: readonly string[];
}

/** A device file under its id, which is its file name. */
export interface DeviceProfile extends DeviceFile {
  readonly id: string;
}

/** Returns the rank of a match: 3 for product and type, 2 for product, 1 for type. */
export function specificity(match: DeviceMatch): number {
  return (match.vendorId === undefined ? 0 : 2) + (match.deviceType === undefined ? 0 : 1);
}

/** One mistake in a profile file. */
export interface ProfileProblem {
  readonly file: string;
  readonly pointer: string;
  readonly problem: string;
  readonly fix: string;
}
