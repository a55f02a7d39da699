import { networkInterfaces } from 'node:os';
import { AtmoError } from '../core/errors.ts';

/**
 * Throws SERVICE_UNAVAILABLE if the configured network interface is missing or has no address. matter.js would report only that mDNS
 * failed. The error is not CONFIG_INVALID: after that error the service would stay down, but the interface may come up later.
 */
export function requireInterface(name: string, interfaces: ReturnType<typeof networkInterfaces> = networkInterfaces()): void {
  if (interfaces[name] !== undefined) return;
  const others = Object.entries(interfaces).flatMap(([other, addresses]) => (addresses?.some(({ internal }) => !internal) ? [other] : []));
  const choice = others.length > 0 ? `there ${others.length === 1 ? 'is' : 'are'} ${others.join(', ')}` : 'there is none at all';
  throw new AtmoError(
    'SERVICE_UNAVAILABLE',
    `This machine has no network interface "${name}" with an address; ${choice}. Correct matter.interface, or ATMO_MATTER_INTERFACE where that is set`,
  );
}
