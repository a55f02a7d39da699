import { generateKeyPairSync, sign } from 'node:crypto';
import { chmodSync, chownSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { CliIo } from '../../../src/cli/cli-io.ts';
import { loginUser } from '../../../src/cli/commands/login.ts';
import { findCredential } from '../../../src/cli/identity/credential.ts';
import { configDirIn } from '../../../src/cli/identity/user-files.ts';
import { challengeStatement } from '../../../src/core/auth/principal.ts';
import { asUser } from '../../../src/core/files/owner-rights.ts';
import { CALLER_TOKEN, makeApprovalHub, tokenOf } from '../approval-hub.ts';
import { withDirectory } from '../cli-fixture.ts';

describe('atmo login', () => {
  test('gives a person a token and an enrolled key, for that user alone', async () => {
    await withDirectory(async (dir) => {
      const hub = await makeApprovalHub();
      const env = await hub.makeOwner(dir);
      const { code, err, json } = await hub.atmo(['login', '--person', 'ann', '--json'], env);
      expect([code, err]).toEqual([0, '']);
      const folder = join(dir, 'home/.config/atmosphere-edge');
      expect(json()).toMatchObject({ person: 'ann', directory: folder, days: 90 });
      expect(statSync(folder).mode & 0o777).toBe(0o700);
      for (const file of ['login.json', 'approver.key']) expect(statSync(join(folder, file)).mode & 0o777).toBe(0o600);
      expect(hub.approvers.keysOf('ann')).toMatchObject([{ keyId: json().key_id, label: 'atmo login' }]);
      expect(findCredential(env)).toEqual({ token: tokenOf('ann'), source: 'login', login: { file: join(folder, 'login.json') } });
    });
  });

  test('stores the key of the hub, so that the token is sent to no other', async () => {
    await withDirectory(async (dir) => {
      const hub = await makeApprovalHub();
      const env = await hub.makeOwner(dir);
      const { privateKey, publicKey } = generateKeyPairSync('ed25519');
      const proving: CliIo['fetch'] = async (url, init) => {
        const { pathname, searchParams, port } = new URL(url);
        if (pathname !== '/healthz') return hub.fetch(url, init);
        const statement = challengeStatement(Number(port), searchParams.get('challenge') ?? '');
        return Response.json({ proof: sign(null, statement, privateKey).toString('base64url') });
      };
      writeFileSync(join(env.ATMO_STATE_DIR ?? '', 'hub.key'), privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
      expect((await hub.atmo(['login', '--person', 'ann'], env, proving)).code).toBe(0);
      expect(findCredential(env)?.login?.hubKey).toBe(publicKey.export({ format: 'jwk' }).x);
    });
  });

  test('makes a person who can approve calls of others but not her own', async () => {
    await withDirectory(async (dir) => {
      const hub = await makeApprovalHub();
      const env = await hub.makeOwner(dir);
      await hub.atmo(['login', '--person', 'ann'], env);
      const own = await hub.atmo(['call', 'matter:unlock', '--params', '{}'], env);
      expect(own).toMatchObject({ code: 3, err: expect.stringContaining('APPROVAL_REQUIRED') });
      const [mine] = hub.queue.list();
      expect((await hub.atmo(['approve', mine?.view.approval_id ?? ''], env)).err).toContain(
        'because who asks never approves; another approver has to',
      );
      await hub.atmo(['call', 'matter:unlock', '--params', '{}'], { ATMO_TOKEN: CALLER_TOKEN });
      const [theirs] = hub.queue.list();
      expect((await hub.atmo(['approve', theirs?.view.approval_id ?? ''], env)).err).toContain('Approving as ann: kitchen wants');
      expect((await hub.atmo(['call', 'matter:unlock', '--params', '{}'], { ATMO_TOKEN: CALLER_TOKEN })).code).toBe(0);
      expect(hub.unlocked).toHaveLength(1);
    });
  });

  test('keeps the key the second time, and still needs the owner', async () => {
    await withDirectory(async (dir) => {
      const hub = await makeApprovalHub();
      const env = await hub.makeOwner(dir);
      const first = (await hub.atmo(['login', '--person', 'ann', '--json'], env)).json();
      const second = await hub.atmo(['login', '--person', 'ann', '--json'], env);
      expect([second.code, second.json().key_id]).toEqual([0, first.key_id]);
      expect((await hub.atmo(['login', '--person', 'ben'], env)).err).toContain('is enrolled for ann');
      const withoutOwner = { HOME: env.HOME, ATMO_STATE_DIR: join(dir, 'nowhere'), ATMO_TOKEN: tokenOf('ann') };
      expect((await hub.atmo(['login', '--person', 'ann'], withoutOwner)).code).toBe(3);
    });
  });

  test('rejects invalid names', async () => {
    await withDirectory(async (dir) => {
      const hub = await makeApprovalHub();
      const env = await hub.makeOwner(dir);
      for (const name of ['owner', 'a/b', 'x'.repeat(33), '']) expect((await hub.atmo(['login', '--person', name], env)).code).toBe(2);
      expect((await hub.atmo(['login'], { ...env, USER: 'Ann' })).out).toMatch(/^ann is logged in/);
    });
  });
});

describe('which credential is used', () => {
  test("is ATMO_TOKEN, then the login, then the owner's, and a login only at its own hub", async () => {
    await withDirectory(async (dir) => {
      const hub = await makeApprovalHub();
      const env = await hub.makeOwner(dir);
      expect(findCredential(env)?.source).toBe('owner');
      await hub.atmo(['login', '--person', 'ann'], env);
      expect(findCredential(env)?.source).toBe('login');
      expect(findCredential({ ...env, ATMO_TOKEN: 'x' })?.source).toBe('environment');
      expect(findCredential({ ...env, ATMO_HTTP_PORT: '9000' })?.source).toBe('owner');
      expect(findCredential({ ...env, ATMO_URL: 'https://192.168.1.5:8081' })).toBeUndefined();
      expect(readFileSync(join(dir, 'home/.config/atmosphere-edge/login.json'), 'utf8')).not.toContain('owner-secret');
    });
  });
});

test("after a logout the owner's token is used again", async () => {
  await withDirectory(async (dir) => {
    const hub = await makeApprovalHub();
    const env = await hub.makeOwner(dir);
    await hub.atmo(['login', '--person', 'ann'], env);
    expect((await hub.atmo(['logout', '--json'], env)).json()).toEqual({ was_logged_in: true });
    expect(findCredential(env)?.source).toBe('owner');
    expect((await hub.atmo(['logout'], env)).out).toBe('nobody was logged in\n');
    await hub.atmo(['login', '--person', 'ann'], env);
    expect((await hub.atmo(['logout'], env)).out).toContain('the token itself holds until its end');
  });
});

describe('behind sudo', () => {
  const SUDO = { SUDO_UID: '65534', SUDO_GID: '65534', SUDO_USER: 'ann', HOME: '/root', USER: 'root' };
  const isRoot = process.geteuid?.() === 0;

  test.runIf(isRoot)('the user is the one who ran sudo, with the home of the user database', () => {
    const user = loginUser(SUDO, (uid) => `ann:x:${uid}:65534:Ann:/home/ann:/bin/sh\n`);
    expect(user).toEqual({ name: 'ann', dir: '/home/ann/.config/atmosphere-edge', ids: { uid: 65534, gid: 65534 } });
    expect(loginUser({ ...SUDO, SUDO_UID: '0' })).toEqual({ name: 'root', dir: configDirIn(SUDO.HOME) });
    expect(() => loginUser({ ...SUDO, SUDO_UID: '4294900000' })).toThrow(expect.objectContaining({ code: 'NOT_FOUND' }));
  });

  test.runIf(isRoot)('the error for a user without access to the state directory names sudo and login', async () => {
    await withDirectory(async (dir) => {
      const user = { name: 'ann', dir, ids: { uid: 65534, gid: 65534 } };
      expect(() => asUser(user.ids, () => findCredential({ ATMO_STATE_DIR: dir, HOME: '/nonexistent' }))).toThrow(
        expect.objectContaining({ code: 'UNAUTHENTICATED', message: expect.stringMatching(/"sudo atmo …".*"sudo atmo login"/) }),
      );
    });
  });

  test.runIf(isRoot)('files belong to the user, and a link in the home reaches only files of the user', async () => {
    await withDirectory(async (dir) => {
      chmodSync(dir, 0o755);
      const home = join(dir, 'home');
      mkdirSync(home);
      chownSync(home, 65534, 65534);
      const user = { name: 'ann', dir: home, ids: { uid: 65534, gid: 65534 } };
      asUser(user.ids, () => mkdirSync(join(home, 'made')));
      expect(statSync(join(home, 'made')).uid).toBe(65534);
      const secret = join(dir, 'secret');
      mkdirSync(secret, { mode: 0o700 });
      symlinkSync(secret, join(home, 'link'));
      expect(() => asUser(user.ids, () => mkdirSync(join(home, 'link/in')))).toThrow('EACCES');
      expect([process.geteuid?.(), process.getegid?.()]).toEqual([0, 0]);
    });
  });
});
