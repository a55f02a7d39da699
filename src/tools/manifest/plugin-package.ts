import { createHash } from 'node:crypto';
import { existsSync, lstatSync, readdirSync, readFileSync, readlinkSync, realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { AtmoError, invalidConfig } from '../../core/errors.ts';
import { isWithin } from '../../core/files/file-system.ts';
import { isJsonObject } from '../../core/json.ts';
import { requireOwn, trustedPath } from './record-file.ts';

/** Matches the name of a package in the npm registry, but no relative path and no `node:` module. */
const PACKAGE_NAME = /^(?:@[a-z0-9][\w.-]*\/)?[a-z0-9][\w.-]*$/i;
const MODULES = 'node_modules';
const MAX_FILES = 5_000;
const MAX_BYTES = 64 * 1_048_576;
/** Fields of package.json with the packages that the code may load. */
const DEPENDENCIES = ['dependencies', 'optionalDependencies', 'peerDependencies'];

/**
 * A plugin package that the owner installed beside the manifest, together with its dependencies. The constructor records the state of all
 * files, so that `requireUnchanged` detects later changes. Unlike Node.js, the class looks for packages in no other folder.
 */
export class PluginPackage {
  readonly file: string;
  /** SHA-256 over the names and contents of all files (`sha256-…` in base64, as in Subresource Integrity). */
  readonly integrity: string;
  readonly #name: string;
  readonly #folders: readonly string[];
  readonly #uid: number;
  readonly #marks: string;

  /**
   * Throws CONFIG_INVALID in these cases: the package is not in the folder `node_modules` beside the manifest; a link leads out of
   * this folder or out of the package; the package's files are too many or too large; users other than `uid` and root can write them.
   */
  constructor(name: string, { manifest, uid }: { readonly manifest: string; readonly uid: number }) {
    const modules = join(dirname(manifest), MODULES);
    this.#name = name;
    this.#uid = uid;
    this.file = trustedPath(entryFile(name, { manifest, modules }), uid);
    this.#folders = foldersOf(name, realpathSync(modules));
    const paths = this.#paths();
    this.#marks = fileMarks(paths);
    this.integrity = integrityOf(paths, realpathSync(modules));
  }

  /** Throws CONFLICT if a file has changed since construction. */
  requireUnchanged(): void {
    if (fileMarks(this.#paths()) === this.#marks) return;
    throw new AtmoError(
      'CONFLICT',
      `The files of the plugin ${this.#name} have changed since the hub loaded it; restart the hub to take them`,
    );
  }

  #paths(): readonly string[] {
    const paths: string[] = [];
    for (const folder of this.#folders) {
      trustedPath(folder, this.#uid);
      for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) paths.push(join(entry.parentPath, entry.name));
      if (paths.length > MAX_FILES)
        throw invalidConfig(`the plugin ${this.#name} has more than ${MAX_FILES} files with what it depends on`);
    }
    for (const path of paths) this.#requireOwn(path);
    return paths.sort();
  }

  /** Throws CONFIG_INVALID if other users can write the path. Also refuses a link out of the package, since its target is not checked. */
  #requireOwn(path: string): void {
    const stat = lstatSync(path);
    requireOwn(path, stat, { uid: this.#uid });
    if (!stat.isSymbolicLink()) return;
    const target = existsSync(path) ? realpathSync(path) : '';
    if (this.#folders.some((folder) => isWithin(target, folder))) return;
    throw invalidConfig(`${path} is a link out of the plugin ${this.#name}; install the package itself`);
  }
}

/** Returns the file that Node loads for the package. Throws CONFIG_INVALID if it is not in the package folder beside the manifest. */
function entryFile(name: string, { manifest, modules }: { readonly manifest: string; readonly modules: string }): string {
  const folder = join(modules, name);
  if (!PACKAGE_NAME.test(name) || !existsSync(folder)) {
    throw invalidConfig(`there is no package ${name} in ${modules}; install it with: npm install --prefix ${dirname(manifest)} ${name}`);
  }
  if (!isWithin(realpathSync(folder), realpathSync(modules))) {
    throw invalidConfig(`${folder} is a link to a folder elsewhere; install the package itself: npm install --install-links`);
  }
  const file = resolved(name, manifest);
  if (file !== undefined && isWithin(file, realpathSync(folder))) return file;
  throw invalidConfig(
    `the package ${name} in ${modules} has no file that could be loaded; its package.json has to name one in main or exports`,
  );
}

function resolved(name: string, manifest: string): string | undefined {
  try {
    return realpathSync(createRequire(manifest).resolve(name));
  } catch {
    return undefined;
  }
}

/** Returns the folders of the package and of its dependencies beside it. */
function foldersOf(name: string, modules: string): readonly string[] {
  const found = new Set([realpathSync(join(modules, name))]);
  for (const folder of found) {
    for (const dependency of dependenciesIn(folder)) {
      const inside = join(folder, MODULES, dependency);
      const beside = join(modules, dependency);
      if (!PACKAGE_NAME.test(dependency) || existsSync(inside) || !existsSync(beside)) continue;
      const real = realpathSync(beside);
      if (!isWithin(real, modules)) throw invalidConfig(`${beside} is a link to a folder elsewhere; install the package itself`);
      found.add(real);
    }
  }
  return [...found];
}

/** Returns the names of the dependencies of a package and of the packages nested in it. */
function dependenciesIn(folder: string): readonly string[] {
  const inside = join(folder, MODULES);
  const names = foldersIn(inside).flatMap((name) => (name.startsWith('@') ? packagesOfScope(inside, name) : [name]));
  return [...ownDependencies(folder), ...names.flatMap((name) => dependenciesIn(join(inside, name)))];
}

function packagesOfScope(folder: string, scope: string): readonly string[] {
  return foldersIn(join(folder, scope)).map((name) => `${scope}/${name}`);
}

function foldersIn(folder: string): readonly string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => (entry.isDirectory() ? [entry.name] : []));
}

function ownDependencies(folder: string): readonly string[] {
  try {
    const declared: unknown = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    if (!isJsonObject(declared)) return [];
    return DEPENDENCIES.flatMap((member) => (isJsonObject(declared[member]) ? Object.keys(declared[member]) : []));
  } catch {
    // A package without a readable package.json has no dependencies.
    return [];
  }
}

/** Returns a hash of the metadata of files: inodes, modes, sizes and change times (ctime). No program can set a file's ctime. */
function fileMarks(paths: readonly string[]): string {
  const hash = createHash('sha256');
  for (const path of paths) {
    const { dev, ino, mode, size, ctimeNs } = lstatSync(path, { bigint: true });
    hash.update(JSON.stringify([path, ...[dev, ino, mode, size, ctimeNs].map(String)]));
  }
  return hash.digest('hex');
}

function integrityOf(paths: readonly string[], modules: string): string {
  const hash = createHash('sha256');
  let bytes = 0;
  for (const path of paths) {
    const stat = lstatSync(path);
    bytes += stat.isFile() ? stat.size : 0;
    if (bytes > MAX_BYTES) throw invalidConfig(`the files of the plugin below ${modules} are longer than ${MAX_BYTES} bytes`);
    const content = stat.isFile() ? readFileSync(path) : stat.isSymbolicLink() ? readlinkSync(path) : '';
    const digest = createHash('sha256').update(content).digest('hex');
    if (!stat.isDirectory()) hash.update(JSON.stringify([relative(modules, path), digest]));
  }
  return `sha256-${hash.digest('base64')}`;
}
