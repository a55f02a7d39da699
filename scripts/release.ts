/**
 * Builds everything that a release consists of: `npm run release -- --key KEY [--outdir DIR] [--step NAME] [--try]`. KEY is a file with the
 * owner's secret OpenPGP key, or the id of a key in the keyring. `--step`, once or more, runs these steps alone on what earlier steps made
 * in DIR from the same commit. `--try` takes a checkout with changes, too. The same commit gives the same bytes, apart from signatures. docs/releasing.md says what to
 * do with them.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { AtmoError } from '../src/core/errors.ts';
import { ROOT } from './bundle.ts';
import { runTool } from './network-lab/run-tool.ts';
import { writeAptRepository } from './package/apt-repository.ts';
import { buildClientBundle } from './package/client-bundle.ts';
import { buildClientPackage } from './package/client-package.ts';
import { renewBase } from './package/container-base.ts';
import { writeContainerImage } from './package/container-image.ts';
import { ARCHITECTURES, debianArchitecture } from './package/debian-architecture.ts';
import { buildDebianPackage, type PackageOptions, packageFile, versionOfCheckout } from './package/debian-package.ts';
import { MadeFiles } from './package/made-files.ts';
import { buildPythonClient } from './package/python-client.ts';
import { changesOf } from './package/release-notes.ts';
import { SigningKey } from './package/signing-key.ts';
import { softwareBill } from './package/software-bill.ts';
import { sourceTime } from './package/source-time.ts';

const SUMS = 'SHA256SUMS';

interface Release extends PackageOptions {
  /** Opens the owner's key. Throws VALIDATION_ERROR if none was named. */
  readonly key: () => SigningKey;
  readonly made: MadeFiles;
}

interface Step {
  readonly name: string;
  readonly makes: string;
  /** Resolves with the files that the step made and that have a checksum of their own. */
  run(release: Release): Promise<readonly string[]>;
}

const STEPS: readonly Step[] = [
  { name: 'deb', makes: 'Debian packages', run: buildPackages },
  { name: 'apt', makes: 'repository of apt, signed', run: buildRepository },
  { name: 'npm', makes: 'package of npm for programs', run: packForNpm },
  { name: 'client', makes: 'client package, and bundle for hosts of agents', run: buildClient },
  { name: 'python', makes: 'client for Python', run: async ({ outdir }) => [await buildPythonClient(outdir)] },
  { name: 'image', makes: 'container images', run: buildImages },
  { name: 'add-on', makes: 'add-on of Home Assistant', run: layOutAddOn },
  { name: 'bill', makes: 'bill of materials', run: writeBills },
  { name: 'notes', makes: 'release notes and version document', run: writeNotes },
  { name: 'sums', makes: 'checksums, signed', run: writeSums },
];

async function buildPackages(release: Release): Promise<readonly string[]> {
  const files: string[] = [];
  for (const architecture of ARCHITECTURES) files.push(await buildDebianPackage(architecture, release));
  return files;
}

async function buildRepository(release: Release): Promise<readonly []> {
  using key = release.key();
  const packages = ARCHITECTURES.map((architecture) => packageOf(release, architecture));
  writeAptRepository({ folder: join(release.outdir, 'apt'), packages, architectures: ARCHITECTURES, time: release.time, key });
  return [];
}

async function packForNpm({ outdir, version }: Release): Promise<readonly string[]> {
  process.chdir(ROOT);
  await runTool('npm', ['pack', '--silent', '--ignore-scripts=false', '--foreground-scripts=false', '--pack-destination', outdir]);
  return [join(outdir, `atmosphere-edge-${version}.tgz`)];
}

async function buildClient({ outdir, version }: Release): Promise<readonly string[]> {
  return [await buildClientPackage(outdir, { version }), await buildClientBundle(outdir, { version })];
}

async function buildImages(release: Release): Promise<readonly string[]> {
  const files: string[] = [];
  const { version, time, outdir } = release;
  for (const architecture of ARCHITECTURES) {
    renewBase(architecture);
    const file = join(outdir, `atmosphere-edge_${version}_${architecture}.oci.tar`);
    writeContainerImage({ package: packageOf(release, architecture), version, architecture, time }, file);
    files.push(file);
  }
  return files;
}

async function layOutAddOn(release: Release): Promise<readonly []> {
  const folder = join(release.outdir, 'home-assistant/atmosphere_edge');
  rmSync(folder, { recursive: true, force: true });
  cpSync(join(ROOT, 'scripts/package/home-assistant'), folder, { recursive: true });
  for (const architecture of ARCHITECTURES) {
    const file = packageOf(release, architecture);
    cpSync(file, join(folder, basename(file)));
  }
  return [];
}

