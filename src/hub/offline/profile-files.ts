import { basename, dirname } from 'node:path';
import type { DeviceDescription } from '../../core/devices/device-model.ts';
import { isJsonObject } from '../../core/json.ts';
import { PROFILES_DIR } from '../../core/package-files.ts';
import { standardCluster, standardClusterNames, standardDeviceTypes } from '../../matter/model/data-model.ts';
import { checkProfiles } from '../../profiles/check/check-profiles.ts';
import {
  loadProfiles,
  type RawProfileFile,
  readProfileDirectory,
  readProfileFile,
  readProfileSchemas,
} from '../../profiles/files/load-profiles.ts';
import { draftProfile } from '../../profiles/files/profile-draft.ts';
import type { DraftFile, ProfileProblem } from '../../profiles/files/profile-format.ts';

/** Checks the built-in profiles and the given files. Returns all mistakes. A given file replaces the built-in profile of the same name. */
export async function checkProfileFiles(paths: readonly string[]): Promise<readonly ProfileProblem[]> {
  const given = paths.map(readGivenFile);
  const isReplaced = (kind: string, id: string) => given.some((other) => other.kind === kind && other.id === id);
  const ours = readProfileDirectory(PROFILES_DIR).filter((file) => !isReplaced(file.kind, file.id));
  const model = { clusterNames: standardClusterNames(), cluster: standardCluster, deviceTypes: standardDeviceTypes() };
  return checkProfiles([...ours, ...given], readProfileSchemas(PROFILES_DIR), model);
}

/** Returns drafts of profile files for a device. */
export async function draftProfileFor(description: DeviceDescription): Promise<readonly DraftFile[]> {
  return draftProfile(description, loadProfiles(PROFILES_DIR));
}

function readGivenFile(path: string): RawProfileFile {
  const folder = basename(dirname(path));
  const file = readProfileFile(folder === 'capabilities' ? 'capabilities' : 'devices', path);
  // If the file is in neither folder, its content decides. Only a capability names its cluster.
  const isCapability = folder !== 'devices' && isJsonObject(file.content) && 'cluster' in file.content;
  return isCapability ? { ...file, kind: 'capabilities' } : file;
}
