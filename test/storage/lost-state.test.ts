import { copyFileSync, cpSync, mkdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test } from 'vitest';
import { silentLogger } from '../../src/core/logger.ts';
import { StateAnchors } from '../../src/storage/state-anchors.ts';
import { ENTRY_MIGRATIONS, type StateStore } from '../../src/storage/state-store.ts';
import { smallWrites } from './small-writes.ts';
import { AuditLogFixture } from './storage-fixture.ts';

const REVOKED = 'access.revocations';

/** A hub's state: named before the copy of the database was made, with a token revoked after it. */
async function fill(fixture: AuditLogFixture): Promise<StateStore> {
  const store = await fixture.state();
  store.set('agents', 'bot', { name: 'Bot' });
  store.set('approvals', 'asked', { state: 'open' });
  await store.snapshot();
  store.set(REVOKED, 'token-1', 'statement');
  store.set('approvals', 'asked', { state: 'used' });
  store.set('devices', 'lamp', 'Lamp');
  return store;
}

/** The directory as a kill leaves it: the databases are open, and what was written last is in their logs alone. */
function killed(from: AuditLogFixture, to: AuditLogFixture): void {
  cpSync(from.directory, to.directory, { recursive: true });
}

function flip(path: string, at: number): void {
  const bytes = readFileSync(path);
  bytes[at] = (bytes[at] ?? 0) ^ 0x10;
  writeFileSync(path, bytes);
}

const warningsOf = (fixture: AuditLogFixture) => fixture.warnings.map(({ data }) => data.warning);

describe('a state.db that was emptied or lost', () => {
  test.each([
    ['empty', (path: string) => truncateSync(path, 0)],
    ['deleted', (path: string) => rmSync(path)],
    ['a folder', (path: string) => [rmSync(path), mkdirSync(path)]],
  ])('%s after a clean stop comes back from its copy, and what was revoked or used since stays so', async (_what, damage) => {
    await using fixture = new AuditLogFixture();
    await fill(fixture);
    await fixture.close();
    expect((await fixture.state()).hasLostChanges).toBe(false);
    await fixture.close();
    damage(fixture.path('state.db'));
    const store = await fixture.state();
    expect(store.hasLostChanges).toBe(true);
    expect(store.get('agents', 'bot')).toEqual({ name: 'Bot' });
    expect(store.get(REVOKED, 'token-1')).toBe('statement');
    expect(store.get('approvals', 'asked')).toEqual({ state: 'used' });
    expect(store.get('devices', 'lamp')).toBeUndefined();
    expect(warningsOf(fixture)).toContain('storage.database_restored');
    expect(fixture.collaborators.problems.list().join()).toMatch(/state\.db is (empty|missing).*the copy of .* is in its place/);
  });

  test('is refused when there is no copy of it', async () => {
    await using fixture = new AuditLogFixture();
    (await fixture.state()).set('agents', 'bot', 1);
    await fixture.close();
    truncateSync(fixture.path('state.db'), 0);
    await expect(fixture.state()).rejects.toMatchObject({ code: 'STORAGE_FAILED', message: expect.stringContaining('state.db is empty') });
  });

  test.each([
    ['a byte of its head flipped', (path: string) => flip(path, 20)],
    ['a byte of its middle flipped', (path: string) => flip(path, Math.floor(readFileSync(path).length / 2))],
    ['half of it cut off', (path: string) => truncateSync(path, Math.floor(readFileSync(path).length / 2))],
    ['all of it lost', (path: string) => rmSync(path)],
  ])('after a kill, of whose log %s, is told, and what was revoked stays so', async (_what, damage) => {
    await using before = new AuditLogFixture();
    await using fixture = new AuditLogFixture();
    await fill(before);
    killed(before, fixture);
    damage(fixture.path('state.db-wal'));
    const store = await fixture.state();
    expect(store.get(REVOKED, 'token-1')).toBe('statement');
    expect(store.get('approvals', 'asked')).toEqual({ state: 'used' });
    expect(warningsOf(fixture).join()).toMatch(/database_(restored|outdated)/);
    expect(fixture.collaborators.problems.list()).toHaveLength(1);
  });

  test('that is replaced by an older one is reported once, and kept where the copy of it is older still', async () => {
    await using fixture = new AuditLogFixture();
    const path = fixture.path('state.db');
    const first = await fixture.state();
    await first.snapshot();
    first.set('s', 'k', 1);
    await fixture.close();
    copyFileSync(path, `${path}.before`);
    (await fixture.state()).set('s', 'k', 2);
    await fixture.close();
    copyFileSync(`${path}.before`, path);
    expect((await fixture.state()).get('s', 'k')).toBe(1);
    await fixture.close();
    expect((await fixture.state()).get('s', 'k')).toBe(1);
    expect(warningsOf(fixture)).toEqual(['storage.database_outdated']);
    expect(fixture.collaborators.problems.list()).toEqual([expect.stringContaining('state.db has lost its last 1 changes')]);
  });

  test('of which a value was changed behind its back comes back from its copy', async () => {
    await using fixture = new AuditLogFixture();
    await fill(fixture);
    await fixture.close();
    const database = new DatabaseSync(fixture.path('state.db'));
    database.exec(`UPDATE entry SET value = '"Lump"' WHERE key = 'lamp'`);
    database.close();
    const store = await fixture.state();
    expect(store.get('devices', 'lamp')).toBeUndefined();
    expect(warningsOf(fixture)).toEqual(['storage.database_restored']);
  });
});

