import { AtmoError } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import { BluezAdapter } from './bluez-adapter.ts';
import { HubBle } from './hub-ble.ts';

/**
 * Bluetooth of this machine for `MatterNodeOptions.ble`; undefined, with a warning that says what is missing, where
 * there is none: a hub without Bluetooth still finds everything on the IP network.
 */
export async function openBle(
  logger: Logger,
  options: { readonly adapterName?: string; readonly busAddress?: string } = {},
): Promise<HubBle | undefined> {
  try {
    return new HubBle(await BluezAdapter.open(options));
  } catch (error) {
    if (!(error instanceof AtmoError)) throw error;
    logger.warn('matter.ble_unavailable', { reason: error.message });
    return undefined;
  }
}
