import { describe, expect, test } from 'vitest';
import { certificateChainCodec, memberRevocationCodec, revocationStatementCodec } from '../../../src/codec/messages/membership.ts';
import { AtmoError } from '../../../src/core/errors.ts';
import { inviterCertificate } from '../../../src/mesh/membership/certificates.ts';
import { MAX_KNOWN_MEMBERS, MAX_VISITORS } from '../../../src/mesh/membership/member-set.ts';
import {
  DAY_MS,
  enterAsFounder,
  founder,
  hubKey,
  joined,
  type MembershipFixture,
  MINUTE_MS,
  meet,
  membershipFixture,
  reasonOf,
  refusalOf,
  rootKey,
} from './membership-fixture.ts';

/** Ends a membership as a hub that stops does, which writes what is not written yet. */
async function stopped(made: Promise<MembershipFixture>): Promise<void> {
  await (await made).membership[Symbol.asyncDispose]();
}

describe('the membership of a hub', () => {
  test('is none at first: nobody is trusted, and what needs one says how to get one', async () => {
    const { membership } = await membershipFixture();
    expect([membership.state(), membership.meshId(), membership.own(), membership.hub('hub-0000000000000000')]).toEqual([
      'none',
      undefined,
      undefined,
      undefined,
    ]);
    expect(membership.statements()).toEqual([]);
    expect(refusalOf(() => membership.requireOwn())).toMatchObject({
      code: 'CONFLICT',
      message: expect.stringContaining('atmo mesh join'),
    });
  });

  test('survives a restart with the members that were met, so that their tokens verify before they are met again', async () => {
    const host = await founder();
    const member = await joined(host, { permissions: ['light:*'] });
    await host.membership[Symbol.asyncDispose]();
    const after = await membershipFixture(host);
    expect(after.membership.meshId()).toBe(host.membership.meshId());
    expect(after.membership.hub(member.self.hubId)).toEqual({ key: member.self.publicKey, permissions: ['light:*'] });
    const memberAfter = await membershipFixture({ self: member.self, store: member.store, clock: host.clock });
    expect(await meet(memberAfter, after)).toEqual({ dialler: 'admitted', answerer: 'admitted' });
  });

  test('vouches for nobody whose certificate has ended', async () => {
    const host = await founder();
    const member = await joined(host);
    host.clock.advance(90 * DAY_MS + MINUTE_MS - 1000);
    expect(host.membership.hub(member.self.hubId)).toBeDefined();
    host.clock.advance(2000);
    expect(host.membership.hub(member.self.hubId)).toBeUndefined();
    expect(member.membership.state()).toBe('expired');
  });

  test('reports once, within a minute, that a member expired', async () => {
    const host = await founder();
    const member = await joined(host);
    const lost: unknown[] = [];
    host.membership.onLost((hub, reason) => lost.push([hub, reason]));
    host.clock.advance(91 * DAY_MS);
    expect(lost).toEqual([[member.self.hubId, 'expired']]);
  });

  test('reports at once that a member was revoked, although a listener throws', async () => {
    const host = await founder();
    const [member, unmet] = [await joined(host), hubKey()];
    const lost: unknown[] = [];
    host.membership.onLost(() => {
      throw new Error('a listener of no use');
    });
    host.membership.onLost((hub, reason) => lost.push([hub, reason]));
    await host.authority.revoke({ hub: member.self.hubId });
    await host.authority.revoke({ hub: unmet.hubId });
    await host.authority.revoke({ hub: member.self.hubId });
    expect(lost).toEqual([
      [member.self.hubId, 'revoked'],
      [unmet.hubId, 'revoked'],
    ]);
    expect(host.membership.hub(member.self.hubId)).toBeUndefined();
  });

  test('a full disk does not keep a revoked member connected', async () => {
    const host = await founder();
    const member = await joined(host);
    const lost: string[] = [];
    host.membership.onLost((hub) => lost.push(hub));
    host.store.set = () => {
      throw new RangeError('disk full');
    };
    await expect(host.authority.revoke({ hub: member.self.hubId })).rejects.toThrow('disk full');
    expect(lost).toEqual([member.self.hubId]);
    expect(host.membership.hub(member.self.hubId)).toBeUndefined();
  });

  test('a hub that receives its own revocation trusts nobody and admits nobody', async () => {
    const host = await founder();
    const [member, witness] = [await joined(host), await joined(host)];
    await meet(witness, member);
    await host.authority.revoke({ hub: member.self.hubId });
    for (const statement of host.membership.statements()) member.membership.merge(statement);
    expect(member.membership.state()).toBe('revoked');
    expect(member.membership.hub(witness.self.hubId)).toBeUndefined();
    expect((await meet(witness, member)).answerer).toBe('revoked');
  });

  test('keeps the newest certificate of a hub, whatever older one it shows later', async () => {
    const root = rootKey();
    const [one, other] = [await membershipFixture(), hubKey()];
    enterAsFounder(one, root);
    const wide = inviterCertificate(root, { key: other.publicKey, permissions: ['*'] }, one.time);
    one.clock.advance(5000);
    const narrow = inviterCertificate(root, { key: other.publicKey, permissions: ['light:*'] }, one.time);
    one.membership.admit(narrow);
    one.membership.admit(wide);
    expect(one.membership.hub(other.hubId)?.permissions).toEqual(['light:*']);
    await one.membership[Symbol.asyncDispose]();
    expect((await membershipFixture(one)).membership.hub(other.hubId)?.permissions).toEqual(['light:*']);
  });

  test('remembers a bounded number of hubs: the ended go first, then those that were longest not met', async () => {
    const root = rootKey();
    const setup = await membershipFixture();
    const { self } = setup;
    enterAsFounder(setup, root);
    const hubs = Array.from({ length: MAX_KNOWN_MEMBERS + 2 }, hubKey);
    const idAt = (index: number) => hubs[index]?.hubId ?? self.hubId;
    const admit = (hub: (typeof hubs)[number] | undefined) =>
      setup.membership.admit(inviterCertificate(root, { key: hub?.publicKey ?? '', permissions: ['*'] }, setup.time));
    for (const hub of hubs.slice(0, MAX_KNOWN_MEMBERS)) admit(hub);
    // The first is met again, and the sixth sent away.
    admit(hubs[0]);
    const revocation = { meshId: setup.membership.requireOwn().meshId, hubId: idAt(5), atMs: 1 };
    setup.membership.merge(revocationStatementCodec.encode({ signed: memberRevocationCodec.sign(revocation, root.privateKey) }));
    admit(hubs[MAX_KNOWN_MEMBERS]);
    admit(hubs[MAX_KNOWN_MEMBERS + 1]);
    const known = new Set(setup.membership.members().map(({ hubId }) => hubId));
    expect([0, 1, 2, 5, MAX_KNOWN_MEMBERS, MAX_KNOWN_MEMBERS + 1].map((index) => known.has(idAt(index)))).toEqual([
      true,
      false,
      true,
      false,
      true,
      true,
    ]);
    expect(known.size).toBe(MAX_KNOWN_MEMBERS);
    await setup.membership[Symbol.asyncDispose]();
    expect(setup.store.entries('mesh.members')).toHaveLength(MAX_KNOWN_MEMBERS);
  });

  test('keeps a hub of another site whose answer is awaited while many others come', async () => {
    const root = rootKey();
    const setup = await membershipFixture();
    enterAsFounder(setup, root);
    const admit = ({ publicKey }: ReturnType<typeof hubKey>) =>
      setup.membership.admitVisitor(inviterCertificate(root, { key: publicKey, permissions: ['*'] }, setup.time));
    const [asked, idle] = [hubKey(), hubKey()];
    for (const hub of [asked, idle]) admit(hub);
    for (let count = 2; count <= MAX_VISITORS; count++) {
      setup.membership.member(asked.hubId);
      admit(hubKey());
    }
    expect(setup.membership.member(asked.hubId)?.hubId).toBe(asked.hubId);
    expect(setup.membership.member(idle.hubId)).toBeUndefined();
  });

  test('writes certificates of new hubs one after the other, and what replaces one at once', async () => {
    const root = rootKey();
    const setup = await membershipFixture();
    enterAsFounder(setup, root);
    const [first, second] = [hubKey(), hubKey()];
    const admit = ({ publicKey }: typeof first) =>
      setup.membership.admit(inviterCertificate(root, { key: publicKey, permissions: ['*'] }, setup.time));
    const written = () => setup.store.entries('mesh.members').length;
    admit(first);
    admit(second);
    expect([setup.membership.members().length, written()]).toEqual([2, 0]);
    setup.clock.advance(250);
    expect(written()).toBe(1);
    setup.clock.advance(250);
    expect(written()).toBe(2);
    const [before] = setup.store.entries('mesh.members').filter(({ key }) => key === first.hubId);
    setup.clock.advance(1_000);
    admit(first);
    const [after] = setup.store.entries('mesh.members').filter(({ key }) => key === first.hubId);
    expect(after?.value).not.toBe(before?.value);
  });

  test('writes what the disk refused again, and the rest when the hub stops', async () => {
    const root = rootKey();
    const setup = await membershipFixture();
    enterAsFounder(setup, root);
    const hubs = [hubKey(), hubKey()];
    const set = setup.store.set.bind(setup.store);
    setup.store.set = () => {
      throw new AtmoError('STORAGE_FAILED', 'The disk is full');
    };
    for (const { publicKey } of hubs) setup.membership.admit(inviterCertificate(root, { key: publicKey, permissions: ['*'] }, setup.time));
    setup.clock.advance(1_000);
    setup.store.set = set;
    expect([setup.membership.members().length, setup.store.entries('mesh.members')]).toEqual([2, []]);
    setup.clock.advance(29_300);
    expect(setup.store.entries('mesh.members')).toHaveLength(1);
    await setup.membership[Symbol.asyncDispose]();
    expect(setup.store.entries('mesh.members')).toHaveLength(2);
  });

  test('of a hub that got a new key is told to the owner and not used; another mesh can be entered then', async () => {
    const host = await founder();
    const member = await joined(host);
    const renamed = await membershipFixture({ store: member.store, clock: host.clock });
    expect(renamed.membership.state()).toBe('none');
    await joined(host, { self: renamed.self, store: member.store });
    expect((await membershipFixture({ self: renamed.self, store: member.store })).membership.state()).toBe('member');
  });

  test('leaves nothing of a former mesh to the next one', async () => {
    const [first, second] = [await founder(), await founder()];
    const mover = await joined(first);
    await first.authority.revoke({ hub: hubKey().hubId });
    for (const statement of first.membership.statements()) mover.membership.merge(statement);
    mover.authority.leave({ rootKey: 'keep' });
    expect([mover.membership.state(), mover.membership.statements()]).toEqual(['none', []]);
    await stopped(joined(second, { self: mover.self, store: mover.store }));
    const after = await membershipFixture({ self: mover.self, store: mover.store });
    expect(after.membership.meshId()).toBe(second.membership.meshId());
    expect([after.membership.revokedHubs(), after.membership.members().length]).toEqual([[], 1]);
  });

  test('what a crash while leaving left behind does not reach into the next mesh', async () => {
    const [first, second] = [await founder(), await founder()];
    const mover = await joined(first);
    await first.authority.revoke({ hub: second.self.hubId });
    for (const statement of first.membership.statements()) mover.membership.merge(statement);
    // The record is gone, the rest is not.
    mover.store.delete('mesh.membership', 'own');
    await stopped(joined(second, { self: mover.self, store: mover.store }));
    const after = await membershipFixture({ self: mover.self, store: mover.store });
    expect(after.membership.hub(second.self.hubId)).toBeDefined();
  });

  test('a hub is in one mesh: another one is not entered while there is one', async () => {
    const [one, other] = [await founder(), await founder()];
    const { certificate } = one.membership.requireOwn();
    const refusal = refusalOf(() => other.membership.enter({ rootKey: one.membership.record().rootKey, certificate, addresses: [] }));
    expect(refusal).toMatchObject({ code: 'CONFLICT', message: expect.stringContaining('atmo mesh leave') });
  });

  test("another hub's certificate is never taken for the own one", async () => {
    const host = await founder();
    const { certificate } = (await joined(host)).membership.requireOwn();
    const thief = await membershipFixture();
    const refusal = refusalOf(() => thief.membership.enter({ rootKey: host.membership.record().rootKey, certificate, addresses: [] }));
    expect(reasonOf(refusal)).toBe('certificate_of_another');
    expect(thief.membership.state()).toBe('none');
  });

  test('an older certificate does not replace the own one', async () => {
    const host = await founder();
    const member = await joined(host);
    const older = member.membership.requireOwn().certificate;
    host.clock.advance(2000);
    const answer = host.admission.answerRenew(member.self.hubId, certificateChainCodec.encode(older));
    member.membership.replaceCertificate(certificateChainCodec.decode(answer));
    const newer = member.membership.requireOwn();
    expect(reasonOf(refusalOf(() => member.membership.replaceCertificate(older)))).toBe('certificate_invalid');
    expect(member.membership.requireOwn()).toBe(newer);
  });

  test('changes are emitted as events without secrets', async () => {
    const host = await founder();
    const member = await joined(host);
    await host.authority.revoke({ hub: member.self.hubId });
    const told = host.heard.filter(({ type }) => type === 'mesh.changed');
    expect(told.map(({ data }) => data)).toEqual([
      { change: 'joined', hub_id: member.self.hubId, name: 'Attic' },
      { change: 'revoked', hub_id: member.self.hubId },
    ]);
    expect(told[0]?.subject).toBe(host.membership.meshId());
  });
});
