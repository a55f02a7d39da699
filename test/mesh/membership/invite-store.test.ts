import { describe, expect, test } from 'vitest';
import { InviteStore, joinProof } from '../../../src/mesh/membership/invite-store.ts';
import { ManualClock } from '../../manual-clock.ts';
import { MemoryKeyValueStore } from '../../memory-key-value-store.ts';
import { hubKey, MINUTE_MS, reasonOf, refusalOf } from './membership-fixture.ts';

const [host, joiner, other] = [hubKey(), hubKey(), hubKey()];
const TERMS = { ttlMs: 15 * MINUTE_MS, permissions: ['light:*'], mayInvite: false };

function book() {
  const clock = new ManualClock();
  const store = new MemoryKeyValueStore(clock);
  const time = { now: () => clock.now(), isTrusted: () => true };
  return { clock, store, time, invites: new InviteStore({ store, time }) };
}

function claim(invite: { readonly id: string; readonly secret: Uint8Array }, by = joiner) {
  const keys = { joiner: by.publicKey, responder: host.publicKey };
  return { inviteId: invite.id, proof: joinProof(invite.secret, keys), keys };
}

describe('an invite', () => {
  test('lets the first hub in that proves to have it, with its terms', () => {
    const { invites } = book();
    const invite = invites.make(TERMS);
    expect(invites.redeem(claim(invite))).toEqual({ id: invite.id, permissions: ['light:*'], mayInvite: false });
    expect(invites.open()).toEqual([]);
  });

  test('serves the same hub again until it expires, and never another one', () => {
    const { invites, clock } = book();
    const invite = invites.make(TERMS);
    invites.redeem(claim(invite));
    expect(invites.redeem(claim(invite)).id).toBe(invite.id);
    expect(reasonOf(refusalOf(() => invites.redeem(claim(invite, other))))).toBe('invite_used');
    // With the proof of the first hub, overheard, under another key.
    const overheard = { ...claim(invite), keys: { joiner: other.publicKey, responder: host.publicKey } };
    expect(reasonOf(refusalOf(() => invites.redeem(overheard)))).toBe('invite_used');
    clock.advance(15 * MINUTE_MS);
    expect(reasonOf(refusalOf(() => invites.redeem(claim(invite))))).toBe('invite_expired');
  });

  test('that was used before a crash is known as used after it, and its secret is gone from the disk', () => {
    const { invites, store, time } = book();
    const invite = invites.make(TERMS);
    invites.redeem(claim(invite));
    const after = new InviteStore({ store, time });
    expect(reasonOf(refusalOf(() => after.redeem(claim(invite, other))))).toBe('invite_used');
    expect(after.redeem(claim(invite)).id).toBe(invite.id);
    expect(JSON.stringify(store.entries('mesh.invites'))).not.toContain(Buffer.from(invite.secret).toString('base64url'));
  });

  test('is not used up when the disk does not take that it was', () => {
    const { invites, store } = book();
    const invite = invites.make(TERMS);
    const set = store.set.bind(store);
    store.set = () => {
      throw new RangeError('disk full');
    };
    expect(() => invites.redeem(claim(invite))).toThrow('disk full');
    store.set = set;
    expect(invites.redeem(claim(invite, other)).id).toBe(invite.id);
  });

  test('ends after five wrong proofs, for everybody and over restarts', () => {
    const { invites, store, time } = book();
    const invite = invites.make(TERMS);
    const wrong = { ...claim(invite), proof: new Uint8Array(32) };
    for (let guess = 0; guess < 5; guess++) expect(reasonOf(refusalOf(() => invites.redeem(wrong)))).toBe('wrong_proof');
    expect(reasonOf(refusalOf(() => invites.redeem(claim(invite))))).toBe('too_many_attempts');
    expect(reasonOf(refusalOf(() => new InviteStore({ store, time }).redeem(claim(invite))))).toBe('too_many_attempts');
  });

  test('waits a minute after twenty wrong proofs for invites in all; guesses at ids that do not exist disturb nobody', () => {
    const { invites, clock } = book();
    for (let id = 0; id < 100; id++) {
      expect(reasonOf(refusalOf(() => invites.redeem({ ...claim({ id: 'ff'.repeat(8), secret: new Uint8Array(16) }) })))).toBe(
        'invite_unknown',
      );
    }
    const many = Array.from({ length: 5 }, () => invites.make(TERMS));
    const good = invites.make(TERMS);
    for (const invite of many.slice(0, 4)) {
      for (let guess = 0; guess < 5; guess++) refusalOf(() => invites.redeem({ ...claim(invite), proof: new Uint8Array(32) }));
    }
    expect(refusalOf(() => invites.redeem(claim(good))).code).toBe('RATE_LIMITED');
    clock.advance(MINUTE_MS);
    expect(invites.redeem(claim(good)).id).toBe(good.id);
  });

  test('is one of at most 32 that are open; an expired one makes room', () => {
    const { invites, clock } = book();
    for (let count = 0; count < 32; count++) invites.make(TERMS);
    expect(refusalOf(() => invites.make(TERMS)).code).toBe('RESOURCE_EXCEEDED');
    clock.advance(15 * MINUTE_MS);
    expect(invites.make(TERMS).secret).toHaveLength(16);
    expect(invites.open()).toHaveLength(1);
  });

  test('has an end in whole seconds, never later than asked for', () => {
    const { invites, clock } = book();
    clock.advance(123);
    const { expiresAtMs } = invites.make(TERMS);
    expect(expiresAtMs % 1000).toBe(0);
    expect(clock.now() + TERMS.ttlMs - expiresAtMs).toBe(123);
  });
});
