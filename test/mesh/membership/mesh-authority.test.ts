import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readSecretFile, writeSecretFile } from '../../../src/auth/secret-file.ts';
import { certificateChainCodec } from '../../../src/codec/messages/membership.ts';
import { openBox, sealBox } from '../../../src/codec/passphrase-encryption.ts';
import { isSealedRootKey } from '../../../src/mesh/membership/root-key.ts';
import {
  foundedWithPassphrase,
  founder,
  hubKey,
  joined,
  MemoryRootKeyFile,
  meet,
  membershipFixture,
  PASSPHRASE,
  refusalOf,
  rejectionOf,
} from './membership-fixture.ts';

describe('the root key of a mesh', () => {
  test('lies sealed in a file that only its user can read', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'atmo-mesh-'));
    const path = join(directory, 'mesh', 'root.key');
    mkdirSync(join(directory, 'mesh'));
    try {
      const file = { path, ifOthersReadIt: 'make a new mesh', isWhole: isSealedRootKey, onRepaired: () => {} };
      const rootKeyFile = {
        path,
        read: () => readSecretFile(file),
        write: (text: string) => writeSecretFile(file, text),
        remove: () => rmSync(path, { force: true }),
      };
      const { authority } = await foundedWithPassphrase({ rootKeyFile, box: { seal: sealBox, open: openBox } });
      expect(statSync(path).mode & 0o777).toBe(0o600);
      expect(readFileSync(path, 'utf8')).toMatch(/^atmo-root1\.[A-Za-z0-9_-]{100,}\n$/);
      expect(await authority.exportRoot(PASSPHRASE)).toBe(readFileSync(path, 'utf8').trim());
    } finally {
      rmSync(directory, { recursive: true });
    }
  });

  test('makes no mesh with a passphrase that is short, nor a second mesh', async () => {
    const setup = await membershipFixture();
    expect((await rejectionOf(setup.authority.create({ passphrase: 'too short' }))).code).toBe('VALIDATION_ERROR');
    expect([setup.authority.hasRootKey(), setup.membership.state()]).toEqual([false, 'none']);
    const host = await founder();
    expect((await rejectionOf(host.authority.create({ passphrase: PASSPHRASE }))).code).toBe('CONFLICT');
  });

  test('that a kill left behind before the membership was written is taken up by the next try with its passphrase', async () => {
    const rootKeyFile = new MemoryRootKeyFile();
    const killed = await membershipFixture({ rootKeyFile });
    killed.store.set = () => {
      throw new RangeError('killed');
    };
    await expect(killed.authority.create({ passphrase: PASSPHRASE })).rejects.toThrow('killed');
    const text = rootKeyFile.read();
    const again = await membershipFixture({ rootKeyFile });
    expect((await rejectionOf(again.authority.create({ passphrase: 'another passphrase' }))).code).toBe('PERMISSION_DENIED');
    await again.authority.create({ passphrase: PASSPHRASE });
    expect(rootKeyFile.read()).toBe(text);
    expect(again.membership.state()).toBe('member');
  });

  test('a hub that does not know the time makes no certificates', async () => {
    const setup = await membershipFixture({ isTimeTrusted: false });
    const refusal = await rejectionOf(setup.authority.create({ passphrase: PASSPHRASE }));
    expect(refusal).toMatchObject({ code: 'CONFLICT', message: expect.stringContaining('atmo clock set') });
  });

  test('is not lost by leaving: it has to be exported or deleted by name', async () => {
    const host = await foundedWithPassphrase();
    const refusal = refusalOf(() => host.authority.leave({ rootKey: 'keep' }));
    expect(refusal).toMatchObject({ code: 'CONFLICT', message: expect.stringContaining('export-root') });
    expect(host.membership.state()).toBe('member');
    host.authority.leave({ rootKey: 'delete' });
    expect([host.authority.hasRootKey(), host.membership.state(), (await membershipFixture(host)).membership.state()]).toEqual([
      false,
      'none',
      'none',
    ]);
  });

  test('moves to another hub when the first is stolen: invite there, renew there, then revoke the first, and everybody else stays', async () => {
    const host = await foundedWithPassphrase();
    const [heir, guest] = [await joined(host), await joined(host)];
    const exported = await host.authority.exportRoot(PASSPHRASE);
    expect((await rejectionOf(heir.authority.importRoot({ text: exported, passphrase: 'not the passphrase' }))).code).toBe(
      'PERMISSION_DENIED',
    );
    await heir.authority.importRoot({ text: exported, passphrase: PASSPHRASE });
    await heir.authority.delegate({ hub: heir.self.hubId, passphrase: PASSPHRASE });
    host.clock.advance(1000);
    await meet(guest, heir);
    const answer = heir.admission.answerRenew(guest.self.hubId, certificateChainCodec.encode(guest.membership.requireOwn().certificate));
    guest.membership.replaceCertificate(certificateChainCodec.decode(answer));
    expect((await heir.authority.revoke({ hub: host.self.hubId, passphrase: PASSPHRASE })).alsoEnded).toEqual([]);
    for (const statement of heir.membership.statements()) guest.membership.merge(statement);
    expect(await meet(guest, heir)).toEqual({ dialler: 'admitted', answerer: 'admitted' });
    expect((await meet(host, guest)).answerer).toBe('revoked');
  });

  test('of another mesh is not brought here', async () => {
    const [one, other] = [await foundedWithPassphrase(), await founder()];
    const text = await one.authority.exportRoot(PASSPHRASE);
    expect((await rejectionOf(other.authority.importRoot({ text, passphrase: PASSPHRASE }))).code).toBe('CONFLICT');
    expect(other.authority.hasRootKey()).toBe(false);
    expect((await rejectionOf(other.authority.importRoot({ text: 'atmo-root1.AAAA', passphrase: PASSPHRASE }))).code).toBe(
      'VALIDATION_ERROR',
    );
  });
});

