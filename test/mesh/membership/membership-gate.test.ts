import { describe, expect, test } from 'vitest';
import { encodeCbor } from '../../../src/codec/cbor.ts';
import { type HandshakeMessage, handshakeCodec } from '../../../src/codec/messages/connection.ts';
import { AtmoError } from '../../../src/core/errors.ts';
import {
  channelPair,
  DAY_MS,
  foundedWithPassphrase,
  founder,
  hubKey,
  inviteOf,
  joined,
  type MembershipFixture,
  meet,
  membershipFixture,
  PASSPHRASE,
  peerOf,
  reasonOf,
  tryJoin,
} from './membership-fixture.ts';

/** Says one thing to a hub's gate under a key of its own, and answers what the gate said and why it closed. */
async function say(setup: MembershipFixture, self: { readonly hubId: string; readonly publicKey: string }, message: Uint8Array) {
  const { dialler, answerer } = channelPair();
  await dialler.write(message);
  const peer = peerOf({ ...hubKey(), ...self } as ReturnType<typeof hubKey>, 'inbound');
  const reason = await setup.gate.admit(answerer, peer).then(() => 'admitted', reasonOf);
  const answer = await Promise.race([dialler.read(), Promise.resolve(undefined)]);
  return { reason, answer: answer && handshakeCodec.decode(answer) };
}

function helloOf(setup: MembershipFixture): Extract<HandshakeMessage, { kind: 'hello' }> {
  const { meshId, certificate } = setup.membership.requireOwn();
  return { kind: 'hello', version: 1, meshId, certificate };
}

