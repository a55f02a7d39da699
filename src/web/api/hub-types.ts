import type { ApprovalView as ListedApproval } from '../../core/auth/approvals.ts';
import type { NamedDevice } from '../../core/devices/action-descriptions.ts';
import type { Reachability } from '../../core/devices/device-model.ts';
import type { Json, JsonObject, JsonSchema } from '../../core/json.ts';

/** A reading of a device, as `GET /api/v1/sensors` returns it. */
export interface ReadingView {
  readonly id: string;
  readonly device: string;
  readonly name: string;
  readonly title: string;
  /** The quantity, such as `temperature`, `on_off`, `cover_position`. */
  readonly kind: string;
  readonly unit: string;
  readonly area: string | null;
  readonly value: Json;
  /** Time of the last report in ISO 8601; null if the device has not reported this reading yet. */
  readonly at: string | null;
  readonly age_ms: number | null;
  readonly reachability: Reachability;
}

/** A device in the result of `GET /api/v1/devices`. */
export interface DeviceView {
  readonly id: string;
  readonly name: string;
  readonly aliases?: readonly string[];
  readonly area: string | null;
  /** The floor of the device's area. */
  readonly floor?: string | null;
  /** `board` means a chip, a probe or a GPIO line of the hub's own board. */
  readonly kind: 'node' | 'bridged' | 'part' | 'board';
  readonly parent?: string;
  readonly matter_node_id: string;
  readonly vendor: { readonly id: number; readonly name: string };
  readonly product: { readonly id: number; readonly name: string };
  readonly serial?: string;
  readonly software_version?: string;
  readonly device_types: readonly string[];
  readonly reachability: Reachability;
  readonly last_seen: string | null;
  readonly age_ms: number | null;
  readonly is_sleepy: boolean;
  /** Canonical ids of the device's tools. */
  readonly tools: readonly string[];
  readonly readings: readonly ReadingView[];
}

/** A room in the result of `GET /api/v1/areas`. */
export interface AreaInfo {
  readonly area: string;
  readonly floor: string | null;
}

/** A scene in the result of `GET /api/v1/scenes`, with what each device that the person sees does. */
export interface SceneInfo {
  /** The id of the scene, which never changes. */
  readonly scene: string;
  readonly name: string;
  /** Id of the tool that runs it. */
  readonly tool: string;
  readonly actions: readonly SceneAction[];
}

/** What one device does in a scene. */
export interface SceneAction {
  readonly device_id: string;
  /** Name of the device. */
  readonly device: string;
  readonly action: string;
  readonly params: JsonObject;
}

/** A tool in the result of `GET /api/v1/tools`. */
export interface ToolView {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly available: boolean;
  readonly parameters: JsonSchema;
  readonly metadata?: JsonObject;
  readonly [member: string]: unknown;
}

/** An approval request in the result of `GET /api/v1/approvals`. */
export type ApprovalView = Omit<ListedApproval, 'runs' | 'trace_id' | 'devices'> & {
  readonly summary: string;
  /** The program or the steps that will run, one per line. Older hubs omit it. */
  readonly will_do?: readonly string[];
  /** The devices that the call would affect, with their names and rooms. Older hubs omit it. */
  readonly devices?: readonly NamedDevice[];
};

/** An event of the hub (CloudEvents 1.0). */
export interface EventView {
  readonly id: string;
  readonly source: string;
  /** An event type of docs/http.md, such as `sensor.reading`. */
  readonly type: string;
  readonly subject: string;
  readonly time: string;
  readonly data: JsonObject;
}
