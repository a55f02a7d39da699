import type { Risk } from '../../core/auth/principal.ts';
import type { Json, JsonObject } from '../../core/json.ts';
import type { ConverterName } from '../values/converters.ts';
import type { Shorthand } from '../values/parameter-shorthand.ts';

/** A draft of a profile file. `path` is relative to `device-profiles/` or to the folder of the owner's profiles. */
export interface DraftFile {
  readonly path: string;
  readonly content: JsonObject;
}

/** Risk in a profile file. `highest` stands for the highest risk of all tools on the endpoint. Scenes use it: they may do anything. */
export type StatedRisk = Risk | 'highest';

/** Name of a recipe. A recipe is hub code for a tool that a profile file alone cannot describe. */
export type RecipeName =
  | 'set_color'
  | 'set_temperature'
  | 'adjust_temperature'
  | 'adjust_brightness'
  | 'adjust_volume'
  | 'select_areas'
  | 'turn_on_for';

/** The attribute (`from`) in which a device lists names, such as the names of its modes, inputs or levels. */
export interface ChoicesEntry {
  readonly from: string;
  /** The cluster that has the attribute, if it is another cluster on the same endpoint. */
  readonly cluster?: string;
  /** Member with the id. If absent, the id of an item is its index in the list, from 0. */
  readonly id?: string;
  /** Dotted paths to members, separated by `|`. The first path with text gives the name. If absent, the item itself is the name. */
  readonly label?: string;
}

/**
 * States which names of an enum or bitmap a device supports. A string is the attribute that lists or flags these names. With `from`,
 * `names` gives the supported names for each value of that attribute. With `cluster`, `names` need this cluster on the endpoint.
 */
export type OfferedEntry =
  | string
  | { readonly from: string; readonly names: Readonly<Record<string, readonly string[]>> }
  | { readonly cluster: string; readonly names: readonly string[] };

/** Attributes, or dotted paths to their members, that hold the device's raw limits. The highest `min` and the lowest `max` apply. */
export interface LimitsEntry {
  /** The cluster that has the attributes, if it is another cluster on the same endpoint. */
  readonly cluster?: string;
  readonly min?: string | readonly string[];
  readonly max?: string | readonly string[];
  /** Attribute with the number of levels. Levels start at 0, so the maximum is one less than this number. */
  readonly below?: string;
}

/** Conversion of a raw Matter value to a human unit. */
interface Conversion {
  /** If absent, booleans, texts and numbers stay unchanged, and enum names become snake_case. */
  readonly convert?: ConverterName;
  /** Unit of the human value, if the converter does not set one. */
  readonly unit?: string;
  readonly choices?: ChoicesEntry;
  /** Plain words for names of the Matter model. The keys are the names in snake_case. */
  readonly rename?: Readonly<Record<string, string>>;
}

/**
 * How a call that creates something in a device is undone: by another tool of the cluster, with the same parameters. It is known to be new only
 * if there was none of the kind before, since it may else have replaced one whose content nobody knows.
 */
export interface RemovedBy {
  /** Action of the tool that removes it. */
  readonly removedBy: string;
  /** Attribute and member that count what there is, such as `FabricSceneInfo.SceneCount`. */
  readonly count: string;
}

/** A value of a device: part of a tool's result and, if `kind` is set, a reading with history. */
export interface ValueEntry extends Conversion {
  readonly attribute: string;
  /** The cluster of the attribute, if it is another cluster on the endpoint. If the endpoint lacks this cluster, the value is omitted. */
  readonly cluster?: string;
  /** Member of a struct, or flag of a bitmap. */
  readonly member?: string;
  readonly title: string;
  readonly description?: string;
  /** Measured quantity, such as `temperature`. Only a value with a `kind` can be a reading. */
  readonly kind?: string;
  /** True if the value counts down to 0. After a call, any value above 0 up to the requested one shows that the call took effect. */
  readonly countsDown?: boolean;
  /** A better attribute for the same quantity. If the device has this attribute, the value is not a reading. */
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
  /** True if a value beyond the device's limits becomes the nearest limit: a volume of 0 becomes the speaker's lowest volume. */
  readonly toLimits?: boolean;
  /** Name of another parameter, whose value is the maximum of this parameter. */
  readonly notAbove?: string;
  /** Tells which names the device supports. */
  readonly offered?: OfferedEntry | readonly OfferedEntry[];
  /** Narrower bounds than the device's own, in human units, such as `int [5-600]`. */
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
  /** Raw values that every call sends, by field or attribute. */
  readonly fixed?: JsonObject;
  /** Values that the device should report after the call, in human units. Parameters with the name of a value are added to these. */
  readonly target?: JsonObject;
  /** For a parameter, the name of the value that reports its effect. Needed only if the two names differ. */
  readonly shows?: Readonly<Record<string, string>>;
  /** Values in the `state` of the result; if absent, all values of the file. */
  readonly state?: readonly string[];
  /** Feature codes. Only a cluster with all of these features gets the tool. */
  readonly features?: readonly string[];
  readonly idempotent?: boolean;
  /**
   * `never`: a call cannot be undone, even if another tool brings the values back: a door was open, a wash has begun. `sometimes`: it depends
   * on the state before the call. The description of the tool says so.
   */
  readonly undo?: 'never' | 'sometimes' | RemovedBy;
  readonly timeoutSeconds?: number;
  /** Short form of the action, used as an alias. */
  readonly alias?: string;
}

/** An event that the hub emits. */
export interface EventEntry {
  readonly title: string;
  readonly kind: string;
  /** Titles for numbers in the event's field `member`. A number without a title here gets `title`. */
  readonly titleBy?: { readonly member: string; readonly titles: Readonly<Record<string, string>> };
}

/** Content of the file `device-profiles/capabilities/<id>.json`. */
export interface CapabilityFile {
  readonly $schema?: string;
  readonly title: string;
  readonly cluster: string;
  /** True for a file that replaces the cluster's default capability, but only on devices whose device file names it. */
  readonly variant?: boolean;
  readonly values?: Readonly<Record<string, ValueEntry>>;
  readonly tools?: Readonly<Record<string, ToolEntry>>;
  readonly events?: Readonly<Record<string, EventEntry>>;
  /** Risk of commands and attributes that no tool of this file uses; only the generic tool can use them. */
  readonly risks?: Readonly<Record<string, StatedRisk>>;
}

/** A capability file with its id. The id is the file name without `.json`. */
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
interface ToolOverride {
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
  /** Ids of capability files, the most important first. Clusters that none of these files covers get their default capability. */
  readonly capabilities: readonly string[];
  readonly overrides?: Readonly<Record<string, ToolOverride>>;
  /** Titles by value name, for values whose title in the capability file would mislead on this device. */
  readonly titles?: Readonly<Record<string, string>>;
  /** Tools that this device does not get. */
  readonly without?: readonly string[];
}

/** A device file with its id. The id is the file name without `.json`. */
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