describe('members at the gate', () => {
  test('two members let each other through, whoever dials', async () => {
    const one = await founder();
    const other = await joined(one);
    expect(await meet(one, other)).toEqual({ dialler: 'admitted', answerer: 'admitted' });
    expect(await meet(other, one)).toEqual({ dialler: 'admitted', answerer: 'admitted' });
    expect(one.membership.hub(other.self.hubId)).toEqual({ key: other.self.publicKey, permissions: ['*'] });
    expect(other.membership.hub(one.self.hubId)).toEqual({ key: one.self.publicKey, permissions: ['*', 'admin:*'] });
  });

  test('two members that were let in by the same hub and never met know each other by their certificates', async () => {
    const host = await founder();
    const [one, other] = [await joined(host), await joined(host)];
    expect(await meet(one, other)).toEqual({ dialler: 'admitted', answerer: 'admitted' });
  });

  test('a member of another mesh is refused on both sides, and both count it', async () => {
    const [one, other] = [await founder(), await founder()];
    expect(await meet(one, other)).toEqual({ dialler: 'refused_by_peer', answerer: 'other_mesh' });
    expect([one.gate.refusals(), other.gate.refusals()]).toEqual([{ refused_by_peer: 1 }, { other_mesh: 1 }]);
  });

  test('a hub that is in no mesh lets nobody in and dials nobody', async () => {
    const [member, stranger] = [await founder(), await membershipFixture()];
    expect((await meet(member, stranger)).answerer).toBe('not_a_member');
    expect((await say(member, stranger.self, new Uint8Array())).reason).toBe('malformed');
    expect(await stranger.gate.admit(channelPair().dialler, peerOf(member.self, 'outbound')).catch(reasonOf)).toBe('not_a_member');
  });

  test("a hub that shows another hub's certificate is told that its key does not fit", async () => {
    const host = await founder();
    const member = await joined(host);
    const { reason, answer } = await say(host, hubKey(), handshakeCodec.encode(helloOf(member)));
    expect(reason).toBe('certificate_of_another');
    expect(answer).toMatchObject({ kind: 'refusal', code: 'PERMISSION_DENIED', message: expect.stringContaining(member.self.hubId) });
  });

  test('an expired member is told to join again', async () => {
    const host = await founder();
    const member = await joined(host);
    host.clock.advance(90 * DAY_MS + 2 * 60_000);
    const { reason, answer } = await say(host, member.self, handshakeCodec.encode(helloOf(member)));
    expect(reason).toBe('expired');
    expect(answer).toMatchObject({ message: expect.stringContaining('join again') });
    expect((await meet(member, host)).dialler).toBe('expired');
  });

  test('a hub whose clock is ten minutes slow still lets a new member in; one that is a day slow says to check the clocks', async () => {
    const host = await founder();
    const slow = await joined(host, { aheadMs: -600_000 });
    const wrong = await joined(host, { aheadMs: -DAY_MS, isTimeTrusted: false });
    const fresh = await joined(host);
    expect(await meet(fresh, slow)).toEqual({ dialler: 'admitted', answerer: 'admitted' });
    // A board that does not know the time cannot say that a certificate is too young.
    expect(await meet(fresh, wrong)).toEqual({ dialler: 'admitted', answerer: 'admitted' });
    const sure = await membershipFixture({ ...wrong, aheadMs: -DAY_MS, isTimeTrusted: true });
    expect((await meet(fresh, sure)).answerer).toBe('not_yet_valid');
  });

  test('a hub does not connect to itself', async () => {
    const host = await founder();
    expect((await meet(host, host)).answerer).toBe('self');
  });

  test('a version that is not spoken is answered with the one that is', async () => {
    const host = await founder();
    const member = await joined(host);
    const { reason, answer } = await say(host, member.self, handshakeCodec.encode({ ...helloOf(member), version: 7 }));
    expect(reason).toBe('unknown_version');
    expect(answer).toMatchObject({ message: expect.stringContaining('only version 1') });
  });

  test.each([
    ['nothing', new Uint8Array()],
    ['noise', Uint8Array.from({ length: 200 }, (_, index) => (index * 73) % 256)],
    ['a list', encodeCbor([1, 2, 3])],
    ['a refusal', handshakeCodec.encode({ kind: 'refusal', code: 'INTERNAL_ERROR', message: 'no' })],
  ])('%s is no way to begin', async (_, bytes) => {
    const host = await founder();
    expect((await say(host, hubKey(), bytes)).reason).toBe('malformed');
    expect(host.gate.refusals()).toEqual({ malformed: 1 });
  });

  test('a revoked member is refused, and so is whoever it let in', async () => {
    const host = await foundedWithPassphrase();
    const deputy = await joined(host);
    await host.authority.delegate({ hub: deputy.self.hubId, passphrase: PASSPHRASE });
    deputy.membership.replaceCertificate(host.authority.delegationFor(deputy.self.hubId) ?? []);
    const guest = await joined(deputy);
    const bystander = await joined(host);
    expect(await meet(guest, host)).toEqual({ dialler: 'admitted', answerer: 'admitted' });
    const { alsoEnded } = await host.authority.revoke({ hub: deputy.self.hubId, passphrase: PASSPHRASE });
    expect(alsoEnded).toEqual([guest.self.hubId]);
    expect((await meet(deputy, host)).answerer).toBe('revoked');
    expect((await meet(guest, host)).answerer).toBe('revoked');
    expect(await meet(bystander, host)).toEqual({ dialler: 'admitted', answerer: 'admitted' });
  });
});

