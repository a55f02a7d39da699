import type { DeviceId, HubId } from '../ids.ts';
import type { JsonObject } from '../json.ts';
import type { Principal } from './principal.ts';

/** The harm that an effect can do; `dangerous` needs the approval of a person. */
export type Risk = 'none' | 'low' | 'medium' | 'dangerous';

/** One effect of a call, on canonical ids. Risk and permission belong to the effect, not to the tool. */
export interface Effect {
  /** Permission that this effect needs, such as `device:control:kitchen-light`. */
  readonly permission: string;
  readonly risk: Risk;
  /** `<device id>/<endpoint>/<cluster>/<command or attribute>`, or another name of the thing affected. */
  readonly target: string;
  /** Device that is affected. */
  readonly device?: DeviceId;
  /** Values that it sets, by the names and in the units of the device's tools (°C, %): `{heating_setpoint: 21.5}`. */
  readonly values?: JsonObject;
  /** Names of values whose new content is not known before the call runs; a rule about one of them assumes the worst. */
  readonly unforeseen?: readonly string[];
}

/** A program that a call starts. */
export interface PlannedProgram {
  /** A command, an image of a container, a module of JavaScript, or an interpreted script. */
  readonly kind: 'cmd' | 'image' | 'module' | 'script';
  readonly program: string;
  /** With placeholders such as `{file}` where the parameters are not known yet. */
  readonly args: readonly string[];
  readonly cwd?: string;
  /** Powers that the owner granted it, by name and in words. Without any it reaches nothing of the home. */
  readonly powers: readonly { readonly name: string; readonly allows: readonly string[] }[];
  /** Digests of its code and of the writable files among its arguments. */
  readonly versions: readonly string[];
}

/** The decision of an authorizer; a denial names the missing permissions and the reason. */
export type Decision =
  | { readonly allowed: true }
  | { readonly allowed: false; readonly required: readonly string[]; readonly reason: string };

/** Port: decides what a principal may do and see. Expired and revoked tokens grant nothing. */
export interface Authorizer {
  /** Allows the principal an action that needs all of these permissions, or denies it. */
  authorize(principal: Principal, permissions: readonly string[]): Decision;
  /** True when the principal holds a grant for any action on the resource of this permission; other resources do not exist for it. */
  canSee(principal: Principal, permission: string): boolean;
  /** True when the principal holds this permission (a template such as `device:control:{device_id}`) on some resource. */
  mayTry(principal: Principal, permission: string): boolean;
  /**
   * An authorizer for the resources of other hubs, which decide for themselves in the end: each device has the type and area that its
   * own hub announces. The same authorizer decides when the method is absent.
   */
  elsewhere?(hubs: () => readonly HubId[]): Authorizer;
}

const RISKS: readonly Risk[] = ['none', 'low', 'medium', 'dangerous'];

/** The highest of the risks. */
export function maxRisk(...risks: readonly Risk[]): Risk {
  return RISKS.findLast((risk) => risks.includes(risk)) ?? 'none';
}

/** A call as the owner's rules judge it, with parsed values and canonical ids. */
export interface RuledCall {
  readonly principal: Principal;
  readonly toolId: string;
  /** Ids that the tool had before; a rule that names one of them applies. */
  readonly formerToolIds: readonly string[];
  readonly effects: readonly Effect[];
  readonly params: JsonObject;
}

/** The verdict of the owner's rules. An `allow` never lifts the approval that a dangerous effect needs by itself. */
export type RuleVerdict =
  | { readonly kind: 'allow'; readonly rule?: string }
  | { readonly kind: 'deny'; readonly rule: string; readonly reason: string }
  | { readonly kind: 'approve'; readonly rule: string; readonly persons: number };

/** Port: judges a call by the owner's rules. */
export interface RuleEngine {
  judge(call: RuledCall): RuleVerdict;
}

/** Port: limits the rate of calls. */
export interface RateLimiter {
  /** Throws RATE_LIMITED, with `details.retry_after_ms`, when the principal or an ancestor of its token called too often. */
  charge(principal: Principal): void;
}
