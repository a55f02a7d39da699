import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ROOT } from '../../../scripts/bundle.ts';

const execute = promisify(execFile);
const COMMAND_LIMIT_MS = 240_000;
const MAX_PACKED_BYTES = 3_300_000;
const PAGE = readFileSync(join(ROOT, 'docs/embedding.md'), 'utf8');

interface Packed {
  readonly filename: string;
  readonly size: number;
  readonly files: readonly { readonly path: string }[];
}

let dir: string;
let project: string;
let packed: Packed;
let paths: readonly string[];

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'atmo-npm-'));
  project = join(dir, 'project');
  const { stdout } = await run(
    'npm',
    ['pack', '--ignore-scripts=false', '--json', '--foreground-scripts=false', '--pack-destination', dir],
    ROOT,
  );
  [packed] = JSON.parse(stdout);
  paths = packed.files.map(({ path }) => path);
  mkdirSync(join(project, 'node_modules'), { recursive: true });
  writeFileSync(join(project, 'package.json'), JSON.stringify({ name: 'bellboy', private: true, type: 'module' }));
  await copyDependencies();
  const options = ['--offline', '--ignore-scripts', '--no-audit', '--no-fund', '--cache', join(dir, 'cache')];
  await run('npm', ['install', ...options, join(dir, packed.filename)], project);
}, COMMAND_LIMIT_MS);
afterAll(() => rmSync(dir, { recursive: true, force: true }));

function run(program: string, args: readonly string[], cwd: string, env: Readonly<Record<string, string>> = {}) {
  return execute(program, args, { cwd, env: { ...process.env, ...env }, timeout: COMMAND_LIMIT_MS, maxBuffer: 64 * 1024 * 1024 });
}

/** There is no registry here: npm finds what the package needs already in place, without the packages that only development needs. */
async function copyDependencies(): Promise<void> {
  const lock = JSON.parse(readFileSync(join(ROOT, 'node_modules/.package-lock.json'), 'utf8')) as {
    readonly packages: Readonly<Record<string, { readonly dev?: true }>>;
  };
  const needed = Object.entries(lock.packages).filter(([path, { dev }]) => dev !== true && path.lastIndexOf('node_modules/') === 0);
  for (const path of [...needed.map(([name]) => name), 'node_modules/.bin']) await link(path);
}

/** Copies a folder of the repository into the project, by hard links where both are in one file system. */
async function link(path: string): Promise<void> {
  const [from, to] = [join(ROOT, path), join(project, path)];
  mkdirSync(dirname(to), { recursive: true });
  await run('cp', ['-al', from, to], ROOT).catch(() => cpSync(from, to, { recursive: true, force: true, verbatimSymlinks: true }));
}

describe('the package for programs', () => {
  test('holds what a user needs and nothing else, in 3.3 MB', () => {
    const tops = new Set(paths.map((path) => path.split('/')[0]));
    const texts = ['CHANGELOG.md', 'LICENSE', 'README.md', 'SECURITY.md', 'package.json'];
    expect([...tops].sort()).toEqual([...texts, 'device-profiles', 'dist', 'docs', 'lib'].sort());
    expect(paths).toEqual(expect.arrayContaining(['lib/index.js', 'lib/index.d.ts', 'lib/main.js', 'dist/page/index.html']));
    expect(paths.filter((path) => path.startsWith('lib/') && !/\.(js|d\.ts)$/.test(path))).toEqual([]);
    expect(paths.filter((path) => path.startsWith('dist/') && !path.startsWith('dist/page/'))).toEqual([]);
    expect(packed.size).toBeLessThan(MAX_PACKED_BYTES);
  });

  test('holds the pages that its README links to', () => {
    const links = [...readFileSync(join(ROOT, 'README.md'), 'utf8').matchAll(/\]\((docs\/[^)#]+)/g)].map(([, path]) => path);
    expect(links.length).toBeGreaterThan(20);
    expect(links.filter((path) => !paths.includes(path ?? ''))).toEqual([]);
  });

  test('exports the names that the page lists', async () => {
    const [, table = ''] = /## What the package exports\n([\s\S]*?)\n## /.exec(PAGE) ?? [];
    const listed = table.split('\n').flatMap((row) => [...(row.split('|')[1] ?? '').matchAll(/`(\w+)`/g)].map(([, name]) => name));
    const program = `console.log(JSON.stringify(Object.keys(await import('atmosphere-edge'))))`;
    const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', program], project);
    expect(JSON.parse(stdout).sort()).toEqual(listed.sort());
  });

  test('loads each of its modules with the packages that it names alone', async () => {
    const modules = paths.filter((path) => /^lib\/.*\.js$/.test(path) && path !== 'lib/main.js');
    expect(modules.length).toBeGreaterThan(300);
    const names = modules.map((path) => join(project, 'node_modules/atmosphere-edge', path));
    const program = 'for (const path of process.argv.slice(1)) await import(path).catch((error) => console.log(path, error.message));';
    const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', program, ...names], project);
    expect(stdout).toBe('');
  });

  test('has types with which the program of the page passes strict checks, those of the package included', async () => {
    const [, example = ''] = /```ts\n(.*?)```/s.exec(PAGE) ?? [];
    writeFileSync(join(project, 'program.ts'), example);
    const options = ['--strict', '--skipLibCheck', 'false', '--exactOptionalPropertyTypes', '--module', 'nodenext', '--target', 'es2024'];
    const tsc = join(ROOT, 'node_modules/.bin/tsc');
    const { stdout } = await run(tsc, ['--noEmit', '--types', 'node', ...options, 'program.ts'], project).catch((failed) => failed);
    expect(stdout).toBe('');
  });

  test('starts a hub with the tool of the page, calls it and stops, on plain Node', async () => {
    const stateDir = join(dir, 'state');
    mkdirSync(stateDir, { mode: 0o700 });
    writeFileSync(join(stateDir, 'config.yaml'), JSON.stringify({ matter: { enabled: false }, http: { port: 0 } }));
    const start = async (token: string) => {
      const env = { ATMO_STATE_DIR: stateDir, ATMO_TOKEN: token };
      return JSON.parse((await run(process.execPath, ['program.ts'], project, env)).stdout);
    };
    expect(await start('')).toMatchObject({ success: false, error: expect.stringContaining('UNAUTHENTICATED') });
    const owner = readFileSync(join(stateDir, 'owner.token'), 'utf8').trim();
    expect(await start(owner)).toEqual({ tool_call_id: 'call_1', success: true, output: { rung: 2 } });
  });

  test('brings the command line', async () => {
    const env = { PATH: `${dirname(process.execPath)}:${process.env.PATH}` };
    const { stdout } = await run(join(project, 'node_modules/.bin/atmo'), ['--version'], project, env);
    expect(stdout.trim()).toBe(JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).version);
    const { stdout: checked } = await run(join(project, 'node_modules/.bin/atmo'), ['profile', 'check'], project, env);
    expect(checked).toBe('all profiles are fine\n');
  });
});