describe('a hub that was revoked', () => {
  test('receives the proof when it is refused, and reports its state as revoked from then on', async () => {
    const host = await foundedWithPassphrase();
    const attic = await joined(host);
    await host.authority.revoke({ hub: attic.self.hubId });
    expect(attic.membership.state()).toBe('member');
    expect(await meet(attic, host)).toEqual({ dialler: 'refused_by_peer', answerer: 'revoked' });
    expect(attic.membership.state()).toBe('revoked');
    expect(attic.heard.filter(({ type, data }) => type === 'mesh.changed' && data.change === 'revoked')).toHaveLength(1);
    const restarted = await membershipFixture({ self: attic.self, store: attic.store, clock: host.clock });
    expect(restarted.membership.state()).toBe('revoked');
  });

  test('receives the same when the hub that admitted it was revoked', async () => {
    const host = await foundedWithPassphrase();
    const deputy = await joined(host);
    await host.authority.delegate({ hub: deputy.self.hubId, passphrase: PASSPHRASE });
    deputy.membership.replaceCertificate(host.authority.delegationFor(deputy.self.hubId) ?? []);
    const guest = await joined(deputy);
    await host.authority.revoke({ hub: deputy.self.hubId, passphrase: PASSPHRASE });
    await meet(guest, host);
    expect(guest.membership.state()).toBe('revoked');
  });

  test('gets no proof under a key that is not that of its certificate', async () => {
    const host = await foundedWithPassphrase();
    const attic = await joined(host);
    await host.authority.revoke({ hub: attic.self.hubId });
    const { answer } = await say(host, hubKey(), handshakeCodec.encode(helloOf(attic)));
    expect(answer).toMatchObject({ kind: 'refusal' });
    expect(answer).not.toHaveProperty('revocation');
  });

  test.each([
    ['forged', (statement: Uint8Array) => statement.with(-1, (statement.at(-1) ?? 0) ^ 1)],
    [
      'of another mesh',
      async () => {
        const [other, hub] = [await foundedWithPassphrase(), hubKey()];
        const member = await joined(other, { self: hub });
        await other.authority.revoke({ hub: member.self.hubId });
        return other.membership.statements()[0] ?? new Uint8Array(1);
      },
    ],
  ])('changes nothing by a statement that is %s', async (_, forge) => {
    const host = await foundedWithPassphrase();
    const attic = await joined(host);
    const other = await joined(host);
    await host.authority.revoke({ hub: attic.self.hubId });
    const revocation = await forge(host.membership.statements()[0] ?? new Uint8Array(1));
    const { dialler, answerer } = channelPair();
    await answerer.write(handshakeCodec.encode({ kind: 'refusal', code: 'PERMISSION_DENIED', message: 'revoked', revocation }));
    expect(await attic.gate.admit(dialler, peerOf(other.self, 'outbound')).catch(reasonOf)).toBe('refused_by_peer');
    expect(attic.membership.state()).toBe('member');
    expect(attic.membership.statements()).toEqual([]);
  });
});

