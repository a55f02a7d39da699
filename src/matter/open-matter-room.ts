import './matter-platform.ts';
import type { AttestationPolicy } from '../core/devices/device-administration.ts';
import type { TakenText } from '../core/storage/owner-file.ts';
import { tellStaleFolder } from '../core/storage/owner-folder.ts';
import { openBle } from './ble/open-ble.ts';
import { requireInterface } from './matter-interface.ts';
import { MatterRoom, type MatterRoomCollaborators } from './matter-room.ts';
import { readClusterModels } from './model/cluster-model-files.ts';

/** What the owner sets about Matter. */
export interface MatterSettings {
  readonly stateDir: string;
  readonly interface?: string;
  readonly attestation: AttestationPolicy;
  readonly isBleEnabled: boolean;
  readonly clusterModelsDir: string;
  readonly updatesDir: string;
}

/**
 * The Matter room as the owner configured it. CONFIG_INVALID names a model file with a mistake of which nothing was ever taken,
 * SERVICE_UNAVAILABLE a network interface that is not there.
 */
export async function openMatterRoom(
  { takenOf, ...collaborators }: MatterRoomCollaborators & { readonly takenOf: (path: string) => TakenText },
  settings: MatterSettings,
): Promise<MatterRoom> {
  const { stateDir, attestation, isBleEnabled, clusterModelsDir, updatesDir } = settings;
  if (settings.interface !== undefined) requireInterface(settings.interface);
  const ble = isBleEnabled ? await openBle(collaborators.logger) : undefined;
  const { contents, faults, keep } = readClusterModels(clusterModelsDir, takenOf);
  keep();
  tellStaleFolder(collaborators, { path: clusterModelsDir, faults });
  const node = {
    stateDir,
    clusters: contents,
    ...(settings.interface !== undefined && { interface: settings.interface }),
    ...(ble && { ble }),
  };
  return new MatterRoom(collaborators, { node, commissioning: { attestation }, updatesDir });
}
