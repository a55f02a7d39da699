import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findDebianTool } from '../../../scripts/network-lab/debian-tool.ts';
import { basePackages } from '../../../scripts/package/container-base.ts';
import { imageName, writeContainerImage } from '../../../scripts/package/container-image.ts';
import { THIS_ARCHITECTURE } from '../../../scripts/package/debian-architecture.ts';
import { buildDebianPackage } from '../../../scripts/package/debian-package.ts';
import { until } from '../../matter/device-hub.ts';

const execute = promisify(execFile);
const TIME = new Date('2026-01-01T00:00:00Z');
const LIMIT_MS = 300_000;
const PORT = 8091;

/** Why no image can be tried here; undefined where one can. */
function missingForImage(): string | undefined {
  if (process.getuid?.() !== 0) return 'a file system of another Debian needs root';
  if (basePackages(THIS_ARCHITECTURE) === undefined) return 'its base is not here: node scripts/package/container-base.ts';
  return findDebianTool('umoci') ? undefined : 'umoci is not here: scripts/netlab tools';
}

const missing = missingForImage();

interface Settings {
  readonly process: {
    readonly args: readonly string[];
    readonly env: readonly string[];
    readonly user: { readonly uid: number; readonly gid: number };
  };
}

describe.skipIf(missing !== undefined)(`the container image${missing === undefined ? '' : ` (${missing})`}`, () => {
  let dir: string;
  let rootfs: string;
  let settings: Settings['process'];
  let hub: ChildProcess | undefined;
  const images: Buffer[] = [];

  beforeAll(async () => {
    dir = mkdtempSync(join(tmpdir(), 'atmo-image-'));
    const parts = { version: '0.1.0', time: TIME, compression: 'none', outdir: dir } as const;
    const file = await buildDebianPackage(THIS_ARCHITECTURE, parts);
    for (const name of ['one', 'two']) {
      const image = join(dir, `${name}.oci.tar`);
      writeContainerImage({ package: file, version: '0.1.0', architecture: THIS_ARCHITECTURE, time: TIME }, image);
      images.push(readFileSync(image));
    }
    mkdirSync(join(dir, 'layout'));
    await execute('tar', ['-xf', join(dir, 'one.oci.tar'), '-C', join(dir, 'layout')]);
    const umoci = findDebianTool('umoci');
    await execute(umoci?.path ?? '', ['unpack', '--image', `${join(dir, 'layout')}:${imageName('0.1.0')}`, join(dir, 'bundle')], {
      env: umoci?.env,
    });
    rootfs = join(dir, 'bundle/rootfs');
    settings = (JSON.parse(readFileSync(join(dir, 'bundle/config.json'), 'utf8')) as Settings).process;
  }, LIMIT_MS);
  afterAll(async () => {
    if (hub?.exitCode === null) {
      hub.kill('SIGKILL');
      await once(hub, 'exit');
    }
    for (const name of ['dev', 'proc']) await execute('umount', ['--lazy', join(rootfs, name)]).catch(() => undefined);
    rmSync(dir, { recursive: true });
  });

  test('has the same bytes each time', () => {
    expect(images[0]?.equals(images[1] ?? Buffer.alloc(0))).toBe(true);
  });

  test('is one that another program of containers unpacks, without systemd and with a user of its own', () => {
    expect(settings).toMatchObject({ user: { uid: 990, gid: 990 }, args: expect.arrayContaining(['serve']) });
    expect(existsSync(join(rootfs, 'usr/lib/systemd/system/atmosphere-edge.service'))).toBe(false);
    expect(existsSync(join(rootfs, 'usr/share/doc/atmosphere-edge/sbom.cdx.json'))).toBe(true);
  });

  test(
    'runs a hub as that user, which answers',
    async () => {
      for (const name of ['dev', 'proc']) await execute('mount', ['--rbind', `/${name}`, join(rootfs, name)]);
      const env = ['-i', ...settings.env, `ATMO_HTTP_PORT=${PORT}`, 'ATMO_MESH_PORT=8092'];
      const args = ['--userspec=990:990', rootfs, '/usr/bin/env', ...env, ...settings.args];
      hub = spawn('chroot', args, { stdio: 'ignore' });
      const answer = () => fetch(`http://127.0.0.1:${PORT}/healthz`).then((response) => response.ok);
      await until(async () => answer().catch(() => false), LIMIT_MS, 250);
      const { stdout } = await execute('chroot', ['--userspec=990:990', rootfs, '/usr/bin/env', ...env, 'atmo', 'status']);
      expect(stdout).toContain(`http://127.0.0.1:${PORT}`);
    },
    LIMIT_MS,
  );
});
