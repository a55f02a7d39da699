/** A container image from the Debian package, written file by file: no daemon, no root, the same bytes from the same input. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { sha256Hex } from '../../src/codec/hashes.ts';
import { ROOT } from '../bundle.ts';
import { basePackages, HUB_USER, layOutBase } from './container-base.ts';

const STATE = 'var/lib/atmosphere-edge';
/** What a container has no use for: it has neither systemd nor udev. */
const OF_THE_MACHINE = ['usr/lib/systemd', 'usr/lib/sysusers.d', 'usr/lib/tmpfiles.d', 'usr/lib/udev'];
const PROGRAM = '/usr/lib/atmosphere-edge';
/** How a container starts the hub: as the unit of systemd does. */
export const ENTRYPOINT = [`${PROGRAM}/bin/node`, '--max-semi-space-size=2', `${PROGRAM}/dist/atmo.mjs`];

/** What an image is made of. */
export interface ImageParts {
  /** The Debian package of the machine. */
  readonly package: string;
  readonly version: string;
  /** Debian's name of the machine, which is that of OCI (GOARCH) too for amd64 and arm64. */
  readonly architecture: string;
  /** The only time in the image. */
  readonly time: Date;
}

/** A file of the layout, named by its hash (OCI image specification, "Descriptor"). */
interface Descriptor {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
}

interface Layer {
  readonly descriptor: Descriptor;
  /** Hash of the layer before compression. */
  readonly diffId: string;
  readonly made: string;
}

/** Returns the name that `podman load` gives the image. With a version alone podman would take the version for the name. */
export function imageName(version: string): string {
  return `localhost/atmosphere-edge:${version}`;
}

/** Writes the image as an archive of an OCI image layout (OCI image specification 1.0), which `podman load` and `skopeo` read. */
export function writeContainerImage(parts: ImageParts, file: string): void {
  mkdirSync(join(ROOT, '.run'), { recursive: true });
  const work = mkdtempSync(join(ROOT, '.run/image-'));
  try {
    const layout = join(work, 'layout');
    mkdirSync(join(layout, 'blobs/sha256'), { recursive: true });
    writeLayout(layout, layersOf(work, layout, parts), parts);
    writeFileSync(file, tarOf(layout, { time: parts.time, owner: 0 }));
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** Three layers: Debian, the hub, and the folder of the state, which alone belongs to the hub's user. */
function layersOf(work: string, layout: string, parts: ImageParts): readonly Layer[] {
  const [base, hub, state] = ['base', 'hub', 'state'].map((name) => join(work, name)) as [string, string, string];
  for (const folder of [base, hub, join(state, STATE)]) mkdirSync(folder, { recursive: true });
  execFileSync('chmod', ['0700', join(state, STATE)]);
  layOutBase(base, parts.architecture);
  execFileSync('dpkg-deb', ['--extract', parts.package, hub]);
  for (const path of OF_THE_MACHINE) rmSync(join(hub, path), { recursive: true, force: true });
  const { time } = parts;
  const ofRoot = (folder: string, made: string) => addLayer(layout, tarOf(folder, { time, owner: 0 }), made);
  return [
    ofRoot(base, `Debian packages: ${basePackages(parts.architecture)?.join(' ')}`),
    ofRoot(hub, basename(parts.package)),
    addLayer(layout, tarOf(state, { time, owner: HUB_USER, paths: [STATE] }), 'folder of the state'),
  ];
}

function addLayer(layout: string, tar: Buffer, made: string): Layer {
  const mediaType = 'application/vnd.oci.image.layer.v1.tar+gzip';
  return { descriptor: addBlob(layout, mediaType, gzipSync(tar, { level: 6 })), diffId: digestOf(tar), made };
}

function writeLayout(layout: string, layers: readonly Layer[], parts: ImageParts): void {
  const config = addBlob(layout, 'application/vnd.oci.image.config.v1+json', jsonOf(configOf(layers, parts)));
  const manifestType = 'application/vnd.oci.image.manifest.v1+json';
  const manifest = { schemaVersion: 2, mediaType: manifestType, config, layers: layers.map(({ descriptor }) => descriptor) };
  const named = {
    ...addBlob(layout, manifestType, jsonOf(manifest)),
    platform: { architecture: parts.architecture, os: 'linux' },
    annotations: { 'org.opencontainers.image.ref.name': imageName(parts.version) },
  };
  writeFileSync(
    join(layout, 'index.json'),
    jsonOf({ schemaVersion: 2, mediaType: 'application/vnd.oci.image.index.v1+json', manifests: [named] }),
  );
  writeFileSync(join(layout, 'oci-layout'), jsonOf({ imageLayoutVersion: '1.0.0' }));
}

/** Settings of a container (OCI image specification, "Image Configuration"). */
function configOf(layers: readonly Layer[], { architecture, version, time }: ImageParts) {
  const created = time.toISOString();
  return {
    created,
    architecture,
    os: 'linux',
    config: {
      User: `${HUB_USER}:${HUB_USER}`,
      Env: ['PATH=/usr/sbin:/usr/bin:/sbin:/bin', `ATMO_STATE_DIR=/${STATE}`],
      Entrypoint: ENTRYPOINT,
      Cmd: ['serve'],
      Volumes: { [`/${STATE}`]: {} },
      Labels: { 'org.opencontainers.image.title': 'atmosphere-edge', 'org.opencontainers.image.version': version },
    },
    rootfs: { type: 'layers', diff_ids: layers.map(({ diffId }) => diffId) },
    history: layers.map(({ made }) => ({ created, created_by: made })),
  };
}

interface TarParts {
  /** The time of every file. */
  readonly time: Date;
  /** User and group of every file, by number. */
  readonly owner: number;
  /** What is packed, relative to the folder; all when absent. */
  readonly paths?: readonly string[];
}

/** Packs a folder with its names in order, so that the same files give the same bytes. */
function tarOf(folder: string, { time, owner, paths = ['.'] }: TarParts): Buffer {
  const order = ['--sort=name', `--mtime=@${time.getTime() / 1000}`, `--owner=${owner}`, `--group=${owner}`, '--numeric-owner'];
  return execFileSync('tar', ['--create', '--format=gnu', ...order, '-C', folder, ...paths], { maxBuffer: 1024 * 1024 * 1024 });
}

function addBlob(layout: string, mediaType: string, bytes: Buffer): Descriptor {
  const digest = digestOf(bytes);
  writeFileSync(join(layout, 'blobs', digest.replace(':', '/')), bytes);
  return { mediaType, digest, size: bytes.length };
}

function digestOf(bytes: Buffer): string {
  return `sha256:${sha256Hex(bytes)}`;
}

function jsonOf(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value));
}
