import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { memberRevocationCodec, revocationStatementCodec } from '../../../src/codec/messages/membership.ts';
import { meshIdOf } from '../../../src/codec/public-key.ts';
import { silentLogger } from '../../../src/core/logger.ts';
import { inviterCertificate, memberCertificate, verifyCertificate } from '../../../src/mesh/membership/certificates.ts';
import { RevokedMembers } from '../../../src/mesh/membership/member-set.ts';
import { ManualClock } from '../../manual-clock.ts';
import { MemoryKeyValueStore } from '../../memory-key-value-store.ts';
import { hubKey, reasonOf, refusalOf, rootKey } from './membership-fixture.ts';

const root = rootKey();
const meshId = meshIdOf(root.publicKey);
const clock = new ManualClock();
const time = { now: () => clock.now(), isTrusted: () => true };
const [inviter, deputy, guest, guestOfDeputy] = [hubKey(), hubKey(), hubKey(), hubKey()];

const memberOf = (certificate: readonly Uint8Array[]) => verifyCertificate(certificate, root.publicKey);
const byRoot = (hub: { readonly publicKey: string }) =>
  memberOf(inviterCertificate(root, { key: hub.publicKey, permissions: ['*'] }, time));
const [inviterMember, deputyMember] = [byRoot(inviter), byRoot(deputy)];
const invitedBy = (self: typeof inviter, own: typeof inviterMember, hub: { readonly publicKey: string }) =>
  memberOf(memberCertificate({ own, self }, { key: hub.publicKey, permissions: ['*'] }, time));
const guestMember = invitedBy(inviter, inviterMember, guest);
const deputysGuest = invitedBy(deputy, deputyMember, guestOfDeputy);

function statement(hubId: typeof inviter.hubId, by: 'root' | typeof inviter, atMs = 1): Uint8Array {
  const revocation = { meshId, hubId, atMs };
  if (by === 'root') return revocationStatementCodec.encode({ signed: memberRevocationCodec.sign(revocation, root.privateKey) });
  const signer = (by === inviter ? inviterMember : deputyMember).certificate;
  return revocationStatementCodec.encode({ signed: memberRevocationCodec.sign(revocation, by.privateKey), signer });
}

function list(store = new MemoryKeyValueStore(clock)) {
  const revoked = new RevokedMembers({ store, logger: silentLogger }, root.publicKey);
  revoked.load();
  return { revoked, store };
}

