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
}

/** Allowed, or which permissions are needed and why not. */
export type Decision =
  | { readonly allowed: true }
  | { readonly allowed: false; readonly required: readonly string[]; readonly reason: string };

/** Port: may this principal do what needs these permissions? All of them must hold. */
export interface Authorizer {
  authorize(principal: Principal, permissions: readonly string[]): Decision;
}

/** The higher of two risks. */
export function maxRisk(a: Risk, b: Risk): Risk {
  const order: readonly Risk[] = ['none', 'low', 'medium', 'dangerous'];
  return order.indexOf(a) >= order.indexOf(b) ? a : b;
}
