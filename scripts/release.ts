/**
 * Builds everything that a release consists of: `npm run release -- --key KEY [--outdir DIR] [--step NAME] [--try]`. KEY is a file with the
 * owner's secret OpenPGP key, or the id of a key in the keyring. `--step`, once or more, runs these steps alone on what is in DIR already.
 * `--try` takes a checkout with changes, too. The same commit gives the same bytes, apart from signatures. docs/releasing.md says what to
 * do with them.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { sha256Hex } from '../src/codec/hashes.ts';
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
import { buildPythonClient } from './package/python-client.ts';
import { changesOf } from './package/release-notes.ts';
import { SigningKey } from './package/signing-key.ts';
import { softwareBill } from './package/software-bill.ts';
import { sourceTime } from './package/source-time.ts';

const SUMS = 'SHA256SUMS';

interface Release extends PackageOptions {
  /** Opens the owner's key. Throws VALIDATION_ERROR if none was named. */
  readonly key: () => SigningKey;
}

interface Step {
  readonly name: string;
  readonly makes: string;
  run(release: Release): Promise<void>;
}

const STEPS: readonly Step[] = [
  { name: 'deb', makes: 'Debian packages', run: buildPackages },
  { name: 'apt', makes: 'repository of apt, signed', run: buildRepository },
  { name: 'npm', makes: 'package of npm for programs', run: packForNpm },
  { name: 'client', makes: 'client package, and bundle for hosts of agents', run: buildClient },
  { name: 'python', makes: 'client for Python', run: async ({ outdir }) => void (await buildPythonClient(outdir)) },
  { name: 'image', makes: 'container images', run: buildImages },
  { name: 'add-on', makes: 'add-on of Home Assistant', run: layOutAddOn },
  { name: 'bill', makes: 'bill of materials', run: writeBills },
  { name: 'notes', makes: 'release notes and version document', run: writeNotes },
  { name: 'sums', makes: 'checksums, signed', run: writeSums },
];

async function buildPackages(release: Release): Promise<void> {
  for (const architecture of ARCHITECTURES) await buildDebianPackage(architecture, release);
}

async function buildRepository(release: Release): Promise<void> {
  using key = release.key();
  const packages = ARCHITECTURES.map((architecture) => packageOf(release, architecture));
  writeAptRepository({ folder: join(release.outdir, 'apt'), packages, architectures: ARCHITECTURES, time: release.time, key });
}

async function packForNpm({ outdir }: Release): Promise<void> {
  process.chdir(ROOT);
  await runTool('npm', ['pack', '--silent', '--ignore-scripts=false', '--foreground-scripts=false', '--pack-destination', outdir]);
}

async function buildClient({ outdir, version }: Release): Promise<void> {
  await buildClientPackage(outdir, { version });
  await buildClientBundle(outdir, { version });
}

async function buildImages(release: Release): Promise<void> {
  const { version, time, outdir } = release;
  for (const architecture of ARCHITECTURES) {
    renewBase(architecture);
    const file = join(outdir, `atmosphere-edge_${version}_${architecture}.oci.tar`);
    writeContainerImage({ package: packageOf(release, architecture), version, architecture, time }, file);
  }
}

async function layOutAddOn(release: Release): Promise<void> {
  const folder = join(release.outdir, 'home-assistant/atmosphere_edge');
  rmSync(folder, { recursive: true, force: true });
  cpSync(join(ROOT, 'scripts/package/home-assistant'), folder, { recursive: true });
  for (const architecture of ARCHITECTURES) {
    const file = packageOf(release, architecture);
    cpSync(file, join(folder, basename(file)));
  }
}

async function writeBills({ outdir, version, time }: Release): Promise<void> {
  for (const architecture of ARCHITECTURES) {
    const bill = await softwareBill(debianArchitecture(architecture), time);
    writeFileSync(join(outdir, `atmosphere-edge_${version}_${architecture}.cdx.json`), `${JSON.stringify(bill, null, 1)}\n`);
  }
}

/** The second file is what `updates.version_url` of hubs may name (docs/updates.md); the owner adds the address of the notes. */
async function writeNotes({ outdir, version }: Release): Promise<void> {
  writeFileSync(join(outdir, 'RELEASE-NOTES.md'), changesOf(readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8'), version));
  writeFileSync(join(outdir, 'atmosphere-edge.json'), `${JSON.stringify({ version })}\n`);
}

async function writeSums(release: Release): Promise<void> {
  using key = release.key();
  const { outdir } = release;
  const files = readdirSync(outdir, { withFileTypes: true }).filter((entry) => entry.isFile() && !entry.name.startsWith(SUMS));
  const text = files
    .map(({ name }) => name)
    .sort()
    .map((name) => `${sha256Hex(readFileSync(join(outdir, name)))}  ${name}\n`)
    .join('');
  writeFileSync(join(outdir, SUMS), text);
  writeFileSync(join(outdir, `${SUMS}.asc`), key.sign(text));
}

function packageOf(release: Release, architecture: string): string {
  const file = packageFile(release, architecture);
  if (existsSync(file)) return file;
  throw new AtmoError('NOT_FOUND', `${file} is not there; run the step deb first`);
}

/** Throws CONFLICT if the checkout differs from its commit: nobody could build the same release again, or see what is in it. */
function requireCommitted(): void {
  const changes = execFileSync('git', ['-C', ROOT, 'status', '--porcelain'], { encoding: 'utf8' }).trimEnd();
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
  const release: Release = { version: versionOfCheckout(), time: sourceTime(), compression: 'zstd', outdir, key };
  for (const [index, step] of steps.entries()) {
    const startMs = performance.now();
    process.stdout.write(`${index + 1}/${steps.length} ${step.name}: ${step.makes} … `);
    await step.run(release);
    console.log(`${((performance.now() - startMs) / 1000).toFixed(1)} s`);
  }
  console.log(outdir);
} catch (error) {
  console.error(`\nrelease: ${error instanceof Error ? error.message : error}`);
  process.exitCode = 1;
}
