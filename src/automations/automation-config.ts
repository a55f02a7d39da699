import type { Weekday } from '../core/clock.ts';
import type { JsonObject } from '../core/json.ts';

/** A value that `adjust_threshold` may change while the agent runs. */
export interface AgentParameter {
  readonly value: number | string | boolean;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly unit?: string;
  readonly description?: string;
}

/** A reading compared with a value; exactly one of the three is there. */
interface Comparison {
  readonly sensor_id: string;
  readonly above?: number;
  readonly below?: number;
  readonly equals?: number | string | boolean;
}

/** Fires when a reading crosses a value, reaches it, or changes. */
export interface ReadingTrigger extends Comparison {
  readonly type: 'reading';
  readonly changes?: true;
  /** It has to stay so for this long first. */
  readonly for_seconds?: number;
  /** How far the reading has to fall back before it can cross again. */
  readonly hysteresis?: number;
}

/** Fires when a device sends an event, such as a pressed button. */
export interface DeviceEventTrigger {
  readonly type: 'device_event';
  readonly device_id: string;
  readonly event: string;
  readonly cluster?: string;
}

/** Fires when a device is lost or comes back. */
export interface ReachabilityTrigger {
  readonly type: 'reachability';
  readonly device_id: string;
  readonly becomes: 'reachable' | 'unreachable';
}

/** Fires at a time of day on the clock on the wall. */
export interface TimeTrigger {
  readonly type: 'time';
  /** `HH:MM` */
  readonly at: string;
  readonly days?: readonly Weekday[];
  /** IANA name, such as `Europe/Berlin`; the hub's own when absent. */
  readonly time_zone?: string;
}

/** Fires again and again. */
export interface IntervalTrigger {
  readonly type: 'every';
  readonly seconds: number;
}

/** What sets an automation off. */
export type Trigger = ReadingTrigger | DeviceEventTrigger | ReachabilityTrigger | TimeTrigger | IntervalTrigger;

/** A reading that has to be so when the trigger fires. */
export interface ReadingCondition extends Comparison {
  readonly type: 'reading';
  /** An older value does not count. */
  readonly max_age_seconds?: number;
}

/** A time of day that it has to be; a window whose end is before its start goes over midnight. */
export interface TimeCondition {
  readonly type: 'time';
  readonly after?: string;
  readonly before?: string;
  readonly days?: readonly Weekday[];
  readonly time_zone?: string;
}

/** What has to hold for a trigger to count. */
export type Condition = ReadingCondition | TimeCondition;

/** One call of a tool. */
export interface Action {
  readonly tool: string;
  /** May hold references to the trigger, `{"trigger": "value"}`. */
  readonly params: JsonObject;
  readonly timeout_ms?: number;
  readonly on_error: 'stop' | 'continue';
}

/** A configuration that was checked, with its parameters filled in. */
export interface AutomationPlan {
  readonly triggers: readonly Trigger[];
  readonly conditions: readonly Condition[];
  readonly actions: readonly Action[];
  readonly cooldownMs: number;
  readonly maxRunsPerHour: number;
}
