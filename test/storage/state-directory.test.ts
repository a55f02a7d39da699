import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { createLogger, silentLogger } from '../../src/core/logger.ts';
import { defaultStateDirectory, prepareStateDirectory, WritableCopy } from '../../src/storage/state-directory.ts';
import { AuditLogFixture } from './storage-fixture.ts';

const mode = (path: string): number => statSync(path).mode & 0o777;

test('the copy of a directory that cannot be written leaves out what a backup does, and is gone afterwards', async () => {
  await using fixture = new AuditLogFixture();
  for (const folder of ['tls', 'snapshots', 'backups', 'before-restore-2026']) {
    mkdirSync(fixture.path(folder));
    writeFileSync(fixture.path(`${folder}/file`), folder);
  }
  const copy = await WritableCopy.of(fixture.directory);
  expect(readdirSync(copy.path, { recursive: true }).toSorted()).toEqual(['tls', 'tls/file']);
  await copy[Symbol.asyncDispose]();
  expect(existsSync(copy.path)).toBe(false);
});

describe('the state directory', () => {
  test("is made with its folders, for the hub's user alone, whatever the umask", async () => {
    await using fixture = new AuditLogFixture();
    const directory = prepareStateDirectory(fixture.path('a/b/state'), silentLogger);
    expect(Object.values(directory).map(mode)).toEqual([0o700, 0o700, 0o700]);
    expect(directory).toEqual({
      root: fixture.path('a/b/state'),
      matter: fixture.path('a/b/state/matter'),
      snapshots: fixture.path('a/b/state/snapshots'),
    });
  });

  test('that others could enter is closed, and that is logged', async () => {
    await using fixture = new AuditLogFixture();
    const lines: string[] = [];
    const { root, matter } = prepareStateDirectory(fixture.path('state'), silentLogger);
    chmodSync(root, 0o755);
    chmodSync(matter, 0o770);
    prepareStateDirectory(
      root,
      createLogger('warn', (line) => lines.push(line)),
    );
    expect([mode(root), mode(matter)]).toEqual([0o700, 0o700]);
    expect(lines).toHaveLength(2);
    prepareStateDirectory(
      root,
      createLogger('warn', (line) => lines.push(line)),
    );
    expect(lines).toHaveLength(2);
  });

  test('that is a file or a link is refused', async () => {
    await using fixture = new AuditLogFixture();
    writeFileSync(fixture.path('file'), '');
    mkdirSync(fixture.path('elsewhere'));
    symlinkSync(fixture.path('elsewhere'), fixture.path('link'));
    for (const name of ['file', 'link', 'file/below']) {
      expect(() => prepareStateDirectory(fixture.path(name), silentLogger)).toThrow(expect.objectContaining({ code: 'STORAGE_FAILED' }));
    }
  });

  test('where no folder can be made is refused', () => {
    expect(() => prepareStateDirectory('/proc/atmosphere-edge/state', silentLogger)).toThrow(
      expect.objectContaining({ code: 'STORAGE_FAILED', message: expect.stringContaining('/proc/atmosphere-edge') }),
    );
  });

  test.skipIf(process.getuid?.() !== 0)('that belongs to another user is refused with the command that mends it', async () => {
    await using fixture = new AuditLogFixture();
    const { root } = prepareStateDirectory(fixture.path('state'), silentLogger);
    chownSync(root, 12_345, 12_345);
    expect(() => prepareStateDirectory(root, silentLogger)).toThrow(`chown -R 0 ${root}`);
  });
});

describe('the default state directory', () => {
  test('ATMO_STATE_DIR comes first', () => {
    expect(defaultStateDirectory({ ATMO_STATE_DIR: '/x/y', HOME: '/home/a' })).toBe('/x/y');
  });

  test('then the system directory, made or not, if this user can write there', async () => {
    await using fixture = new AuditLogFixture();
    expect(defaultStateDirectory({ HOME: '/home/a' }, fixture.path('system'))).toBe(fixture.path('system'));
    mkdirSync(fixture.path('system'));
    expect(defaultStateDirectory({ HOME: '/home/a' }, fixture.path('system'))).toBe(fixture.path('system'));
  });

  test("then the user's own", () => {
    expect(defaultStateDirectory({ HOME: '/home/a' }, '/proc/none/here')).toBe('/home/a/.local/state/atmosphere-edge');
  });
});
