import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { ENTRYPOINT } from '../../scripts/package/container-image.ts';
import { loadConfig } from '../../src/hub/config/config.ts';

const ROOT = join(import.meta.dirname, '../..');
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const { version } = JSON.parse(read('package.json'));
const dir = mkdtempSync(join(tmpdir(), 'atmo-recipes-'));
afterAll(() => rmSync(dir, { recursive: true }));

/** Instructions of a Containerfile, each with its arguments; lines that end in a backslash go on (Dockerfile reference, "Parser"). */
function instructionsOf(path: string): readonly (readonly [string, string])[] {
  const lines = read(path)
    .replaceAll(/^#.*\n/gm, '')
    .replaceAll('\\\n', ' ')
    .split('\n');
  return lines.filter((line) => line.trim() !== '').map((line) => [/^\S+/.exec(line)?.[0] ?? '', line.replace(/^\S+\s+/, '')] as const);
}

function loadSettings(text: string): unknown {
  const file = join(dir, 'config.yaml');
  writeFileSync(file, text);
  return loadConfig({ ATMO_CONFIG: file }, dir);
}

describe('settings of the package', () => {
  const shipped = read('scripts/package/debian/config.yaml');

  test('change nothing as they come', () => {
    expect(loadSettings(shipped)).toEqual(loadSettings(''));
  });

  test('are all valid when somebody takes the # away', () => {
    const opened = shipped.replaceAll(/^##.*$/gm, '').replaceAll(/^#/gm, '');
    expect(Object.keys(parse(opened))).toContain('sensors');
    expect(loadSettings(opened)).not.toEqual(loadSettings(''));
  });
});

describe.each(['preinst', 'postinst', 'prerm', 'postrm'])('maintainer script %s', (name) => {
  test('is a shell script that stops at a failure', () => {
    const path = join(ROOT, 'scripts/package/debian', name);
    expect(spawnSync('sh', ['-n', path], { encoding: 'utf8' })).toMatchObject({ status: 0, stderr: '' });
    expect(read(`scripts/package/debian/${name}`)).toMatch(/^#!\/bin\/sh\nset -e\n/);
  });
});

describe.each(['scripts/package/home-assistant/Dockerfile'])('%s', (path) => {
  const instructions = instructionsOf(path);

  test('has known instructions alone', () => {
    const known = ['ARG', 'FROM', 'COPY', 'RUN', 'USER', 'ENV', 'VOLUME', 'HEALTHCHECK', 'ENTRYPOINT', 'CMD'];
    expect(instructions.map(([name]) => name).filter((name) => !known.includes(name))).toEqual([]);
    expect(instructions.find(([name]) => name !== 'ARG')?.[0]).toBe('FROM');
  });

  test('runs shell that parses', () => {
    for (const [, script] of instructions.filter(([name]) => name === 'RUN')) {
      expect(spawnSync('sh', ['-n', '-c', script], { encoding: 'utf8' })).toMatchObject({ status: 0, stderr: '' });
    }
  });

  test('copies what is there, or the package', () => {
    const sources = instructions
      .filter(([name, text]) => name === 'COPY' && !text.startsWith('--from'))
      .map(([, text]) => text.split(' ')[0]);
    expect(sources).toContain('atmosphere-edge_*.deb');
    const missing = sources.filter((source) => !source?.endsWith('.deb') && !existsSync(join(ROOT, dirname(path), source ?? '')));
    expect(missing).toEqual([]);
  });
});

describe('the hub in containers', () => {
  const program = /^ExecStart=(.*) serve$/m.exec(read('systemd/atmosphere-edge.service'))?.[1] ?? '';

  test('is started as systemd starts it', () => {
    expect(ENTRYPOINT.join(' ')).toBe(program);
    expect(read('scripts/package/home-assistant/run.sh')).toContain(`exec ${program} serve\n`);
  });
});

describe('the add-on of Home Assistant', () => {
  const addOn = parse(read('scripts/package/home-assistant/config.yaml'));

  test('has the version of the hub and the machines of its packages', () => {
    expect(addOn).toMatchObject({ version, slug: 'atmosphere_edge', arch: ['aarch64', 'amd64'], host_network: true });
  });

  test('asks for no power over Home Assistant or its host', () => {
    const powers = [
      'full_access',
      'docker_api',
      'hassio_api',
      'homeassistant_api',
      'privileged',
      'host_pid',
      'host_dbus',
      'kernel_modules',
    ];
    expect(powers.filter((power) => power in addOn)).toEqual([]);
    expect(addOn.map).toEqual([{ type: 'addon_config', read_only: true }]);
  });
});
