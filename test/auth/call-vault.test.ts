import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { HubCallVault } from '../../src/auth/call-vault.ts';
import { HubKey } from '../../src/auth/hub-key.ts';
import { OwnerAuthenticator, OwnerCredential } from '../../src/auth/owner-token.ts';
import { hubIdOf } from '../../src/codec/public-key.ts';
import type { Principal } from '../../src/core/auth/principal.ts';
import { AtmoError } from '../../src/core/errors.ts';
import { agent, withToken } from '../calls/pipeline-fixture.ts';

const dirs: string[] = [];
const memberHubs = new Set<string>();
afterAll(() => {
  for (const dir of dirs) rmSync(dir, { recursive: true, force: true });
});

const CALL = { tool: 'matter:door_unlock@1.0.0', params: { pin: '493817' } };
const kitchen = withToken(agent('device:control:*'), { text: 'at1.kitchen' });

/** A vault of a hub, and what its next process finds. */
async function makeVault(dir = mkdtempSync(join(tmpdir(), 'vault-'))) {
  dirs.push(dir);
  const key = new HubKey(dir, () => {});
  const credential = new OwnerCredential(dir, () => {});
  await key.start();
  await credential.start();
  const owner = new OwnerAuthenticator(credential);
  const tokens = {
    principalOf: (text: string): Principal => {
      if (text === 'at1.kitchen') return kitchen;
      throw new AtmoError('TOKEN_INVALID', 'revoked');
    },
  };
  const members = { has: (hub: string) => memberHubs.has(hub) };
  return { vault: new HubCallVault({ key, tokens, owner, members }), credential, owner, restart: () => makeVault(dir) };
}

test('a waiting call is found again after a restart, with its secrets and its caller, whose token is verified anew', async () => {
  const { vault, restart } = await makeVault();
  const sealed = vault.seal('job-1', { call: CALL, principal: kitchen });
  expect(sealed).not.toMatch(/493817|kitchen|unlock/);
  expect(Buffer.from(sealed, 'base64url').toString('latin1')).not.toMatch(/493817|kitchen|unlock/);
  expect((await restart()).vault.open('job-1', sealed)).toEqual({ call: CALL, principal: kitchen });
  const revoked = vault.seal('job-2', { call: CALL, principal: withToken(kitchen, { text: 'at1.revoked' }) });
  expect(() => vault.open('job-2', revoked)).toThrow(expect.objectContaining({ code: 'TOKEN_INVALID' }));
});

test('an altered call, that of another job and that of another hub are not opened', async () => {
  const [{ vault }, other] = [await makeVault(), await makeVault()];
  const sealed = vault.seal('job-1', { call: CALL, principal: kitchen });
  const unreadable = expect.objectContaining({ code: 'STORAGE_FAILED' });
  expect(() => vault.open('job-2', sealed)).toThrow(unreadable);
  expect(() => other.vault.open('job-1', sealed)).toThrow(unreadable);
  for (const text of ['', 'AA', sealed.slice(0, -4), sealed.slice(4)]) expect(() => vault.open('job-1', text)).toThrow(unreadable);
  for (let at = 0; at < sealed.length; at += 7) {
    const altered = `${sealed.slice(0, at)}${sealed[at] === 'A' ? 'B' : 'A'}${sealed.slice(at + 1)}`;
    expect(() => vault.open('job-1', altered)).toThrow(unreadable);
  }
});

test("a call of the owner ends with the owner's token, and one without a token cannot wait", async () => {
  const { vault, credential, owner, restart } = await makeVault();
  const principal = owner.principalOf(owner.mark());
  if (!principal) throw new Error('no owner');
  const sealed = vault.seal('job-1', { call: CALL, principal });
  expect(sealed).not.toContain('at0.');
  expect(vault.open('job-1', sealed).principal).toEqual(principal);
  expect((await restart()).vault.open('job-1', sealed).principal).toEqual(principal);
  credential.rotate();
  expect(() => vault.open('job-1', sealed)).toThrow(expect.objectContaining({ code: 'TOKEN_INVALID' }));
  expect(() => vault.seal('job-2', { call: CALL, principal: agent('*') })).toThrow(expect.objectContaining({ code: 'NOT_SUPPORTED' }));
});

test('a waiting call of another hub needs that this hub still is a member', async () => {
  const key = Buffer.alloc(32, 7).toString('base64url');
  const { vault } = await makeVault();
  memberHubs.add(hubIdOf(key));
  const sealed = vault.seal('job-1', { call: CALL, principal: withToken(kitchen, { text: 'at1.kitchen', keys: [key] }) });
  expect(vault.open('job-1', sealed).principal).toEqual(kitchen);
  memberHubs.clear();
  expect(() => vault.open('job-1', sealed)).toThrow(expect.objectContaining({ code: 'TOKEN_INVALID' }));
  const withOwnKey = vault.seal('job-2', { call: CALL, principal: withToken(kitchen, { text: 'at1.kitchen', keys: [key] }) });
  expect(vault.open('job-2', withOwnKey).principal).toEqual(kitchen);
});
