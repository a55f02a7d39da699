import { networkInterfaces } from 'node:os';
import { AtmoError } from '../core/errors.ts';

/**
 * SERVICE_UNAVAILABLE when the network interface of the configuration is not there or has no address: matter.js would only say that its
 * mDNS failed. No CONFIG_INVALID, after which the service stays down: an interface may come later than the hub.
 */
export function requireInterface(name: string, present: ReturnType<typeof networkInterfaces> = networkInterfaces()): void {
  if (present[name] !== undefined) return;
  const others = Object.entries(present).flatMap(([other, addresses]) => (addresses?.some(({ internal }) => !internal) ? [other] : []));
  const choice = others.length > 0 ? `there ${others.length === 1 ? 'is' : 'are'} ${others.join(', ')}` : 'there is none at all';
  throw new AtmoError(
    'SERVICE_UNAVAILABLE',
    `This machine has no network interface "${name}" with an address; ${choice}. Correct matter.interface, or ATMO_MATTER_INTERFACE where that is set`,
  );
}
