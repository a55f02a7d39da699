import type { Risk } from '../../core/access/authorizer.ts';
import type { Privilege } from '../../core/devices/device-model.ts';

const RISK: Readonly<Record<Privilege, Risk>> = { view: 'none', operate: 'medium', manage: 'medium', administer: 'dangerous' };

/** Risk of an element of which no profile says more: what the specification asks for as privilege. */
export function privilegeRisk(privilege: Privilege): Risk {
  return RISK[privilege];
}
