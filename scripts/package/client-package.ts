/** The client package: `atmo` without the parts of the hub, one file for any machine with Node 20, made with `npm pack`. */
import { execFile } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { build, type Metafile, type Plugin } from 'esbuild';
import { AtmoError } from '../../src/core/errors.ts';
import { ROOT } from '../bundle.ts';
import { versionOfCheckout } from './debian-package.ts';
import { licenceTexts } from './software-bill.ts';

const execute = promisify(execFile);
const FORMS = join(ROOT, 'scripts/package/client');
/** The oldest Node that runs the client, as `engines` of its package.json says. */
const TARGET = 'node20';
const PROGRAM = 'atmo.mjs';

/** What can be chosen about a client package. */
export interface ClientPackageOptions {
  /** Version of the package; that of the hub by default. */
  readonly version?: string;
}

/** Builds the client package in `outdir`, the same bytes from the same sources. Resolves with the path of the file. */
export async function buildClientPackage(outdir: string, { version = versionOfCheckout() }: ClientPackageOptions = {}): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'atmo-client-'));
  try {
    await layOutClient(folder, version);
    mkdirSync(outdir, { recursive: true });
    const { stdout } = await execute('npm', ['pack', '--ignore-scripts', '--json', '--pack-destination', outdir], { cwd: folder });
    return join(outdir, packedName(JSON.parse(stdout)));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Writes the files of the client package into a folder. */
export async function layOutClient(folder: string, version: string): Promise<void> {
  const { inputs } = await bundleClient(join(folder, PROGRAM), version);
  chmodSync(join(folder, PROGRAM), 0o755);
  for (const name of ['README.md', 'package.json']) cpSync(join(FORMS, name), join(folder, name));
  cpSync(join(ROOT, 'LICENSE'), join(folder, 'LICENSE'));
  const { name, ...manifest } = JSON.parse(readFileSync(join(FORMS, 'package.json'), 'utf8'));
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify({ name, version, ...manifest }, null, 2)}\n`);
  writeFileSync(join(folder, 'THIRD-PARTY.txt'), await noticesOf(inputs));
}

async function bundleClient(outfile: string, version: string): Promise<Metafile> {
  const { metafile } = await build({
    absWorkingDir: ROOT,
    entryPoints: ['src/cli/client.ts'],
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: TARGET,
    minifyWhitespace: true,
    minifySyntax: true,
    legalComments: 'none',
    // The package yaml asks for modules of Node with `require`.
    banner: { js: "import { createRequire as atmoCreateRequire } from 'node:module'; const require = atmoCreateRequire(import.meta.url);" },
    metafile: true,
    plugins: [ownVersion(version)],
    logLevel: 'warning',
  });
  const foreign = Object.values(metafile.outputs).flatMap(({ imports }) => imports.filter(({ path }) => !isBuiltin(path)));
  if (foreign.length > 0) throw new AtmoError('INTERNAL_ERROR', `The client would need ${foreign.map(({ path }) => path).join(', ')}`);
  return metafile;
}

/** Of the hub's package.json the program needs the version alone; the rest names what the client does not have. */
const ownVersion = (version: string): Plugin => ({
  name: 'own-version',
  setup(context) {
    context.onLoad({ filter: /\/package\.json$/ }, ({ path }) =>
      path === join(ROOT, 'package.json') ? { contents: JSON.stringify({ version }), loader: 'json' } : undefined,
    );
  },
});

/** The licences of the packages that are in the bundle. */
function noticesOf(inputs: Metafile['inputs']): Promise<string> {
  const found = Object.keys(inputs).flatMap((path) => /^node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1] ?? []);
  const components = [...new Set(found)].sort().map((name) => {
    const { version, license } = JSON.parse(readFileSync(join(ROOT, 'node_modules', name, 'package.json'), 'utf8'));
    return { 'bom-ref': `${name}@${version}`, name, version: String(version), licenses: [{ expression: String(license) }] };
  });
  return licenceTexts({ components });
}

function packedName(answer: unknown): string {
  const [packed] = Array.isArray(answer) ? answer : [];
  if (typeof packed?.filename === 'string') return packed.filename;
  throw new AtmoError('INTERNAL_ERROR', 'npm pack did not name the file that it wrote');
}