describe('sending hubs away', () => {
  test('a plain member sends nobody away', async () => {
    const host = await founder();
    const [one, other] = [await joined(host), await joined(host)];
    const refusal = await rejectionOf(one.authority.revoke({ hub: other.self.hubId }));
    expect(refusal).toMatchObject({ code: 'PERMISSION_DENIED', message: expect.stringContaining('root key') });
  });

  test('a hub that may invite is sent away with the passphrase alone', async () => {
    const host = await foundedWithPassphrase();
    const deputy = await joined(host);
    await host.authority.delegate({ hub: deputy.self.hubId, passphrase: PASSPHRASE });
    host.membership.admit(host.authority.delegationFor(deputy.self.hubId) ?? []);
    expect((await rejectionOf(host.authority.revoke({ hub: deputy.self.hubId }))).code).toBe('PERMISSION_DENIED');
    await host.authority.revoke({ hub: deputy.self.hubId, passphrase: PASSPHRASE });
    expect(host.membership.hub(deputy.self.hubId)).toBeUndefined();
    expect(host.authority.delegationFor(deputy.self.hubId)).toBeUndefined();
  });

  test.each(['', 'kitchen', 'hub-123', 'mesh-0123456789abcdef'])('%j is no hub to send away', async (hub) => {
    expect((await rejectionOf((await founder()).authority.revoke({ hub }))).code).toBe('NOT_FOUND');
  });

  test('a hub does not send itself away', async () => {
    const host = await founder();
    expect((await rejectionOf(host.authority.revoke({ hub: host.self.hubId }))).code).toBe('CONFLICT');
  });

  test('only a member that was met can be made one that invites', async () => {
    const host = await foundedWithPassphrase();
    expect((await rejectionOf(host.authority.delegate({ hub: hubKey().hubId, passphrase: PASSPHRASE }))).code).toBe('NOT_FOUND');
  });
});
