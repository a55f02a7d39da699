import type { Risk } from '../../core/auth/principal.ts';
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

/** Logic of the hub for tools that data cannot describe. */
export type RecipeName =
  | 'set_color'
  | 'set_temperature'
  | 'adjust_temperature'
  | 'adjust_brightness'
  | 'adjust_volume'
  | 'select_areas'
  | 'turn_on_for';

/** Names that a device lists in an attribute: its modes, inputs or levels. */
export interface ChoicesEntry {
  /** Attribute with the list. */
  readonly from: string;
  /** Another cluster on the same endpoint that has the attribute. */
  readonly cluster?: string;
  /** Member with the id; without it, the id is the index in the list, from 0. */
  readonly id?: string;
  /** Member with the name, as a path with dots; without it, the item itself is the name. */
  readonly label?: string;
}

/**
 * The names of an enum or bitmap that a device has: by an attribute that lists or flags them; by an attribute whose value stands for
 * some of them; or by another cluster of the endpoint that these names need.
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
  /** Attribute with the number of levels of the device, the lowest of which is 0. */
  readonly below?: string;
}

/** Conversion of a raw Matter value to a human one. */
interface Conversion {
  /** Without it: booleans and texts as they are, enums by name in snake_case, numbers unchanged. */
  readonly convert?: ConverterName;
  /** Unit of the human value, where the converter does not fix it. */
  readonly unit?: string;
  readonly choices?: ChoicesEntry;
  /** Plain words for names of the standard: name in snake_case → word. */
  readonly rename?: Readonly<Record<string, string>>;
}

/** One value of a device: part of a tool's result and, with `kind`, a reading with history. */
export interface ValueEntry extends Conversion {
  readonly attribute: string;
  /** Another cluster on the same endpoint; the value is left out where it is absent. */
  readonly cluster?: string;
  /** Member of a struct, or flag of a bitmap. */
  readonly member?: string;
  readonly title: string;
  readonly description?: string;
  /** Measured quantity; it makes the value a reading. */
  readonly kind?: string;
  /** The value counts down to 0: any value up to the target shows the target. */
  readonly countsDown?: boolean;
  /** A better attribute for the same quantity: where the device has it, this value is no reading. */
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
  /** Values beyond the device's limits become the limit: for a speaker, 0 is its lowest volume. */
  readonly toLimits?: boolean;
  /** Another parameter of the tool that this one must not exceed. */
  readonly notAbove?: string;
  /** The source of the names that the device has. */
  readonly offered?: OfferedEntry | readonly OfferedEntry[];
  /** Bounds that are narrower than those of the device: `int [5-600]`, in human units. */
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
  /** Values that the device should show afterwards, in human units; besides them, parameters with the name of a value. */
  readonly target?: JsonObject;
  /** Values that show a parameter with another name: parameter → value. */
  readonly shows?: Readonly<Record<string, string>>;
  /** Values in the state of the result; all values of the file when absent. */
  readonly state?: readonly string[];
  /** Feature codes that the cluster must have, all of them. */
  readonly features?: readonly string[];
  readonly idempotent?: boolean;
  readonly timeoutSeconds?: number;
  /** Short form of the action, which is an alias. */
  readonly alias?: string;
}

/** An event that the hub emits. */
export interface EventEntry {
  readonly title: string;
  readonly kind: string;
  /** Titles by a number in the event; `title` for other numbers. */
  readonly titleBy?: { readonly member: string; readonly titles: Readonly<Record<string, string>> };
}

/** device-profiles/capabilities/<id>.json */
export interface CapabilityFile {
  readonly $schema?: string;
  readonly title: string;
  readonly cluster: string;
  /** Replaces the cluster's usual capability, only where a device file names it. */
  readonly variant?: boolean;
  readonly values?: Readonly<Record<string, ValueEntry>>;
  readonly tools?: Readonly<Record<string, ToolEntry>>;
  readonly events?: Readonly<Record<string, EventEntry>>;
  /** Risk of commands and attributes that only the generic tool reaches. */
  readonly risks?: Readonly<Record<string, StatedRisk>>;
}

/** A capability file under its id, which is its file name. */
export interface Capability extends CapabilityFile {
  readonly id: string;
}

/** The devices that a device file matches: a device type of the library, one product, or one type of one product. */
export interface DeviceMatch {
  readonly deviceType?: string;
  readonly vendorId?: number;
  readonly productId?: number;
}

/** Changes of a device file to a tool of its capabilities. */
export interface ToolOverride {
  readonly title?: string;
  readonly description?: string;
  readonly risk?: StatedRisk;
}

/** device-profiles/devices/<id>.json */
export interface DeviceFile {
  readonly $schema?: string;
  readonly title: string;
  /** People's word for it: `light`, `robot vacuum`. */
  readonly noun: string;
  readonly match: DeviceMatch;
  /** True for a type that does not name the purpose of a device, such as its source of power. */
  readonly utility?: boolean;
  /** Ids of capability files, the most important one first. Other clusters get their usual capability. */
  readonly capabilities: readonly string[];
  readonly overrides?: Readonly<Record<string, ToolOverride>>;
  /** Titles of values on this device, where the title of the capability would mislead. */
  readonly titles?: Readonly<Record<string, string>>;
  /** Tools that this device does not get. */
  readonly without?: readonly string[];
}

/** A device file under its id, which is its file name. */
export interface DeviceProfile extends DeviceFile {
  readonly id: string;
}

/** Rank of a match: product and type 3, product 2, type 1. */
export function specificity(match: DeviceMatch): number {
  return (match.vendorId === undefined ? 0 : 2) + (match.deviceType === undefined ? 0 : 1);
}

/** One mistake in a profile file. */
export interface ProfileProblem {
  readonly file: string;
  /** JSON pointer within the file. */
  readonly pointer: string;
  readonly problem: string;
  readonly fix: string;
}
