import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { StateLock } from '../../src/storage/state-lock.ts';
import { AuditLogFixture } from './storage-fixture.ts';

const HOLDER = join(import.meta.dirname, 'children/lock-holder.ts');

async function otherHub(directory: string): Promise<ChildProcess> {
  const child = spawn(process.execPath, [HOLDER, directory], { stdio: ['ignore', 'pipe', 'inherit'] });
  await once(child.stdout, 'data');
  return child;
}

async function killed(child: ChildProcess): Promise<void> {
  child.kill('SIGKILL');
  await once(child, 'exit');
}

test('a second hub is refused by name of the first one, until that one is killed with SIGKILL', async () => {
  await using fixture = new AuditLogFixture();
  const child = await otherHub(fixture.directory);
  await using lock = new StateLock(fixture.directory);
  await expect(lock.start()).rejects.toMatchObject({
    code: 'CONFLICT',
    details: { pid: child.pid, directory: fixture.directory },
    message: expect.stringContaining(`process ${child.pid}`),
  });
  await killed(child);
  await lock.start();
  await expect(new StateLock(fixture.directory).start()).rejects.toMatchObject({ details: { pid: process.pid } });
});

test('a process id that lives again in another program does not block', async () => {
  await using fixture = new AuditLogFixture();
  const before = new StateLock(fixture.directory);
  await before.start();
  await before[Symbol.asyncDispose]();
  const database = new DatabaseSync(fixture.path('lock.db'));
  database.prepare('UPDATE holder SET pid = ?').run(process.ppid);
  database.close();
  await using lock = new StateLock(fixture.directory);
  await lock.start();
});

test('the lock is free again after stopping, and starting or stopping twice is harmless', async () => {
  await using fixture = new AuditLogFixture();
  const first = new StateLock(fixture.directory);
  await first.start();
  await first.start();
  await first[Symbol.asyncDispose]();
  await first[Symbol.asyncDispose]();
  await using second = new StateLock(fixture.directory);
  await second.start();
});

test('hubs on different directories do not hinder each other', async () => {
  await using one = new AuditLogFixture();
  await using two = new AuditLogFixture();
  await using first = new StateLock(one.directory);
  await using second = new StateLock(two.directory);
  await first.start();
  await second.start();
});

test('a crash in the middle of taking the lock leaves nothing that blocks', async () => {
  await using fixture = new AuditLogFixture();
  for (let n = 0; n < 3; n++) {
    const child = spawn(process.execPath, [HOLDER, fixture.directory], { stdio: 'ignore' });
    await once(child, 'spawn');
    await killed(child);
  }
  await using lock = new StateLock(fixture.directory);
  await lock.start();
});

test.each([
  ['cut', (path: string) => truncateSync(path, 2_000)],
  ['empty', (path: string) => truncateSync(path, 0)],
  ['full of junk', (path: string) => writeFileSync(path, 'junk '.repeat(1_000))],
  [
    'flipped in its schema',
    (path: string) => writeFileSync(path, readFileSync(path, 'latin1').replace('pid INTEGER', 'pit INTEGER'), 'latin1'),
  ],
  ['a folder', (path: string) => [rmSync(path), mkdirSync(path)]],
])('a lock file that is %s holds nothing and is made anew', async (_what, damage) => {
  await using fixture = new AuditLogFixture();
  const before = new StateLock(fixture.directory);
  await before.start();
  await before[Symbol.asyncDispose]();
  damage(fixture.path('lock.db'));
  await using lock = new StateLock(fixture.directory);
  await lock.start();
  await expect(new StateLock(fixture.directory).start()).rejects.toMatchObject({ code: 'CONFLICT' });
});
