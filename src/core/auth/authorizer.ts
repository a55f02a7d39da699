import type { DeviceId, HubId } from '../ids.ts';
import type { JsonObject } from '../json.ts';
import type { Principal } from './principal.ts';

/** How much harm an effect can do; `dangerous` needs the approval of a person. */
export type Risk = 'none' | 'low' | 'medium' | 'dangerous';

/** What a call will really do, on canonical ids. Risk and permission belong to it, not to the tool's name. */
export interface Effect {
  /** Permission that this effect needs, such as `device:control:kitchen-light`. */
  readonly permission: string;
  readonly risk: Risk;
  /** `<device id>/<endpoint>/<cluster>/<command or attribute>`, or another name of what is touched. */
  readonly target: string;
  /** Device that it touches. */
  readonly device?: DeviceId;
  /** What it sets, by the names that the device's tools use, in their units (°C, %): `{heating_setpoint: 21.5}`. */
  readonly values?: JsonObject;
  /** Values that it may change to something that is not known before it runs; a rule about one of them assumes the worst. */
  readonly unforeseen?: readonly string[];
}

/** Allowed, or which permissions are needed and why not. */
export type Decision =
  | { readonly allowed: true }
  | { readonly allowed: false; readonly required: readonly string[]; readonly reason: string };

/** Port: what a principal may do and know. Expired and revoked tokens may nothing. */
export interface Authorizer {
  /** May it do what needs these permissions? All of them must hold. */
  authorize(principal: Principal, permissions: readonly string[]): Decision;
  /** Does it hold any grant on the resource of this permission, whatever the action? What it may not see does not exist for it. */
  canSee(principal: Principal, permission: string): boolean;
  /** Does it hold a grant for this permission (a template such as `device:control:{device_id}`) on some resource? */
  mayTry(principal: Principal, permission: string): boolean;
  /**
   * The same about what these other hubs have: there a device is of the type and in the area that its own hub tells, and what
   * a hub tells counts for nothing of any other. They decide themselves in the end. As itself when absent.
   */
  elsewhere?(hubs: () => readonly HubId[]): Authorizer;
}

/** The higher of two risks. */
export function maxRisk(a: Risk, b: Risk): Risk {
  const order: readonly Risk[] = ['none', 'low', 'medium', 'dangerous'];
  return order.indexOf(a) >= order.indexOf(b) ? a : b;
}

/** A call as the owner's rules see it: parsed values and canonical ids. */
export interface RuledCall {
  readonly principal: Principal;
  readonly toolId: string;
  /** Ids that the tool had before: a rule that names one of them means it. */
  readonly formerToolIds: readonly string[];
  readonly effects: readonly Effect[];
  readonly params: JsonObject;
}

/** What the owner's rules say. An `allow` never lifts the approval that a dangerous effect needs by itself. */
export type RuleVerdict =
  | { readonly kind: 'allow'; readonly rule?: string }
  | { readonly kind: 'deny'; readonly rule: string; readonly reason: string }
  | { readonly kind: 'approve'; readonly rule: string; readonly persons: number };

/** Port: the owner's rules over a call. */
export interface RuleEngine {
  judge(call: RuledCall): RuleVerdict;
}

/** Port: throws RATE_LIMITED, with `details.retry_after_ms`, when the principal or a token that its own comes from called too often. */
export interface RateLimiter {
  charge(principal: Principal): void;
}
