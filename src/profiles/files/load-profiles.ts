import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { AtmoError } from '../../core/errors.ts';
import { jsonFilesIn, parseJsonFile } from '../../core/files/file-system.ts';
import { type AcceptedText, type OwnerFolder, readOwnerFolder } from '../../core/files/owner-file.ts';
import type { JsonSchema } from '../../core/json.ts';
import type { CapabilityFile, DeviceFile, ProfileProblem } from './profile-format.ts';
import { matchKey, type ProfileFiles, ProfileSet } from './profile-set.ts';

/** The owner's own profile files. */
export interface OwnProfiles {
  readonly path: string;
  /** Stores the texts that were accepted last. */
  readonly takenOf: (path: string) => AcceptedText;
  /** Is called when files are missing or have mistakes, so that their accepted texts stay in force. */
  readonly onStale: (faults: readonly string[]) => void;
}

/**
 * Returns the hub's profiles, with the owner's in place of those of the same name. The hub's files are checked for each release, the
 * owner's here: CONFIG_INVALID with file, path and fix for a file of which no text was ever accepted. `bundled` replaces the files of the
 * directory where they are packed into the program.
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

/** Returns the owner's files that are in force. `makeCheck` is called when there are any. */
export function readOwnProfiles(
  { path, takenOf }: Omit<OwnProfiles, 'onStale'>,
  makeCheck: () => ProfileSchemaCheck,
): OwnerFolder<RawProfileFile> {
  let check: ProfileSchemaCheck | undefined;
  const parse = (content: unknown, file: string): RawProfileFile => {
    const kind = PROFILE_KINDS.find((one) => file.startsWith(join(path, one, '/'))) ?? 'devices';
    const profile = { kind, id: basename(file, '.json'), path: file, content };
    check ??= makeCheck();
    const [problem] = check.problems(profile);
    if (problem) throw new AtmoError('CONFIG_INVALID', `${problem.file}${problem.pointer}: ${problem.problem}; ${problem.fix}`);
    return profile;
  };
  const names = PROFILE_KINDS.flatMap((kind) => jsonFilesIn(join(path, kind)).map((name) => join(kind, name)));
  return readOwnerFolder({ path, names, parse, subjectOf, takenOf });
}

/** Two device files may not match the same devices, and a cluster has one capability that is not a variant. */
function subjectOf({ kind, content }: RawProfileFile): string | undefined {
  if (kind === 'devices') return matchKey((content as DeviceFile).match);
  const { cluster, variant } = content as CapabilityFile;
  return variant ? undefined : cluster;
}

const PROFILE_KINDS = ['capabilities', 'devices'] as const;

/** One profile file, unchecked. */
export interface RawProfileFile {
  readonly kind: (typeof PROFILE_KINDS)[number];
  /** File name without `.json`. */
  readonly id: string;
  readonly path: string;
  readonly content: unknown;
}

/** Returns all files of a profile directory; none when it does not exist. CONFIG_INVALID names a file that is not JSON. */
export function readProfileDirectory(directory: string): readonly RawProfileFile[] {
  return PROFILE_KINDS.flatMap((kind) =>
    jsonFilesIn(join(directory, kind)).map((name) => readProfileFile(kind, join(directory, kind, name))),
  );
}

/** Reads one file; the kind is the name of its folder. */
export function readProfileFile(kind: RawProfileFile['kind'], path: string): RawProfileFile {
  return { kind, id: basename(path, '.json'), path, content: parseJsonFile(path) };
}

/** Checked files in the form that ProfileSet takes; later files replace earlier ones of the same id. */
export function profileFilesOf(files: readonly RawProfileFile[]): ProfileFiles {
  const of = (kind: RawProfileFile['kind']) =>
    Object.fromEntries(files.filter((file) => file.kind === kind).map((file) => [file.id, file.content]));
  return { capabilities: of('capabilities'), devices: of('devices') } as ProfileFiles;
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
