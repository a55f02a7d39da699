import { join } from 'node:path';
import { AtmoError } from '../../core/errors.ts';
import type { TakenText } from '../../core/storage/owner-file.ts';
import { readOwnerFolder } from '../../core/storage/owner-folder.ts';
import type { CapabilityFile } from './capability-file.ts';
import type { DeviceFile } from './device-file.ts';
import { PROFILE_KINDS, parseProfile, profileFilesOf, profileNames, type RawProfileFile, readProfileDirectory } from './profile-files.ts';
import { ProfileSchemaCheck, readProfileSchemas } from './profile-schemas.ts';
import { matchKey, type ProfileFiles, ProfileSet } from './profile-set.ts';

/** The owner's own profile files. */
export interface OwnProfiles {
  readonly path: string;
  /** Where the texts that were taken last are kept. */
  readonly takenOf: (path: string) => TakenText;
  /** Is called where files are not as they were and what was taken of them last counts. */
  readonly onStale: (faults: readonly string[]) => void;
}

/**
 * The hub's profiles: its own directory, and the owner's on top. Our files were checked when the release was made, the
 * owner's are checked here: CONFIG_INVALID with file, path and fix where nothing was ever taken of the file. `bundled` takes the place
 * of our directory's files where they were packed into the program.
 */
export function loadProfiles(directory: string, options: { readonly own?: OwnProfiles; readonly bundled?: ProfileFiles } = {}): ProfileSet {
  const files = options.bundled ?? profileFilesOf(readProfileDirectory(directory));
  if (!options.own) return ProfileSet.fromFiles(files);
  const { contents, faults, keep } = readOwnProfiles(options.own, () => new ProfileSchemaCheck(readProfileSchemas(directory)));
  const added = profileFilesOf(contents);
  const set = ProfileSet.fromFiles({
    capabilities: { ...files.capabilities, ...added.capabilities },
    devices: { ...files.devices, ...added.devices },
  });
  keep();
  if (faults.length > 0) options.own.onStale(faults);
  return set;
}

/** What counts of the owner's files. `makeCheck` is called where there are any. */
export function readOwnProfiles({ path, takenOf }: Omit<OwnProfiles, 'onStale'>, makeCheck: () => ProfileSchemaCheck) {
  let check: ProfileSchemaCheck | undefined;
  const parse = (text: string, file: string): RawProfileFile => {
    const [kind] = PROFILE_KINDS.filter((one) => file.startsWith(join(path, one, '/')));
    const profile = parseProfile(kind ?? 'devices', file, text);
    check ??= makeCheck();
    const [problem] = check.problems(profile);
    if (problem) throw new AtmoError('CONFIG_INVALID', `${problem.file}${problem.pointer}: ${problem.problem}; ${problem.fix}`);
    return profile;
  };
  return readOwnerFolder({ path, names: profileNames(path), parse, subjectOf, takenOf });
}

/** Two files of devices may not match alike, and a cluster has one capability that is not a variant. */
function subjectOf({ kind, content }: RawProfileFile): string | undefined {
  if (kind === 'devices') return matchKey((content as DeviceFile).match);
  const { cluster, variant } = content as CapabilityFile;
  return variant ? undefined : cluster;
}
