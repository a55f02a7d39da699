import type { NamedDevice } from '../../core/devices/action-descriptions.ts';
import type { Json, JsonObject, JsonSchema } from '../../core/json.ts';

/** A value that a device tells, as `GET /api/v1/sensors` has it. */
export interface ReadingView {
  readonly id: string;
  readonly device: string;
  readonly name: string;
  readonly title: string;
  /** What kind of thing it is, such as `temperature`, `on_off`, `cover_position`. */
  readonly kind: string;
  readonly unit: string;
  readonly area: string | null;
  readonly value: Json;
  /** ISO 8601; null for never. */
  readonly at: string | null;
  readonly age_ms: number | null;
  readonly reachability: ReachabilityView;
}

export type ReachabilityView = 'reachable' | 'unreachable' | 'unknown';

/** A device, as `GET /api/v1/devices` lists it. */
export interface DeviceView {
  readonly id: string;
  readonly name: string;
  /** What people call it beside its name. */
  readonly aliases?: readonly string[];
  readonly area: string | null;
  /** Of its area. */
  readonly floor?: string | null;
  /** `board`: a chip, a probe or a line of the hub's own board. */
  readonly kind: 'node' | 'bridged' | 'part' | 'board';
  readonly parent?: string;
  readonly matter_node_id: string;
  readonly vendor: { readonly id: number; readonly name: string };
  readonly product: { readonly id: number; readonly name: string };
  readonly serial?: string;
  readonly software_version?: string;
  readonly device_types: readonly string[];
  readonly reachability: ReachabilityView;
  readonly last_seen: string | null;
  readonly age_ms: number | null;
  readonly is_sleepy: boolean;
  /** Canonical ids. */
  readonly tools: readonly string[];
  readonly readings: readonly ReadingView[];
}

/** A tool, as `GET /api/v1/tools` has it; more members come along. */
export interface ToolView {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly available: boolean;
  readonly parameters: JsonSchema;
  readonly metadata?: JsonObject;
  readonly [member: string]: unknown;
}

/** A dangerous call that waits for people, as `GET /api/v1/approvals` has it. */
export interface ApprovalView {
  readonly approval_id: string;
  readonly state: 'pending' | 'approved' | 'denied' | 'used' | 'expired';
  /** Who asks. */
  readonly agent_id: string;
  readonly title: string;
  readonly summary: string;
  /** The program or the steps that will run, a line for each; absent from an older hub. */
  readonly will_do?: readonly string[];
  /** What is touched, by the names and in the rooms that the devices have; absent from an older hub. */
  readonly devices?: readonly NamedDevice[];
  readonly tool: string;
  readonly params: JsonObject;
  readonly effects: readonly { readonly permission: string; readonly risk: string; readonly target: string }[];
  readonly needed: number;
  readonly given: number;
  readonly approved_by: readonly { readonly person: string; readonly key_id: string; readonly at: string }[];
  readonly denied_by?: string;
  readonly call_hash: string;
  readonly hub: string;
  readonly created_at: string;
  readonly expires_at: string;
}

/** An event of the hub (CloudEvents 1.0). */
export interface EventView {
  readonly id: string;
  readonly source: string;
  /** One of the types of docs/http.md, such as `sensor.reading`. */
  readonly type: string;
  readonly subject: string;
  readonly time: string;
  readonly data: JsonObject;
}
