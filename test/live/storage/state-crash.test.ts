import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { AuditLogFixture } from '../../storage/storage-fixture.ts';

const WRITER = join(import.meta.dirname, '../../storage/children/state-writer.ts');

/** Lets the child write until it has said `lines` numbers, kills it with SIGKILL, answers the last number said. */
async function writeUntilKilled(directory: string, lines: number): Promise<number> {
  const child = spawn(process.execPath, [WRITER, directory], { stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = once(child, 'exit');
  let last = -1;
  let said = 0;
  for await (const line of createInterface({ input: child.stdout })) {
    last = Number(line);
    said++;
    if (said === lines) child.kill('SIGKILL');
  }
  expect((await exited)[1]).toBe('SIGKILL');
  return last;
}

test('ten times killed with SIGKILL in the middle of writing, the state holds all that was acknowledged', async () => {
  await using fixture = new AuditLogFixture();
  for (let loop = 0; loop < 10; loop++) {
    const last = await writeUntilKilled(fixture.directory, 20 + loop * 13);
    const store = await fixture.state();
    const stored = new Set(store.entries('s').map(({ key }) => key));
    const lost = Array.from({ length: last + 1 }, (_, n) => `k${n}`).filter((key) => !stored.has(key));
    expect(lost).toEqual([]);
    expect(store.get('s', `k${last}`)).toEqual({ n: last, text: 'x'.repeat(last % 700) });
    await store[Symbol.asyncDispose]();
    using database = new DatabaseSync(fixture.path('state.db'));
    expect(database.prepare('PRAGMA integrity_check').all()).toEqual([{ integrity_check: 'ok' }]);
  }
  expect(fixture.warnings).toEqual([]);
});