async function writeBills({ outdir, version, time }: Release): Promise<readonly string[]> {
  const files: string[] = [];
  for (const architecture of ARCHITECTURES) {
    const bill = await softwareBill(debianArchitecture(architecture), time);
    const file = join(outdir, `atmosphere-edge_${version}_${architecture}.cdx.json`);
    writeFileSync(file, `${JSON.stringify(bill, null, 1)}\n`);
    files.push(file);
  }
  return files;
}

/** The second file is what `updates.version_url` of hubs may name (docs/updates.md); the owner adds the address of the notes. */
async function writeNotes({ outdir, version }: Release): Promise<readonly string[]> {
  const [notes, document] = [join(outdir, 'RELEASE-NOTES.md'), join(outdir, 'atmosphere-edge.json')];
  writeFileSync(notes, changesOf(readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8'), version));
  writeFileSync(document, `${JSON.stringify({ version })}\n`);
  return [notes, document];
}

async function writeSums(release: Release): Promise<readonly []> {
  using key = release.key();
  const { outdir, made } = release;
  const files = readdirSync(outdir, { withFileTypes: true }).filter((entry) => entry.isFile() && !entry.name.startsWith(SUMS));
  const text = files
    .map(({ name }) => name)
    .sort()
    .map((name) => `${made.hashOf(join(outdir, name))}  ${name}\n`)
    .join('');
  writeFileSync(join(outdir, SUMS), text);
  writeFileSync(join(outdir, `${SUMS}.asc`), key.sign(text));
  return [];
}

/** Returns the package of one kind of machine. Throws if it is not the one that the step deb made. */
function packageOf(release: Release, architecture: string): string {
  const file = packageFile(release, architecture);
  release.made.hashOf(file);
  return file;
}

function git(...args: readonly string[]): string {
  return execFileSync('git', ['-C', ROOT, ...args], { encoding: 'utf8' }).trimEnd();
}

/** Throws CONFLICT if the checkout differs from its commit: nobody could build the same release again, or see what is in it. */
function requireCommitted(): void {
  const changes = git('status', '--porcelain', '--untracked-files=all');
  if (changes === '') return;
  throw new AtmoError('CONFLICT', `A release is built from a commit, and these files are not in it; commit or remove them:\n${changes}`);
}

function stepsNamed(names: readonly string[]): readonly Step[] {
  const unknown = names.find((name) => STEPS.every((step) => step.name !== name));
  if (unknown === undefined) return names.length === 0 ? STEPS : STEPS.filter(({ name }) => names.includes(name));
  throw new AtmoError('VALIDATION_ERROR', `--step ${unknown} is unknown; allowed: ${STEPS.map(({ name }) => name).join(', ')}`);
}

function keyNamed(name: string | undefined): () => SigningKey {
  return () => {
    if (name !== undefined) return SigningKey.open(name);
    throw new AtmoError('VALIDATION_ERROR', 'The steps apt and sums need --key: a file with your secret OpenPGP key, or its id');
  };
}

const { values } = parseArgs({
  options: {
    outdir: { type: 'string', default: join(ROOT, 'dist/release') },
    key: { type: 'string' },
    step: { type: 'string', multiple: true, default: [] },
    try: { type: 'boolean', default: false },
  },
});
try {
  const steps = stepsNamed(values.step);
  if (!values.try) requireCommitted();
  const outdir = resolve(values.outdir);
  const key = keyNamed(values.key);
  // A missing key ends a run at its beginning, not after minutes.
  if (steps.some(({ name }) => name === 'apt' || name === 'sums')) key()[Symbol.dispose]();
  mkdirSync(outdir, { recursive: true });
  const source = { commit: git('rev-parse', 'HEAD'), isTry: values.try, outdir };
  const made = new MadeFiles(join(git('rev-parse', '--absolute-git-dir'), 'atmosphere-edge-release.json'), source);
  const release: Release = { version: versionOfCheckout(), time: sourceTime(), compression: 'zstd', outdir, key, made };
  for (const [index, step] of steps.entries()) {
    const startMs = performance.now();
    process.stdout.write(`${index + 1}/${steps.length} ${step.name}: ${step.makes} … `);
    made.add(await step.run(release));
    console.log(`${((performance.now() - startMs) / 1000).toFixed(1)} s`);
  }
  console.log(outdir);
} catch (error) {
  console.error(`\nrelease: ${error instanceof Error ? error.message : error}`);
  process.exitCode = 1;
}
