import { createPrivateKey } from 'node:crypto';
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { enrolOwnerKey } from '../../../src/auth/approvals/approver-registry.ts';
import { rawPublicKey } from '../../../src/codec/public-key.ts';
import { backupCopyPath } from '../../../src/core/files/recoverable-file.ts';
import { silentLogger } from '../../../src/core/logger.ts';
import { makeApprovals, makePerson } from './approval-fixture.ts';

const refusal = (code: string, text = '') => expect.objectContaining({ code, message: expect.stringContaining(text) });

describe('the register of approvers', () => {
  test('lists persons with their keys and survives a restart', async () => {
    const { approvers, enrol, restart } = await makeApprovals();
    const ben = await enrol('ben');
    await enrol('ann');
    const laptop = makePerson('ann');
    const { keyId } = await approvers.enrol({ person: 'ann', key: laptop.raw, label: 'laptop' });
    expect(keyId).toMatch(/^[0-9a-f]{16}$/);
    const later = await restart();
    expect(later.approvers.list().map(({ person, label }) => [person, label])).toEqual([
      ['ann', 'phone'],
      ['ann', 'laptop'],
      ['ben', 'phone'],
    ]);
    expect(later.approvers.keysOf('ben')[0]?.key).toBe(ben.raw);
  });

  test('refuses names, labels and keys that are none', async () => {
    const { approvers } = await makeApprovals();
    const { raw } = makePerson('ann');
    for (const person of ['', 'Ann', 'a/b', '-ann', 'a'.repeat(33), 'ann ', 'änn']) {
      await expect(approvers.enrol({ person, key: raw, label: '' })).rejects.toEqual(refusal('VALIDATION_ERROR'));
    }
    for (const label of ['a\nb', '\u001b[2J', 'a\u202eb', 'a'.repeat(65)]) {
      await expect(approvers.enrol({ person: 'ann', key: raw, label })).rejects.toEqual(refusal('VALIDATION_ERROR', 'label'));
    }
    const identity = Buffer.from(`01${'00'.repeat(31)}`, 'hex').toString('base64url');
    for (const key of ['', 'AAAA', `${raw}=`, raw.slice(1), identity, `${raw.slice(0, -1)}${raw.endsWith('B') ? 'C' : 'B'}`]) {
      await expect(approvers.enrol({ person: 'ann', key, label: '' })).rejects.toEqual(refusal('VALIDATION_ERROR', 'key'));
    }
    expect(approvers.list()).toEqual([]);
  });

  test('a key belongs to one person, and a person has at most eight', async () => {
    const { approvers, enrol } = await makeApprovals();
    const ann = await enrol('ann');
    await expect(approvers.enrol({ person: 'ben', key: ann.raw, label: '' })).rejects.toEqual(refusal('CONFLICT', 'for ann'));
    for (let key = 1; key < 8; key++) await enrol('ann');
    await expect(enrol('ann')).rejects.toEqual(refusal('CONFLICT', '8 approver keys'));
    await enrol('ben');
  });

  test('the last key of all cannot be removed, and unknown ones are not found', async () => {
    const { approvers, enrol, notes } = await makeApprovals();
    await enrol('ann');
    await enrol('ben');
    const [ann, ben] = approvers.list().map(({ keyId }) => keyId);
    expect(await approvers.remove(ann ?? '')).toMatchObject({ person: 'ann' });
    await expect(approvers.remove(ann ?? '')).rejects.toEqual(refusal('NOT_FOUND'));
    await expect(approvers.remove('x'.repeat(1_000))).rejects.toEqual(refusal('NOT_FOUND', `No approver has a key "${'x'.repeat(32)}";`));
    await expect(approvers.remove(ben ?? '')).rejects.toEqual(refusal('CONFLICT', 'last approver key'));
    expect(notes.map(({ event, data }) => [event, data.person])).toEqual([
      ['approver.enrolled', 'ann'],
      ['approver.enrolled', 'ben'],
      ['approver.removed', 'ann'],
    ]);
  });
});

describe("the owner's approver key", () => {
  let directory: string;
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'atmo-owner-key-'));
  });
  afterEach(() => rmSync(directory, { recursive: true, force: true }));

  const path = () => join(directory, 'owner.key');
  const rawInFile = () => rawPublicKey(createPrivateKey(readFileSync(path(), 'utf8')));

  async function makeOwner() {
    const setup = await makeApprovals();
    const start = () => enrolOwnerKey({ approvers: setup.approvers, logger: silentLogger, onRepaired: () => {} }, directory);
    await start();
    return { ...setup, start };
  }

  test('is made at the first start, for its user alone, and enrolled', async () => {
    const { approvers } = await makeOwner();
    expect(statSync(path()).mode & 0o777).toBe(0o600);
    expect(approvers.list()).toMatchObject([{ person: 'owner', key: rawInFile(), label: 'owner.key' }]);
  });

  test('stays at later starts, and signs', async () => {
    const { approvers, start, file, say } = await makeOwner();
    await start();
    expect(approvers.list()).toHaveLength(1);
    const owner = { name: 'owner', key: createPrivateKey(readFileSync(path(), 'utf8')), raw: rawInFile() };
    expect(await say(await file(), owner)).toMatchObject({ state: 'approved' });
  });

  test('is replaced when its file and its copy were lost, and the old key counts no more, other keys of the owner do', async () => {
    const { approvers, start, enrol } = await makeOwner();
    const old = rawInFile();
    const phone = await enrol('owner');
    await start();
    expect(approvers.list().map(({ key }) => key)).toEqual([old, phone.raw]);
    for (const lost of [path(), backupCopyPath(path())]) rmSync(lost);
    await start();
    expect(rawInFile()).not.toBe(old);
    expect(new Set(approvers.list().map(({ key }) => key))).toEqual(new Set([phone.raw, rawInFile()]));
  });

  test('is completed by the next start after a crash at any step of the first or of a replacement', async () => {
    const { approvers, start, store } = await makeOwner();
    const keyId = approvers.list()[0]?.keyId ?? '';
    store.delete('approvers', keyId);
    await start();
    expect(approvers.list()).toMatchObject([{ keyId, person: 'owner' }]);
    for (const lost of [path(), backupCopyPath(path())]) rmSync(lost);
    const { approvers: strangers, start: startElsewhere } = await makeOwner();
    expect(strangers.list()).toHaveLength(1);
    await start();
    expect(approvers.list()).toMatchObject([{ key: rawInFile() }]);
    await approvers.enrol({ person: 'owner', key: makePerson('owner').raw, label: 'owner.key' });
    await start();
    await startElsewhere();
    expect(approvers.list()).toMatchObject([{ key: rawInFile() }]);
  });

  test('does not bring back an owner whom the approvers have removed', async () => {
    const { approvers, start, enrol } = await makeOwner();
    await enrol('ann');
    await approvers.remove(approvers.keysOf('owner')[0]?.keyId ?? '');
    await start();
    rmSync(path());
    await start();
    expect(approvers.list().map(({ person }) => person)).toEqual(['ann']);
  });

  test('a file that others can read, or that holds something else, stops the start', async () => {
    const { start } = await makeOwner();
    chmodSync(path(), 0o640);
    await expect(start()).rejects.toEqual(refusal('STORAGE_FAILED', 'chmod 600'));
    chmodSync(path(), 0o600);
    writeFileSync(path(), 'nonsense');
    rmSync(backupCopyPath(path()));
    await expect(start()).rejects.toEqual(refusal('STORAGE_FAILED'));
  });
});
