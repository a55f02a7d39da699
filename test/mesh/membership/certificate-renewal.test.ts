import { describe, expect, test } from 'vitest';
import { certificateChainCodec } from '../../../src/codec/messages/membership.ts';
import { RENEW_BEFORE_MS } from '../../../src/mesh/membership/certificate-renewal.ts';
import { memberCertificate } from '../../../src/mesh/membership/certificates.ts';
import { DAY_MS, foundedWithPassphrase, hubKey, joined, PASSPHRASE, reasonOf, refusalOf, rejectionOf } from './membership-fixture.ts';
import { MeshFixture } from './mesh-fixture.ts';

async function house() {
  const founded = await foundedWithPassphrase();
  const guest = await joined(founded, { permissions: ['light:*'] });
  const mesh = new MeshFixture(founded.clock);
  return { mesh, host: await mesh.add(founded), guest: await mesh.add(guest) };
}

describe('the renewal of certificates', () => {
  test('happens when a hub that may invite connects, from 30 days before the end on, with the same rights', async () => {
    const { mesh, host, guest } = await house();
    await using _ = mesh;
    const before = guest.membership.requireOwn();
    mesh.clock.advance(90 * DAY_MS - RENEW_BEFORE_MS - DAY_MS);
    await guest.dial(host.host);
    expect(guest.membership.requireOwn()).toBe(before);
    await host.engine.disconnect(guest.self.hubId);
    mesh.clock.advance(2 * DAY_MS);
    await guest.dial(host.host);
    const after = guest.membership.requireOwn();
    expect(after.expiresAtMs - before.expiresAtMs).toBeGreaterThan(60 * DAY_MS);
    expect([after.permissions, after.roles]).toEqual([['light:*'], ['member']]);
    expect(host.membership.member(guest.self.hubId)?.expiresAtMs).toBe(after.expiresAtMs);
    mesh.clock.advance(40 * DAY_MS);
    expect(guest.membership.state()).toBe('member');
  });

  test('is tried every hour while they stay connected', async () => {
    const { mesh, host, guest } = await house();
    await using _ = mesh;
    mesh.clock.advance(90 * DAY_MS - RENEW_BEFORE_MS - 600_000);
    await guest.dial(host.host);
    const before = guest.membership.requireOwn().expiresAtMs;
    await mesh.run(3_700_000, 1000);
    expect(guest.membership.requireOwn().expiresAtMs).toBeGreaterThan(before);
  });

  test('that finds nobody warns the owner', async () => {
    const { mesh, guest } = await house();
    await using _ = mesh;
    mesh.clock.advance(80 * DAY_MS);
    await mesh.run(3_600_000, 600_000);
    expect(guest.heard.find(({ type }) => type === 'hub.warning')?.data).toMatchObject({ warning: 'mesh.renewal_failed' });
    expect((await rejectionOf(guest.renewal.renewNow())).code).toBe('NODE_UNAVAILABLE');
  });

  test('is not for an ended or revoked certificate, nor for that of another hub', async () => {
    const { mesh, host, guest } = await house();
    await using _ = mesh;
    const chain = certificateChainCodec.encode(guest.membership.requireOwn().certificate);
    expect(reasonOf(refusalOf(() => host.admission.answerRenew(hubKey().hubId, chain)))).toBe('certificate_of_another');
    await host.authority.revoke({ hub: guest.self.hubId });
    expect(reasonOf(refusalOf(() => host.admission.answerRenew(guest.self.hubId, chain)))).toBe('revoked');
    mesh.clock.advance(91 * DAY_MS);
    expect(reasonOf(refusalOf(() => host.admission.answerRenew(guest.self.hubId, chain)))).toBe('expired');
  });

  test('gives nothing back to a hub that was let in again with less and shows its old certificate', async () => {
    const { mesh, host, guest } = await house();
    await using _ = mesh;
    const old = guest.membership.requireOwn().certificate;
    mesh.clock.advance(2_000);
    const request = { key: guest.self.publicKey, permissions: ['light:read'] };
    const less = memberCertificate({ own: host.membership.requireOwn(), self: host.self }, request, {
      now: () => mesh.clock.now(),
      isTrusted: () => true,
    });
    host.membership.remember(host.membership.verify(less));
    mesh.clock.advance(2_000);
    const renewed = certificateChainCodec.decode(host.admission.answerRenew(guest.self.hubId, certificateChainCodec.encode(old)));
    expect(host.membership.verify(renewed).permissions).toEqual(['light:read']);
  });

  test('is asked for so often only: each answer costs signatures and writes', async () => {
    const { mesh, host, guest } = await house();
    await using _ = mesh;
    await guest.dial(host.host);
    const codes: string[] = [];
    for (let count = 0; count < 20; count++)
      codes.push(
        await guest.renewal.renewNow().then(
          () => 'renewed',
          (error) => error.code,
        ),
      );
    expect(codes.filter((code) => code === 'renewed')).toHaveLength(16);
    expect(codes.at(-1)).toBe('RATE_LIMITED');
  });

  test('is not given by a member that may not invite', async () => {
    const { mesh, host, guest } = await house();
    await using _ = mesh;
    const other = await joined(host);
    const chain = certificateChainCodec.encode(other.membership.requireOwn().certificate);
    expect(refusalOf(() => guest.admission.answerRenew(other.self.hubId, chain)).code).toBe('PERMISSION_DENIED');
  });
});

