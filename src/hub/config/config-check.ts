import { existsSync, readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { AtmoError } from '../../core/errors.ts';
import { isWithin, realPath } from '../../core/files/file-system.ts';
import { defaultStateDirectory } from '../../storage/state-directory.ts';
import { parseRecordFile, type RecordFile } from '../../tools/manifest/record-file.ts';
import { manifestEntries } from '../../tools/manifest/tool-manifest.ts';
import { configFileOf, type Environment, filesOutsideState, type HubConfig, loadConfig, missingPaths } from './config.ts';
import type { MemoryProfileName } from './memory-profile.ts';

/** Checks a configuration file and its tool manifest without loading code. Without `given`, checks the file that the hub would read. */
export async function checkConfigFile(env: Environment, given?: string): Promise<{ readonly file: string; readonly problem?: string }> {
  const stateDir = defaultStateDirectory(env);
  if (given !== undefined && !existsSync(given)) return { file: given, problem: `${given} does not exist` };
  const wanted = given === undefined ? env : { ...env, ATMO_CONFIG: given };
  let file = given ?? 'built-in defaults';
  try {
    file = configFileOf(wanted, stateDir) ?? file;
    const config = loadConfig(wanted, stateDir);
    requireProtectedFiles(config, wanted);
    const [missing] = missingPaths(config);
    if (missing !== undefined) return { file, problem: missing };
    const { manifestFile } = config.tools;
    if (!existsSync(manifestFile)) return { file };
    const [mistake] = manifestEntries(parseRecordFile(readFileSync(manifestFile, 'utf8'), manifestFile)).leftOut;
    return { file, ...(mistake && { problem: `${mistake.place}: ${mistake.problem}` }) };
  } catch (error) {
    if (error instanceof AtmoError && error.code === 'CONFIG_INVALID') return { file, problem: error.message };
    throw error;
  }
}

/** Drop-in of the service that sets the profile `small` (docs/small-boards.md). */
const SMALL_DROP_IN = '/etc/systemd/system/atmosphere-edge.service.d/small.conf';

/**
 * Returns the memory profile with which the hub starts here; undefined if the configuration has a mistake or cannot be read. The variable of
 * the service's drop-in is not in the environment of other programs.
 */
export function configuredMemory(env: Environment, dropIn = SMALL_DROP_IN): MemoryProfileName | undefined {
  if (!env.ATMO_MEMORY && existsSync(dropIn)) return 'small';
  try {
    return loadConfig(env, defaultStateDirectory(env)).memory.name;
  } catch (error) {
    if (error instanceof AtmoError && error.code === 'CONFIG_INVALID') return undefined;
    throw error;
  }
}

/** A folder in the configuration that agents or their programs may use. */
interface ExposedFolder {
  readonly setting: string;
  readonly path: string;
  readonly isWritable: boolean;
}

/**
 * Throws CONFIG_INVALID if agents or their programs may use a folder with the hub's configuration, rules, manifest or keys, or may write in
 * a folder with code that the manifest loads. If the manifest has mistakes, pass its last valid version as `manifest`.
 */
export function requireProtectedFiles(
  config: HubConfig,
  env: Readonly<Record<string, string | undefined>>,
  manifest = manifestAt(config.tools.manifestFile),
): void {
  const folders = openFolders(config);
  if (folders.length === 0) return;
  const own = filesOutsideState(env, config.stateDir, config);
  const code = folders.some(({ isWritable }) => isWritable) ? codeFiles(config.tools.manifestFile, manifest) : [];
  for (const { setting, path, isWritable } of folders) {
    const folder = realPath(path);
    const held = [...own, ...(isWritable ? code : [])].find((file) => isWithin(realPath(file), folder));
    if (held === undefined) continue;
    const problem = `${setting} opens ${path}, where ${held} lies, a file that the hub itself works with; move one of them elsewhere`;
    throw new AtmoError('CONFIG_INVALID', problem);
  }
}

function openFolders({ connectors: { files, sandbox } }: HubConfig): readonly ExposedFolder[] {
  const roots = Object.entries(files?.roots ?? {}).map(([name, { path, writable }]) => {
    return { setting: `connectors.files.roots.${name}`, path, isWritable: writable };
  });
  const powers = Object.entries(sandbox.powers).flatMap(([name, { read, write }]) => {
    const setting = `connectors.sandbox.powers.${name}`;
    return [...read.map((path) => ({ setting, path, isWritable: false })), ...write.map((path) => ({ setting, path, isWritable: true }))];
  });
  return [...roots, ...powers];
}

/** Returns the manifest; undefined if it is missing or has mistakes. The mistakes are reported later, when the manifest is loaded. */
function manifestAt(path: string): RecordFile | undefined {
  try {
    return existsSync(path) ? parseRecordFile(readFileSync(path, 'utf8'), path) : undefined;
  } catch {
    return undefined;
  }
}

/** Returns the files and packages whose code the hub loads or interprets. */
function codeFiles(path: string, manifest: RecordFile | undefined): readonly string[] {
  if (!manifest) return [];
  const folder = dirname(path);
  return manifestEntries(manifest).entries.flatMap(({ entry: { source } }) => {
    if (source.kind === 'plugin') return [resolve(folder, 'node_modules', source.target)];
    return ['file', 'js', 'wasm'].includes(source.kind) ? [resolve(folder, source.target)] : [];
  });
}
