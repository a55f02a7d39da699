import { AtmoError } from '../../core/errors.ts';
import { profileFilesOf, readProfileDirectory } from './profile-files.ts';
import { ProfileSchemaCheck, readProfileSchemas } from './profile-schemas.ts';
import { type ProfileFiles, ProfileSet } from './profile-set.ts';

/**
 * The hub's profiles: its own directory, and the owner's on top. Our files were checked when the release was made, the
 * owner's are checked here: CONFIG_INVALID with file, path and fix. `bundled` takes the place of our directory's files
 * where they were packed into the program.
 */
export function loadProfiles(directory: string, options: { readonly own?: string; readonly bundled?: ProfileFiles } = {}): ProfileSet {
  const files = options.bundled ?? profileFilesOf(readProfileDirectory(directory));
  const own = options.own === undefined ? [] : readProfileDirectory(options.own);
  if (own.length === 0) return ProfileSet.fromFiles(files);
  const check = new ProfileSchemaCheck(readProfileSchemas(directory));
  const [problem] = own.flatMap((file) => check.problems(file));
  if (problem) throw new AtmoError('CONFIG_INVALID', `${problem.file}${problem.pointer}: ${problem.problem}; ${problem.fix}`);
  const added = profileFilesOf(own);
  return ProfileSet.fromFiles({
    capabilities: { ...files.capabilities, ...added.capabilities },
    devices: { ...files.devices, ...added.devices },
  });
}