describe('the right to invite', () => {
  test('reaches a connected hub at once, and one that is away when it connects', async () => {
    const { mesh, host, guest } = await house();
    await using _ = mesh;
    await host.authority.delegate({ hub: guest.self.hubId, passphrase: PASSPHRASE });
    expect(await host.renewal.handOver(guest.self.hubId)).toBe(false);
    expect((await rejectionOf(guest.admission.invite({}))).message).toContain(`atmo mesh delegate ${guest.self.hubId}`);
    mesh.clock.advance(1000);
    await guest.dial(host.host);
    expect(guest.membership.requireOwn()).toMatchObject({ roles: ['member', 'inviter'], permissions: ['light:*'] });
    expect(host.authority.delegationFor(guest.self.hubId)).toBeUndefined();
    expect((await guest.admission.invite({ permissions: ['light:on'] })).text).toMatch(/^atmo-join1\./);
    expect((await rejectionOf(guest.admission.invite({ permissions: ['*'] }))).code).toBe('PERMISSION_DENIED');
  });

  test('is taken from nobody but the root key: a hub that may invite pushes no certificate on another', async () => {
    const { mesh, host, guest } = await house();
    await using _ = mesh;
    const own = certificateChainCodec.encode(guest.membership.requireOwn().certificate);
    expect(reasonOf(refusalOf(() => guest.admission.answerRenew(host.self.hubId, own)))).toBe('certificate_invalid');
  });

  test('comes with an invite that the passphrase opened, until it is used, it expires, or the hub restarts', async () => {
    const { mesh, host } = await house();
    await using _ = mesh;
    const addresses = [`${host.host}:1`];
    const deputy = await mesh.addNew();
    await deputy.join({ invite: (await host.admission.invite({ addresses, inviter: { passphrase: PASSPHRASE } })).text });
    expect(deputy.membership.requireOwn()).toMatchObject({ roles: ['member', 'inviter'] });
    expect(deputy.membership.requireOwn().inviter).toBeUndefined();
    expect((await rejectionOf(host.admission.invite({ inviter: { passphrase: 'not the passphrase' } }))).code).toBe('PERMISSION_DENIED');
    const { text } = await host.admission.invite({ addresses, inviter: { passphrase: PASSPHRASE } });
    await host.engine[Symbol.asyncDispose]();
    const restarted = await mesh.addNew(host);
    const late = await mesh.addNew();
    expect((await rejectionOf(late.join({ invite: text }))).message).toContain('restarted');
    expect(restarted.admission.openInvites()).toEqual([]);
  });

  test.each([
    [{ ttlMs: 1000 }, 'from a minute'],
    [{ ttlMs: 2 * DAY_MS }, 'to a day'],
    [{ permissions: [] }, '1 to 16'],
    [{ permissions: ['light'] }, 'cannot be granted|can be granted'],
    [{ addresses: ['kitchen'] }, 'no address'],
    [{ addresses: Array.from({ length: 5 }, () => 'kitchen:1') }, 'at most 4'],
  ])('is not made into an invite of the terms %j', async (options, problem) => {
    const { mesh, host } = await house();
    await using _ = mesh;
    const refusal = await rejectionOf(host.admission.invite(options));
    expect(refusal.code).toBe('VALIDATION_ERROR');
    expect(refusal.message).toMatch(new RegExp(problem));
    expect(host.admission.openInvites()).toEqual([]);
  });
});