describe('no false alarm', () => {
  test('comes of a kill between the file and its anchor, nor of an anchor that is gone, cut or damaged', async () => {
    for (const change of [
      (path: string) => writeFileSync(path, ''),
      (path: string) => rmSync(path),
      (path: string) => flip(path, 10),
      (path: string) => truncateSync(path, 60),
      (path: string) => [rmSync(path), mkdirSync(path)],
    ]) {
      await using before = new AuditLogFixture();
      await using fixture = new AuditLogFixture();
      const store = await fill(before);
      const anchors = readFileSync(before.path('anchors'));
      store.set('s', 'k', 'after the anchor was read');
      killed(before, fixture);
      writeFileSync(fixture.path('anchors'), anchors);
      await fixture.state();
      await fixture.close();
      change(fixture.path('anchors'));
      expect((await fixture.state()).get('s', 'k')).toBe('after the anchor was read');
      expect(fixture.warnings).toEqual([]);
    }
  });

  test('comes of a power cut that took commits which were never promised: a line of an earlier start counts for what was synced', async () => {
    await using fixture = new AuditLogFixture();
    const mark = (generation: number) => ({ generation, digest: '' });
    const before = new StateAnchors(fixture.directory, silentLogger, { boot: 'boot-1' });
    before.of('audit.db').synced(mark(7));
    before.of('audit.db').committed(mark(9));
    expect(new StateAnchors(fixture.directory, silentLogger, { boot: 'boot-1' }).of('audit.db').least()).toEqual(mark(9));
    expect(new StateAnchors(fixture.directory, silentLogger, { boot: 'boot-2' }).of('audit.db').least()).toEqual(mark(7));
  });

  test('comes of a disk that takes a part of an anchor: it is given the rest', async () => {
    await using fixture = new AuditLogFixture();
    const { takes, write } = smallWrites();
    takes.push(500, 20);
    await using anchors = new StateAnchors(fixture.directory, silentLogger, { boot: 'boot-1', write });
    await anchors.start();
    takes.push(30, 60);
    for (const generation of [7, 8]) anchors.of('matter/hub/storage.db').synced({ generation, digest: '' });
    const again = new StateAnchors(fixture.directory, silentLogger, { boot: 'boot-1' });
    expect(again.of('matter/hub/storage.db').least()).toEqual({ generation: 8, digest: '' });
  });

  test('comes of the directory of an older hub, which opens as it is', async () => {
    await using fixture = new AuditLogFixture();
    const database = new DatabaseSync(fixture.path('state.db'));
    database.exec(`${ENTRY_MIGRATIONS[0]}; PRAGMA user_version = 1`);
    database.exec(`INSERT INTO entry VALUES ('devices', 'lamp', '"Lamp"', NULL), ('${REVOKED}', 't', '"s"', NULL)`);
    database.close();
    const store = await fixture.state();
    expect([store.get('devices', 'lamp'), store.get(REVOKED, 't')]).toEqual(['Lamp', 's']);
    expect(store.delete('devices', 'lamp')).toBe(true);
    await fixture.close();
    expect((await fixture.state()).entries('devices')).toEqual([]);
    expect(fixture.warnings).toEqual([]);
    expect(readFileSync(fixture.path('trust.log'), 'utf8')).toContain(REVOKED);
  });
});

describe('trust.log', () => {
  test('keeps what was taken from the trusted over restarts, for a state.db that comes back from before', async () => {
    await using fixture = new AuditLogFixture();
    const first = await fixture.state();
    first.set('approvers', 'mallory', { key: 'k' });
    first.set('approvers', 'ann', { key: 'a' });
    await first.snapshot();
    first.delete('approvers', 'mallory');
    for (let restarts = 0; restarts < 2; restarts++) {
      await fixture.close();
      expect((await fixture.state()).get('approvers', 'mallory')).toBeUndefined();
    }
    await fixture.close();
    truncateSync(fixture.path('state.db'), 0);
    const store = await fixture.state();
    expect(store.entries('approvers').map(({ key }) => key)).toEqual(['ann']);
    store.set('approvers', 'mallory', { key: 'k2' });
    await fixture.close();
    expect((await fixture.state()).get('approvers', 'mallory')).toEqual({ key: 'k2' });
  });

  test('that is damaged, cut or gone is written anew from what state.db holds', async () => {
    for (const change of [
      (path: string) => rmSync(path),
      (path: string) => truncateSync(path, 30),
      (path: string) => flip(path, 40),
      (path: string) => [rmSync(path), mkdirSync(path)],
    ]) {
      await using fixture = new AuditLogFixture();
      await fill(fixture);
      await fixture.close();
      const path = fixture.path('trust.log');
      const expected = readFileSync(path, 'utf8').trim().split('\n').slice(1).sort();
      change(path);
      expect((await fixture.state()).get(REVOKED, 'token-1')).toBe('statement');
      await fixture.close();
      expect(readFileSync(path, 'utf8').trim().split('\n').sort()).toEqual(expected);
    }
  });

  test('brings back what has an end with that end', async () => {
    await using fixture = new AuditLogFixture();
    const store = await fixture.state();
    await store.snapshot();
    store.set(REVOKED, 'token-1', 'statement', { ttlMs: 60_000 });
    await fixture.close();
    truncateSync(fixture.path('state.db'), 0);
    const restored = await fixture.state();
    fixture.clock.advance(59_999);
    expect(restored.get(REVOKED, 'token-1')).toBe('statement');
    fixture.clock.advance(1);
    expect(restored.get(REVOKED, 'token-1')).toBeUndefined();
  });

  test('brings nothing back that ended meanwhile', async () => {
    await using fixture = new AuditLogFixture();
    const store = await fixture.state();
    store.set(REVOKED, 'token-1', 'statement');
    await store.snapshot();
    store.delete(REVOKED, 'token-1');
    await fixture.close();
    truncateSync(fixture.path('state.db'), 0);
    expect((await fixture.state()).entries(REVOKED)).toEqual([]);
  });
});
