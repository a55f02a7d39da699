import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { AtmoError, systemCode } from '../../core/errors.ts';
import { type AcceptedText, type OwnerFolder, readOwnerFolder } from '../../core/files/owner-file.ts';
import type { JsonSchema } from '../../core/json.ts';
import type { ProfileProblem } from '../check/profile-problem.ts';
import type { CapabilityFile, DeviceFile } from './profile-format.ts';
import { matchKey, type ProfileFiles, ProfileSet } from './profile-set.ts';

/** The owner's own profile files. */
export interface OwnProfiles {
  readonly path: string;
  /** Where the texts that were taken last are kept. */
  readonly takenOf: (path: string) => AcceptedText;
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
export function readOwnProfiles(
  { path, takenOf }: Omit<OwnProfiles, 'onStale'>,
  makeCheck: () => ProfileSchemaCheck,
): OwnerFolder<RawProfileFile> {
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

const PROFILE_KINDS = ['capabilities', 'devices'] as const;

/** One profile file as it lies on the disk, unchecked. */
export interface RawProfileFile {
  readonly kind: (typeof PROFILE_KINDS)[number];
  /** File name without `.json`. */
  readonly id: string;
  readonly path: string;
  readonly content: unknown;
}

/** All files of a profile directory; none when it does not exist. CONFIG_INVALID names a file that is no JSON. */
export function readProfileDirectory(directory: string): readonly RawProfileFile[] {
  return PROFILE_KINDS.flatMap((kind) => namesIn(join(directory, kind)).map((name) => readProfileFile(kind, join(directory, kind, name))));
}

/** Paths of all files of a profile directory, below it. */
function profileNames(directory: string): readonly string[] {
  return PROFILE_KINDS.flatMap((kind) => namesIn(join(directory, kind)).map((name) => join(kind, name)));
}

/** One file; the kind is its folder's name. */
export function readProfileFile(kind: RawProfileFile['kind'], path: string): RawProfileFile {
  try {
    return parseProfile(kind, path, readFileSync(path, 'utf8'));
  } catch (error) {
    throw error instanceof AtmoError ? error : noJson(path, error);
  }
}

/** The text of a file. CONFIG_INVALID names a file that is no JSON. */
function parseProfile(kind: RawProfileFile['kind'], path: string, text: string): RawProfileFile {
  const id = path.replace(/^.*[/\\]/, '').replace(/\.json$/, '');
  try {
    return { kind, id, path, content: JSON.parse(text) };
  } catch (error) {
    throw noJson(path, error);
  }
}

function noJson(path: string, error: unknown): AtmoError {
  const reason = error instanceof Error ? error.message : 'unknown reason';
  return new AtmoError('CONFIG_INVALID', `${path} cannot be read as JSON: ${reason}`);
}

/** Files that were checked before, as the form that ProfileSet takes; later files replace earlier ones of the same id. */
export function profileFilesOf(files: readonly RawProfileFile[]): ProfileFiles {
  const of = (kind: RawProfileFile['kind']) =>
    Object.fromEntries(files.filter((file) => file.kind === kind).map((file) => [file.id, file.content]));
  return { capabilities: of('capabilities'), devices: of('devices') } as ProfileFiles;
}

function namesIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory)
      .filter((name) => name.endsWith('.json'))
      .sort();
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return [];
    throw error;
  }
}

/** The two schemas of profile files. */
export interface ProfileSchemas {
  readonly capability: JsonSchema;
  readonly device: JsonSchema;
}

/** Reads `capability.schema.json` and `device.schema.json` from the profile directory. */
export function readProfileSchemas(directory: string): ProfileSchemas {
  const read = (name: string): JsonSchema => JSON.parse(readFileSync(join(directory, name), 'utf8')) as JsonSchema;
  return { capability: read('capability.schema.json'), device: read('device.schema.json') };
}

const FIXES: Readonly<Record<string, string>> = {
  additionalProperties: 'remove it or correct its spelling',
  required: 'add it',
};

/** Checks files against their schemas: spelling and form. */
export class ProfileSchemaCheck {
  readonly #validators: Readonly<Record<RawProfileFile['kind'], ValidateFunction>>;

  constructor(schemas: ProfileSchemas) {
    const ajv = new Ajv2020({ allErrors: true, strict: false });
    this.#validators = { capabilities: ajv.compile(schemas.capability), devices: ajv.compile(schemas.device) };
  }

  problems(file: RawProfileFile): readonly ProfileProblem[] {
    const validate = this.#validators[file.kind];
    if (validate(file.content)) return [];
    return (validate.errors ?? []).map((error) => ({
      file: file.path,
      pointer: error.instancePath,
      problem: `${error.message ?? 'does not fit the schema'}${detailOf(error.params)}`,
      fix: FIXES[error.keyword] ?? 'see the JSON schemas in device-profiles',
    }));
  }
}

function detailOf(params: Record<string, unknown>): string {
  const { additionalProperty, allowedValues, propertyName } = params;
  if (typeof additionalProperty === 'string') return `: ${JSON.stringify(additionalProperty)}`;
  if (Array.isArray(allowedValues)) return `: ${allowedValues.join(', ')}`;
  return typeof propertyName === 'string' ? `: ${JSON.stringify(propertyName)}` : '';
}