describe('attacks on joining', () => {
  test("with the founder's id but not its key nobody joins: the id comes from the key that was proven", async () => {
    const host = await founder();
    const invite = await inviteOf(host);
    const thief = await membershipFixture({ clock: host.clock });
    // The thief claims the founder's id; the transport tells the key that it has.
    const claimed = { ...thief.self, hubId: host.self.hubId };
    const attempt = await tryJoin(await membershipFixture({ self: claimed, clock: host.clock }), host, invite);
    expect(attempt.answerer).toBe('joined');
    expect(host.membership.hub(thief.self.hubId)?.key).toBe(thief.self.publicKey);
    expect(host.membership.requireOwn().key).toBe(host.self.publicKey);
    expect(host.membership.hub(host.self.hubId)).toBeUndefined();
  });

  test("a refused join under a member's id leaves that member as it was", async () => {
    const host = await founder();
    const member = await joined(host);
    const before = host.membership.hub(member.self.hubId);
    const lost: string[] = [];
    host.membership.onLost((hub) => lost.push(hub));
    const invite = await inviteOf(host);
    const forged = handshakeCodec.encode({
      kind: 'join',
      version: 1,
      meshId: host.membership.requireOwn().meshId,
      inviteId: invite.id,
      proof: new Uint8Array(32),
      name: 'Member',
    });
    for (let attempt = 0; attempt < 10; attempt++) expect((await say(host, member.self, forged)).answer).toMatchObject({ kind: 'refusal' });
    expect(host.membership.hub(member.self.hubId)).toEqual(before);
    expect(lost).toEqual([]);
    expect(await meet(member, host)).toEqual({ dialler: 'admitted', answerer: 'admitted' });
  });

  test("a stranger's mesh of the same name and address is noticed: the invite carries the root key", async () => {
    const [real, fake] = [await founder(), await founder()];
    const invite = await inviteOf(real);
    const joiner = await membershipFixture();
    expect((await tryJoin(joiner, fake, invite)).answerer).toBe('other_mesh');
    // A liar that grants with certificates of its own root.
    const liar = {
      self: fake.self,
      gate: {
        admit: async (channel: Parameters<MembershipFixture['gate']['admit']>[0]) => {
          await channel.read();
          const responder = fake.membership.requireOwn().certificate;
          const own = await joined(fake, { self: joiner.self });
          const { certificate } = own.membership.requireOwn();
          await channel.write(handshakeCodec.encode({ kind: 'grant', responder, certificate }));
        },
      },
    };
    expect((await tryJoin(joiner, liar, invite)).dialler).toBe('other_mesh');
    expect(joiner.membership.state()).toBe('none');
  });

  test.each([
    ['its own certificate', (_host: MembershipFixture, member: MembershipFixture) => member],
    ["the inviter's certificate", (host: MembershipFixture) => host],
  ])('a member that may not invite cannot pose as the one that made the invite, with %s', async (_, shown) => {
    const host = await founder();
    const member = await joined(host);
    const joiner = await membershipFixture({ clock: host.clock });
    const granted = await joined(host, { self: joiner.self });
    const { certificate } = granted.membership.requireOwn();
    const responder = shown(host, member).membership.requireOwn().certificate;
    const liar = {
      self: member.self,
      gate: {
        admit: async (channel: Parameters<MembershipFixture['gate']['admit']>[0]) => {
          await channel.read();
          await channel.write(handshakeCodec.encode({ kind: 'grant', responder, certificate }));
        },
      },
    };
    expect((await tryJoin(joiner, liar, await inviteOf(host))).dialler).toBe('certificate_of_another');
    expect(joiner.membership.state()).toBe('none');
  });

  test('a proof that was made for one hub serves no other hub', async () => {
    const host = await founder();
    const invite = await inviteOf(host);
    const victim = await membershipFixture({ clock: host.clock });
    const heard: Uint8Array[] = [];
    const trap = {
      self: hubKey(),
      gate: {
        admit: async (channel: Parameters<MembershipFixture['gate']['admit']>[0]) => {
          heard.push(await channel.read());
          throw new AtmoError('NODE_UNAVAILABLE', 'The trap has what it wanted');
        },
      },
    };
    await tryJoin(victim, trap, invite);
    const [stolen] = heard;
    expect((await say(host, trap.self, stolen ?? new Uint8Array())).reason).toBe('wrong_proof');
    // Not even under the key of the victim: the proof was for the trap.
    expect((await say(host, victim.self, stolen ?? new Uint8Array())).reason).toBe('wrong_proof');
    expect((await tryJoin(victim, host, invite)).dialler).toBe('joined');
  });

  test('a revoked hub does not come back with another invite', async () => {
    const host = await founder();
    const member = await joined(host);
    await host.authority.revoke({ hub: member.self.hubId });
    const again = await membershipFixture({ self: member.self, clock: host.clock });
    const invite = await inviteOf(host);
    expect((await tryJoin(again, host, invite)).answerer).toBe('revoked');
    const { meshId } = host.membership.requireOwn();
    const join = { kind: 'join', version: 1, meshId, inviteId: invite.id, proof: new Uint8Array(32), name: 'Attic' } as const;
    const { answer } = await say(host, member.self, handshakeCodec.encode(join));
    expect(answer).toMatchObject({ message: expect.stringMatching(/delete hub\.key and snapshots\/hub\.key\.kept\b/) });
    // The invite is still good for somebody else.
    expect((await tryJoin(await membershipFixture({ clock: host.clock }), host, invite)).dialler).toBe('joined');
  });
});
