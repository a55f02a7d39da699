import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, linkSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { hubOfStateDir, trustedAuthority } from '../../../src/cli/hub/hub-trust.ts';
import { ownerDecision, readApproverKey } from '../../../src/cli/identity/approver-key.ts';
import { findCredential } from '../../../src/cli/identity/credential.ts';
import { configDir, homeOf } from '../../../src/cli/identity/user-files.ts';
import { asUser, isOwnFolder, readSmallFile, runAsOwnerOf } from '../../../src/core/files/owner-rights.ts';

const NOBODY = { uid: 65534, gid: 65534 };
const SECRET = 'secret-of-root';
const isRoot = process.geteuid?.() === 0;

let dir: string;
/** A folder of another user, who may put anything into it. */
let folder: string;
let secret: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'owner-rights-'));
  chmodSync(dir, 0o755);
  folder = join(dir, 'state');
  mkdirSync(folder, { mode: 0o700 });
  mkdirSync(join(dir, 'root'), { mode: 0o755 });
  secret = join(dir, 'root/owner.token');
  writeFileSync(secret, SECRET, { mode: 0o600 });
  if (isRoot) chownSync(folder, NOBODY.uid, NOBODY.gid);
});
afterEach(() => rmSync(dir, { recursive: true }));

function putFile(name: string, text: string) {
  writeFileSync(join(folder, name), text, { mode: 0o600 });
  chownSync(join(folder, name), NOBODY.uid, NOBODY.gid);
}

const REFUSED = expect.objectContaining({ code: 'STORAGE_FAILED' });

describe.runIf(isRoot)('in a folder of another user, root', () => {
  test('reads the file of that user', () => {
    putFile('owner.token', 'at0.x');
    expect(readSmallFile(join(folder, 'owner.token'))).toBe('at0.x');
    expect([process.geteuid?.(), process.getegid?.(), process.getgroups?.()]).toEqual([0, 0, expect.arrayContaining([0])]);
  });

  test('follows no link, neither to its own files nor to those of the user', () => {
    putFile('other', 'x');
    for (const target of [secret, join(folder, 'other'), '/etc/passwd']) {
      rmSync(join(folder, 'owner.token'), { force: true });
      symlinkSync(target, join(folder, 'owner.token'));
      expect(() => readSmallFile(join(folder, 'owner.token'))).toThrow(REFUSED);
    }
  });

  test('reads nothing of its own behind a folder that is a link, nor a hard link, whatever the modes', () => {
    symlinkSync(join(dir, 'root'), join(folder, 'tls'));
    expect(() => readSmallFile(join(folder, 'tls/owner.token'), folder)).toThrow('EACCES');
    chmodSync(secret, 0o644);
    expect(() => readSmallFile(join(folder, 'tls/owner.token'), folder)).toThrow(REFUSED);
    linkSync(secret, join(folder, 'owner.token'));
    expect(() => readSmallFile(join(folder, 'owner.token'))).toThrow(REFUSED);
  });

  test('does not wait for a pipe, and does not read a file that grows without end', () => {
    execFileSync('/usr/bin/mkfifo', [join(folder, 'owner.token')]);
    chownSync(join(folder, 'owner.token'), NOBODY.uid, NOBODY.gid);
    expect(() => readSmallFile(join(folder, 'owner.token'))).toThrow(REFUSED);
    putFile('hub.key', 'x'.repeat(65 * 1024));
    expect(() => readSmallFile(join(folder, 'hub.key'))).toThrow(REFUSED);
  });

  test('takes no token, key or authority through a link, and quotes nothing of what is there', () => {
    const env = { ATMO_STATE_DIR: folder, HOME: dir };
    mkdirSync(join(folder, 'tls'));
    for (const name of ['owner.token', 'hub.key', 'owner.key', 'tls/ca.crt']) symlinkSync(secret, join(folder, name));
    expect(() => findCredential(env)).toThrow(REFUSED);
    expect(() => hubOfStateDir(folder)).toThrow(REFUSED);
    expect(() => readApproverKey(join(folder, 'owner.key'))).toThrow(REFUSED);
    expect(() => ownerDecision({ agent_id: 'owner' }, folder)).toThrow(REFUSED);
    expect(trustedAuthority(env, new URL('https://127.0.0.1:8081'))).toBeUndefined();
    rmSync(join(folder, 'owner.token'));
    putFile('owner.token', 'root:$6$hash:1\nann:$6$hash:1\n');
    expect(() => findCredential(env)).toThrow(expect.objectContaining({ message: expect.not.stringContaining('hash') }));
  });

  test("has neither root's user id nor root's groups while it does something for that user", async () => {
    const groupFile = join(dir, 'root/for-the-group');
    writeFileSync(groupFile, SECRET, { mode: 0o640 });
    expect(() => asUser(NOBODY, () => readSmallFile(groupFile))).toThrow('EACCES');
    await expect(runAsOwnerOf(folder, async () => readSmallFile(groupFile))).rejects.toThrow('EACCES');
    await runAsOwnerOf(folder, async () => writeFileSync(join(folder, 'made'), ''));
    expect(statSync(join(folder, 'made')).uid).toBe(NOBODY.uid);
    expect(readSmallFile(groupFile)).toBe(SECRET);
  });

  test("keeps nothing, although the environment names its home as root's", () => {
    const env = { HOME: folder, XDG_CONFIG_HOME: folder };
    expect([isOwnFolder(folder), isOwnFolder(dir)]).toEqual([false, true]);
    // sudo -E as root would make these, and what is in them.
    expect([isOwnFolder(join(folder, 'x/y')), isOwnFolder(join(dir, 'x/y'))]).toEqual([false, true]);
    expect(homeOf(env)).not.toBe(folder);
    expect(configDir(env, 'linux')).not.toContain(folder);
    expect(homeOf({ HOME: dir })).toBe(dir);
  });
});

test('a user who reads their own file may have put a link there', () => {
  symlinkSync(secret, join(dir, 'link'));
  expect(readSmallFile(join(dir, 'link'))).toBe(SECRET);
});
