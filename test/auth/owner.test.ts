import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { OwnerAuthenticator, OwnerCredential } from '../../src/auth/owner-token.ts';
import { backupCopyPath, type FileRepair } from '../../src/core/files/recoverable-file.ts';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'atmo-access-'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const token = (): string => readFileSync(join(directory, 'owner.token'), 'utf8').trim();

async function started(): Promise<OwnerCredential> {
  const credential = new OwnerCredential(directory, () => {});
  await credential.start();
  return credential;
}

describe('the owner credential', () => {
  test('the first start writes a token of 32 random bytes that only its user can read', async () => {
    await started();
    expect(token()).toMatch(/^at0\.[A-Za-z0-9_-]{43}$/);
    expect(statSync(join(directory, 'owner.token')).mode & 0o777).toBe(0o600);
    expect(readdirSync(directory)).toEqual(['owner.token', 'snapshots']);
  });

  test('later starts keep the token', async () => {
    await started();
    const first = token();
    const credential = await started();
    expect(token()).toBe(first);
    expect(credential.matches(first)).toBe(true);
  });

  test.each([
    ['deleted', () => rmSync(join(directory, 'owner.token'))],
    ['emptied', () => writeFileSync(join(directory, 'owner.token'), '')],
    ['replaced by another', () => writeFileSync(join(directory, 'owner.token'), `at0.${'A'.repeat(43)}\n`)],
  ])('a token that was %s has ended: the next start makes a new one and says so', async (_what, damage) => {
    await started();
    const first = token();
    damage();
    const repairs: FileRepair[] = [];
    const credential = new OwnerCredential(directory, (repair) => repairs.push(repair));
    await credential.start();
    expect([credential.matches(first), credential.matches(token()), credential.matches(`at0.${'A'.repeat(43)}`)]).toEqual([
      false,
      true,
      false,
    ]);
    expect(token()).not.toBe(first);
    expect(repairs).toMatchObject([{ instead: expect.stringContaining('new token') }]);
    expect((await started()).matches(token())).toBe(true);
  });

  test('two hubs never make the same token', async () => {
    await started();
    const first = token();
    for (const path of [join(directory, 'owner.token'), backupCopyPath(join(directory, 'owner.token'))]) rmSync(path);
    await started();
    expect(token()).not.toBe(first);
  });

  test('only the whole token matches', async () => {
    const credential = await started();
    const good = token();
    const lastChanged = good.slice(0, -1) + (good.endsWith('A') ? 'B' : 'A');
    expect(
      [good.slice(0, -1), `${good}A`, `${good}\n`, ` ${good}`, good.toUpperCase(), lastChanged, ''].filter((text) =>
        credential.matches(text),
      ),
    ).toEqual([]);
    expect(credential.matches(good)).toBe(true);
  });

  test('nothing matches before the start and after the stop', async () => {
    const credential = await started();
    await credential[Symbol.asyncDispose]();
    expect(credential.matches(token())).toBe(false);
    expect(new OwnerCredential(directory, () => {}).matches(token())).toBe(false);
  });

  test.each([0o640, 0o604, 0o660])('a file of mode %o is refused with the command that mends it', async (mode) => {
    await started();
    chmodSync(join(directory, 'owner.token'), mode);
    await expect(started()).rejects.toMatchObject({
      code: 'STORAGE_FAILED',
      message: expect.stringContaining(`chmod 600 ${join(directory, 'owner.token')}`),
    });
  });

  test('a file that holds something else is refused and left alone', async () => {
    writeFileSync(join(directory, 'owner.token'), 'at0.short\n', { mode: 0o600 });
    await expect(started()).rejects.toMatchObject({ code: 'STORAGE_FAILED', message: expect.stringContaining('delete it and its copy') });
    expect(token()).toBe('at0.short');
  });

  test('a directory that is not there is told as a storage failure', async () => {
    await expect(new OwnerCredential(join(directory, 'absent'), () => {}).start()).rejects.toMatchObject({ code: 'STORAGE_FAILED' });
  });

  test('rotating ends the old token at once and for later starts', async () => {
    const credential = await started();
    const old = token();
    credential.rotate();
    expect(token()).not.toBe(old);
    expect([old, token()].map((text) => credential.matches(text))).toEqual([false, true]);
    expect((await started()).matches(token())).toBe(true);
  });

  test('what a crash left of an unfinished rotation does not hinder the next one', async () => {
    const credential = await started();
    writeFileSync(join(directory, 'owner.token.partial'), 'at0.half');
    credential.rotate();
    expect(credential.matches(token())).toBe(true);
  });
});

describe('owner authentication', () => {
  test("the owner's token makes the owner", async () => {
    const authenticator = new OwnerAuthenticator(await started());
    expect(await authenticator.authenticate({ bearer: token(), operation: 'GET /' })).toEqual({
      principal: { id: 'owner', kind: 'owner', permissions: ['*', 'admin:*'] },
    });
  });

  test.each([undefined, ''])('no credential (%j) is UNAUTHENTICATED', async (bearer) => {
    const authenticator = new OwnerAuthenticator(await started());
    await expect(authenticator.authenticate({ ...(bearer !== undefined && { bearer }), operation: 'GET /' })).rejects.toMatchObject({
      code: 'UNAUTHENTICATED',
    });
  });

  test('another credential is TOKEN_INVALID, and the refusal repeats neither token', async () => {
    const authenticator = new OwnerAuthenticator(await started());
    const refusal = await authenticator.authenticate({ bearer: 'at0.guess', operation: 'GET /' }).catch((error: unknown) => error);
    expect(refusal).toMatchObject({ code: 'TOKEN_INVALID' });
    expect(String(refusal)).not.toContain('at0.');
  });

  test('who came with a token that was replaced is the owner no more, and hears no more events', async () => {
    const credential = await started();
    const authenticator = new OwnerAuthenticator(credential);
    const { principal: before } = await authenticator.authenticate({ bearer: token(), operation: 'GET /' });
    expect(authenticator.isStillValid(before)).toBe(true);
    credential.rotate();
    expect(authenticator.isStillValid(before)).toBe(false);
    const { principal: after } = await authenticator.authenticate({ bearer: token(), operation: 'GET /' });
    expect([authenticator.isStillValid(after), authenticator.isStillValid(before)]).toEqual([true, false]);
  });
});
