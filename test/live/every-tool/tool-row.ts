import type { JsonObject } from '../../../src/core/json.ts';

/** Endpoint number or part id, cluster, attribute and its raw Matter value, or a matcher of it. */
export type Fact = readonly [endpoint: number | string, cluster: string, attribute: string, raw: unknown];

/** A command as it reached the device: fields by their matter.js names, raw; octets as `{ $bytes: hex }`. */
export interface Sent {
  readonly cluster: string;
  readonly command: string;
  readonly fields?: JsonObject;
}

/** One call of a device's tool and what it has to do in the device's own process. Values on the device's side are raw Matter units, worked out by hand. */
export interface ToolRow {
  /** Full name of the tool without its namespace. */
  readonly tool: string;
  readonly params: JsonObject;
  /** Set in the device's process before the call. */
  readonly given: readonly Fact[];
  /** What the device's process shows afterwards; at least one of them differs from before the call. */
  readonly raw: readonly Fact[];
  /** What it shows some time later, by itself. */
  readonly later: readonly Fact[];
  /** The command that reached the device, where no attribute tells of it. */
  readonly sent?: Sent;
  /** Part of the answer's state, in human units. */
  readonly state: JsonObject;
  /** Whether the answer says that the device already shows the target; an answer without a target never says so. */
  readonly isSettled: boolean;
  readonly isReading: boolean;
}

/** A device as the hub calls it, the process of the home that it lives in, and every tool that it has. */
export interface DeviceRows {
  readonly device: string;
  readonly home: string;
  readonly rows: readonly ToolRow[];
}

type Effect = Partial<Pick<ToolRow, 'given' | 'raw' | 'later' | 'sent' | 'state' | 'isSettled'>>;

/** A tool that acts. */
export function does(tool: string, params: JsonObject, effect: Effect): ToolRow {
  return { tool, params, given: [], raw: [], later: [], state: {}, isSettled: true, isReading: false, ...effect };
}

/** A tool that tells `state` once the device's process holds `given`. */
export function tells(tool: string, given: readonly Fact[], state: JsonObject): ToolRow {
  return { tool, params: {}, given, raw: [], later: [], state, isSettled: true, isReading: true };
}

/** A device of the home that is one device of the hub. */
export function device(name: string, rows: readonly ToolRow[]): DeviceRows {
  return { device: name, home: name, rows };
}

/** A part of a device, or a device behind a bridge. */
export function within(home: string, name: string, rows: readonly ToolRow[]): DeviceRows {
  return { device: name, home, rows };
}
