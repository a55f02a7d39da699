import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { AtmoError } from '../../core/errors.ts';
import { jsonFilesIn, parseJsonFile } from '../../core/files/file-system.ts';
import { type AcceptedText, type OwnerFolder, readOwnerFolder } from '../../core/files/owner-file.ts';
import type { JsonSchema } from '../../core/json.ts';
import type { CapabilityFile, DeviceFile, ProfileProblem } from './profile-format.ts';
import { matchKey, type ProfileFiles, ProfileSet } from './profile-set.ts';

/** The owner's profile files. */
export interface OwnProfiles {
  readonly path: string;
  /** Returns the storage for the last text that the hub accepted for the file at `path`. */
  readonly takenOf: (path: string) => AcceptedText;
  /** Called if files are missing or invalid. Their last accepted texts remain in use. */
  readonly onStale: (faults: readonly string[]) => void;
}

/**
 * Returns the hub's profiles, from `bundled` or else from the files in `directory`. An owner's file overrides the hub's file of the same
 * name. If an owner's file is invalid and no earlier text of it was accepted, throws CONFIG_INVALID with file, pointer and fix.
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

/** Returns the owner's files that are in use. Calls `makeCheck` once, for the first file. Without files, does not call it. */
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

/** Returns the key that no two files may share: the match of a device file, or the cluster of a capability file. A variant has no key. */
function subjectOf({ kind, content }: RawProfileFile): string | undefined {
  if (kind === 'devices') return matchKey((content as DeviceFile).match);
  const { cluster, variant } = content as CapabilityFile;
  return variant ? undefined : cluster;
}

const PROFILE_KINDS = ['capabilities', 'devices'] as const;

/** A profile file before any check. */
export interface RawProfileFile {
  readonly kind: (typeof PROFILE_KINDS)[number];
  /** File name without `.json`. */
  readonly id: string;
  readonly path: string;
  readonly content: unknown;
}

/** Returns all files of a profile directory, or an empty list if it does not exist. Throws CONFIG_INVALID if a file is not JSON. */
export function readProfileDirectory(directory: string): readonly RawProfileFile[] {
  return PROFILE_KINDS.flatMap((kind) =>
    jsonFilesIn(join(directory, kind)).map((name) => readProfileFile(kind, join(directory, kind, name))),
  );
}

/** Reads one profile file of the given kind. Throws CONFIG_INVALID if the file is not JSON. */
export function readProfileFile(kind: RawProfileFile['kind'], path: string): RawProfileFile {
  return { kind, id: basename(path, '.json'), path, content: parseJsonFile(path) };
}

/** Returns checked files in the form that ProfileSet takes; a later file replaces an earlier file with the same id. */
export function profileFilesOf(files: readonly RawProfileFile[]): ProfileFiles {
  const of = (kind: RawProfileFile['kind']) =>
    Object.fromEntries(files.filter((file) => file.kind === kind).map((file) => [file.id, file.content]));
  return { capabilities: of('capabilities'), devices: of('devices') } as ProfileFiles;
}

/** The JSON Schemas of the two kinds of profile files. */
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

/** Validates profile files against their JSON Schemas. */
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
