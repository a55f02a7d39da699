import { createECDH, createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { HubKey } from '../../src/auth/hub-key.ts';
import { signSign1, verifySign1 } from '../../src/codec/cose-sign1.ts';
import { hubIdOf, publicKeyOf } from '../../src/codec/public-key.ts';
import { backupCopyPath } from '../../src/core/files/recoverable-file.ts';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'atmo-hub-key-'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

async function started(): Promise<HubKey> {
  const key = new HubKey(directory, () => {});
  await key.start();
  return key;
}

test('the id of the hub comes from its public key and survives a restart', async () => {
  const key = await started();
  const digest = createHash('sha256').update(Buffer.from(key.publicKey, 'base64url')).digest('hex');
  expect(key.hubId).toBe(`hub-${digest.slice(0, 16)}`);
  expect((await started()).hubId).toBe(key.hubId);
  expect(hubIdOf(key.publicKey)).toBe(key.hubId);
});

test('what the hub signs is verified with its public key', async () => {
  const key = await started();
  const empty = new Uint8Array();
  const message = signSign1({ payload: Uint8Array.of(1), key: key.privateKey, externalAad: empty });
  expect(verifySign1(message, { keyOf: () => publicKeyOf(key.publicKey), externalAad: empty })).toEqual(Uint8Array.of(1));
});

test('a sealed secret is the same over restarts and in any order of members, and tells secrets and kinds apart', async () => {
  const key = await started();
  const sealed = key.sealSecret({ pin: '1234', user: 1 });
  expect(sealed).toMatch(/^[0-9a-f]{64}$/);
  expect((await started()).sealSecret({ user: 1, pin: '1234' })).toBe(sealed);
  expect(new Set([sealed, key.sealSecret('1234'), key.sealSecret(1234), key.sealSecret('1235'), key.sealSecret(['1234'])]).size).toBe(5);
});

test('another hub seals the same secret otherwise', async () => {
  const sealed = (await started()).sealSecret('1234');
  for (const path of [join(directory, 'hub.key'), backupCopyPath(join(directory, 'hub.key'))]) rmSync(path);
  const other = await started();
  expect(other.sealSecret('1234')).not.toBe(sealed);
});

test('the key pair for Web Push is one of P-256, the same over restarts, and another one at another hub', async () => {
  const { publicKey, privateKey } = (await started()).pushKey;
  const pair = createECDH('prime256v1');
  pair.setPrivateKey(privateKey, 'base64url');
  expect(pair.getPublicKey('base64url')).toBe(publicKey);
  expect((await started()).pushKey).toEqual({ publicKey, privateKey });
  for (const path of [join(directory, 'hub.key'), backupCopyPath(join(directory, 'hub.key'))]) rmSync(path);
  expect((await started()).pushKey.publicKey).not.toBe(publicKey);
});

test('a key for Web Push whose first byte is zero has 32 bytes too', async () => {
  // The 181st seed is the first one from which such a key is derived.
  const der = Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), Buffer.alloc(31), Buffer.of(181)]);
  const pem = `-----BEGIN PRIVATE KEY-----\n${der.toString('base64')}\n-----END PRIVATE KEY-----\n`;
  writeFileSync(join(directory, 'hub.key'), pem, { mode: 0o600 });
  const key = Buffer.from((await started()).pushKey.privateKey, 'base64url');
  expect([key.length, key[0]]).toEqual([32, 0]);
});

test('before the start and after the stop there is no key', async () => {
  expect(() => new HubKey(directory, () => {}).hubId).toThrow(expect.objectContaining({ code: 'INTERNAL_ERROR' }));
  const key = await started();
  await key[Symbol.asyncDispose]();
  await key[Symbol.asyncDispose]();
  expect(() => key.privateKey).toThrow(expect.objectContaining({ code: 'INTERNAL_ERROR' }));
});
