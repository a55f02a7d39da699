import './matter-platform.ts';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ClusterModel } from '@matter/model';
import type { AttestationPolicy } from '../core/devices/device-administration.ts';
import { AtmoError } from '../core/errors.ts';
import { openBle } from './ble/open-ble.ts';
import { requireInterface } from './matter-interface.ts';
import { MatterRoom, type MatterRoomCollaborators } from './matter-room.ts';
import { manufacturerModel } from './model/manufacturer-models.ts';

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
 * The Matter room as the owner configured it. CONFIG_INVALID names a model file with a mistake, SERVICE_UNAVAILABLE a network interface
 * that is not there.
 */
export async function openMatterRoom(collaborators: MatterRoomCollaborators, settings: MatterSettings): Promise<MatterRoom> {
  const { stateDir, attestation, isBleEnabled, clusterModelsDir, updatesDir } = settings;
  if (settings.interface !== undefined) requireInterface(settings.interface);
  const ble = isBleEnabled ? await openBle(collaborators.logger) : undefined;
  const node = {
    stateDir,
    clusters: readClusterModels(clusterModelsDir),
    ...(settings.interface !== undefined && { interface: settings.interface }),
    ...(ble && { ble }),
  };
  return new MatterRoom(collaborators, { node, commissioning: { attestation }, updatesDir });
}

function readClusterModels(directory: string): readonly ClusterModel[] {
  if (!existsSync(directory)) return [];
  const files = readdirSync(directory).filter((name) => name.endsWith('.json'));
  return files.toSorted().map((name) => readClusterModel(join(directory, name)));
}

function readClusterModel(path: string): ClusterModel {
  try {
    return manufacturerModel(JSON.parse(readFileSync(path, 'utf8')), path);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new AtmoError('CONFIG_INVALID', `${path} is no JSON: ${error.message}`);
  }
}
