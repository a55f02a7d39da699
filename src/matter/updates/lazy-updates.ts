import '../matter-platform.ts';
import { Crypto } from '@matter/main';
import { lazy } from '../../core/lazy.ts';
import type { Clock } from '../../core/time/clock.ts';
import type { MatterDevices } from '../devices/matter-devices.ts';
import type { MatterNode } from '../matter-node.ts';
import type { SoftwareUpdates } from './software-updates.ts';

interface LazyUpdatesParts {
  readonly devices: MatterDevices;
  readonly matter: MatterNode;
  readonly clock: Clock;
  readonly updatesDir: string;
}

/** Software updates, loaded when they are first asked for; the node has to run by then. */
export function lazyUpdates({ devices, matter, clock, updatesDir }: LazyUpdatesParts): () => Promise<SoftwareUpdates> {
  return lazy(async () => {
    const [{ SoftwareUpdates }, { ImageFolder }] = await Promise.all([import('./software-updates.ts'), import('./image-folder.ts')]);
    return new SoftwareUpdates({ devices, matter, clock, folder: new ImageFolder(updatesDir, matter.node.env.get(Crypto)) });
  });
}