describe('revoked members', () => {
  test('a hub that may invite ends a member; a statement says something new once', () => {
    const { revoked } = list();
    const said = statement(guest.hubId, inviter);
    expect(revoked.covers(guestMember)).toBe(false);
    expect(revoked.merge(said)).toBe(guest.hubId);
    expect(revoked.merge(said)).toBeUndefined();
    expect(revoked.covers(guestMember)).toBe(true);
    expect(revoked.covers(deputysGuest)).toBe(false);
  });

  test('a hub that may invite does not end another one of its kind, the root key does, with all that it let in', () => {
    const { revoked } = list();
    revoked.merge(statement(deputy.hubId, inviter));
    expect([revoked.covers(deputyMember), revoked.covers(deputysGuest)]).toEqual([false, false]);
    revoked.merge(statement(deputy.hubId, 'root'));
    expect([revoked.covers(deputyMember), revoked.covers(deputysGuest)]).toEqual([true, true]);
    expect(revoked.covers(inviterMember)).toBe(false);
  });

  test('the statements of a hub stay valid after its own revocation, in whatever order they arrive', () => {
    const [said, ended] = [statement(guestOfDeputy.hubId, deputy), statement(deputy.hubId, 'root')];
    const [one, other] = [list().revoked, list().revoked];
    for (const each of [said, ended]) one.merge(each);
    for (const each of [ended, said]) other.merge(each);
    expect(one.hubs().toSorted()).toEqual(other.hubs().toSorted());
    expect(other.hubs()).toContain(guestOfDeputy.hubId);
  });

  test('a plain member, a stranger and another mesh end nobody', () => {
    const { revoked } = list();
    const revocation = { meshId, hubId: inviter.hubId, atMs: 1 };
    const byGuest = revocationStatementCodec.encode({
      signed: memberRevocationCodec.sign(revocation, guest.privateKey),
      signer: guestMember.certificate,
    });
    expect(reasonOf(refusalOf(() => revoked.merge(byGuest)))).toBe('certificate_invalid');
    const stranger = revocationStatementCodec.encode({ signed: memberRevocationCodec.sign(revocation, hubKey().privateKey) });
    expect(refusalOf(() => revoked.merge(stranger)).code).toBe('VALIDATION_ERROR');
    const borrowed = revocationStatementCodec.encode({
      signed: memberRevocationCodec.sign(revocation, guest.privateKey),
      signer: inviterMember.certificate,
    });
    expect(refusalOf(() => revoked.merge(borrowed)).code).toBe('VALIDATION_ERROR');
    const elsewhere = { ...revocation, meshId: 'mesh-0000000000000000' };
    const foreign = revocationStatementCodec.encode({ signed: memberRevocationCodec.sign(elsewhere, root.privateKey) });
    expect(reasonOf(refusalOf(() => revoked.merge(foreign)))).toBe('other_mesh');
    expect(revoked.hubs()).toEqual([]);
  });

  test('survives a restart; a damaged statement still ends the hub that it was about, and a good one mends it', () => {
    const { revoked, store } = list();
    revoked.merge(statement(guest.hubId, inviter));
    expect(list(store).revoked.statements()).toEqual(revoked.statements());
    store.set('mesh.revoked', guest.hubId, 'AAAA');
    const damaged = list(store).revoked;
    expect(damaged.covers(guestMember)).toBe(true);
    expect(damaged.statements()).toEqual([]);
    expect(damaged.merge(statement(guest.hubId, 'root'))).toBe(guest.hubId);
    expect(list(store).revoked.statements()).toHaveLength(1);
  });

  test('a statement that the disk did not take is valid all the same, and the next merge writes it', () => {
    const { revoked, store } = list();
    const said = statement(guest.hubId, inviter);
    const set = store.set.bind(store);
    store.set = () => {
      throw new RangeError('disk full');
    };
    expect(() => revoked.merge(said)).toThrow('disk full');
    expect(revoked.covers(guestMember)).toBe(true);
    store.set = set;
    expect(revoked.merge(said)).toBe(guest.hubId);
    expect(list(store).revoked.covers(guestMember)).toBe(true);
  });

  test('hubs with the same statements have the same set, in any order and however often they merge', () => {
    const hubs = [guest.hubId, guestOfDeputy.hubId, deputy.hubId];
    const all = hubs.flatMap((hub) => [
      statement(hub, 'root', 1),
      statement(hub, inviter, 2),
      statement(hub, inviter, 3),
      statement(hub, deputy, 4),
    ]);
    const some = fc.array(fc.nat(all.length - 1), { minLength: 1, maxLength: 10 });
    fc.assert(
      fc.property(some, some, (picks, more) => {
        const said = [...picks, ...more].map((index) => all[index] ?? new Uint8Array());
        const [one, other, third] = [list().revoked, list().revoked, list().revoked];
        for (const each of said) one.merge(each);
        for (const each of said.toReversed()) other.merge(each);
        // By way of a third hub that tells on only what it keeps.
        for (const each of one.statements()) third.merge(each);
        const known = (revoked: typeof one) =>
          revoked
            .statements()
            .map((bytes) => Buffer.from(bytes).toString('hex'))
            .toSorted();
        expect(known(other)).toEqual(known(one));
        expect(known(third)).toEqual(known(one));
      }),
      { numRuns: 15 },
    );
  });

  test('a certificate that the root key made again does not undo what the root key ended', () => {
    const { revoked } = list();
    revoked.merge(statement(deputy.hubId, 'root'));
    clock.advance(5000);
    expect(revoked.covers(byRoot(deputy))).toBe(true);
  });
});
