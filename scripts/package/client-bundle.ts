/** What hosts of agents install: the bundle of MCPB, which is the client package with a manifest, and the document for registries of MCP. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { sha256Hex } from '../../src/codec/hashes.ts';
import { AtmoError } from '../../src/core/errors.ts';
import { ROOT } from '../bundle.ts';
import { iconPng } from '../page/icon-png.ts';
import { type ClientPackageOptions, layOutClient } from './client-package.ts';
import { versionOfCheckout } from './debian-package.ts';
import { type ZipFile, zipArchive } from './zip-archive.ts';

const FORMS = join(ROOT, 'scripts/package/client');
const ICON_PIXELS = 256;

/** Writes the bundle (.mcpb) into `outdir`, the same bytes from the same sources. Resolves with the path of the file. */
export async function buildClientBundle(outdir: string, { version = versionOfCheckout() }: ClientPackageOptions = {}): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'atmo-bundle-'));
  try {
    await layOutClient(folder, version);
    const file = join(outdir, `atmosphere-edge-client-${version}.mcpb`);
    mkdirSync(outdir, { recursive: true });
    writeFileSync(file, zipArchive(filesOf(folder, version)));
    return file;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function filesOf(folder: string, version: string): readonly ZipFile[] {
  const read = (name: string): Buffer => readFileSync(join(folder, name));
  return [
    { path: 'manifest.json', bytes: Buffer.from(jsonText(bundleManifest(version))) },
    { path: 'icon.png', bytes: iconPng(ICON_PIXELS) },
    { path: 'server/atmo.mjs', bytes: read('atmo.mjs'), isExecutable: true },
    ...['LICENSE', 'README.md', 'THIRD-PARTY.txt'].map((path) => ({ path, bytes: read(path) })),
  ];
}

/** Returns the manifest of the bundle (MCPB manifest 0.3). */
export function bundleManifest(version: string): Readonly<Record<string, unknown>> {
  const { manifest_version: form, name, ...rest } = formOf('manifest.json');
  return { manifest_version: form, name, version, ...rest };
}

/** Where the owner publishes a bundle. */
export interface Publication {
  /** Name in the registry of MCP: a namespace that the owner has proven to own, a slash and a name. */
  readonly name: string;
  /** Address from which the bundle is downloaded. */
  readonly url: string;
}

/** A reverse domain name, a slash and a name (server.json, 2025-12-11). */
const SERVER_NAME = /^[a-zA-Z0-9.-]+\/[a-zA-Z0-9._-]+$/;
const LONGEST_NAME = 200;

/** Writes `server.json` for a registry of MCP beside a bundle. Returns its path. Throws VALIDATION_ERROR for an impossible name or address. */
export function writeServerDocument(outdir: string, bundle: string, publication: Publication): string {
  const file = join(outdir, 'server.json');
  const version = /-client-(.+)\.mcpb$/.exec(basename(bundle))?.[1] ?? versionOfCheckout();
  const sha256 = sha256Hex(readFileSync(bundle));
  writeFileSync(file, jsonText(serverDocument(publication, { version, sha256 })));
  return file;
}

/** Returns the document about a bundle. */
export function serverDocument({ name, url }: Publication, { version, sha256 }: { readonly version: string; readonly sha256: string }) {
  if (!SERVER_NAME.test(name) || name.length > LONGEST_NAME)
    throw new AtmoError('VALIDATION_ERROR', `${JSON.stringify(name)} is no name of a server; it looks like org.example/atmosphere-edge`);
  if (URL.parse(url)?.protocol !== 'https:' || !url.endsWith('.mcpb'))
    throw new AtmoError('VALIDATION_ERROR', `${JSON.stringify(url)} has to be the https address of the .mcpb file`);
  const { environmentVariables, ...form } = formOf('server.json');
  const transport = { type: 'stdio' };
  return {
    ...form,
    name,
    version,
    packages: [{ registryType: 'mcpb', identifier: url, version, fileSha256: sha256, transport, environmentVariables }],
  };
}

function formOf(name: string): Readonly<Record<string, unknown>> {
  return JSON.parse(readFileSync(join(FORMS, name), 'utf8'));
}

function jsonText(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
