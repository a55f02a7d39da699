import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { signSign1 } from '../../../src/codec/cose-sign1.ts';
import { type CertificateClaims, certificateClaimsCodec } from '../../../src/codec/messages/membership.ts';
import { hubIdOf, meshIdOf } from '../../../src/codec/public-key.ts';
import { signByInviter, signByRoot, verifyCertificate } from '../../../src/mesh/membership/certificates.ts';
import { hubKey, reasonOf, refusalOf, rootKey } from './membership-fixture.ts';

const root = rootKey();
const meshId = meshIdOf(root.publicKey);
const [inviter, guest, other] = [hubKey(), hubKey(), hubKey()];
const NOW = 1_800_000_000;

function claimsOf(hub: { readonly publicKey: string }, changes: Partial<CertificateClaims> = {}): CertificateClaims {
  return {
    issuer: meshId,
    subject: hubIdOf(hub.publicKey),
    key: hub.publicKey,
    meshId,
    roles: ['member', 'inviter'],
    permissions: ['*', 'admin:mesh'],
    issuedAt: NOW,
    notBefore: NOW - 3600,
    expiresAt: NOW + 1000,
    id: 'aa'.repeat(16),
    ...changes,
  };
}

const guestClaims = (changes: Partial<CertificateClaims> = {}): CertificateClaims =>
  claimsOf(guest, { issuer: inviter.hubId, roles: ['member'], permissions: ['*'], id: 'bb'.repeat(16), ...changes });

const inviterChain = signByRoot(claimsOf(inviter), root.privateKey);
const guestChain = (changes: Partial<CertificateClaims> = {}) => signByInviter(inviterChain, guestClaims(changes), inviter.privateKey);
const problemOf = (chain: readonly Uint8Array[], key = root.publicKey) => {
  const refusal = refusalOf(() => verifyCertificate(chain, key));
  return `${reasonOf(refusal)}: ${refusal.message}`;
};

describe('a membership certificate', () => {
  test('by the root key speaks for one hub', () => {
    const member = verifyCertificate(inviterChain, root.publicKey);
    expect(member).toMatchObject({ hubId: inviter.hubId, key: inviter.publicKey, meshId, roles: ['member', 'inviter'] });
    expect(member.expiresAtMs).toBe((NOW + 1000) * 1000);
    expect(member.inviter).toBeUndefined();
  });

  test('by the root key that names another signer is refused', () => {
    expect(problemOf(signByRoot(claimsOf(inviter, { issuer: inviter.hubId }), root.privateKey))).toContain('does not name the mesh');
  });

  test('by the root key that gives a permission that is none is refused', () => {
    expect(problemOf(signByRoot(claimsOf(inviter, { permissions: ['*', 'device:*:lamp'] }), root.privateKey))).toContain(
      'not a permission',
    );
  });

  test('by a hub that may invite speaks for another hub', () => {
    expect(verifyCertificate(guestChain(), root.publicKey)).toMatchObject({
      hubId: guest.hubId,
      inviter: inviter.hubId,
      roles: ['member'],
    });
  });

  test.each([
    ['lasts longer', { expiresAt: NOW + 1001 }, 'lasts longer'],
    ['begins earlier', { notBefore: NOW - 3601 }, 'begins before'],
    ['may let others in', { roles: ['member', 'inviter'] as const }, 'only the root key'],
    ['has more permissions', { permissions: ['*', 'admin:*'] }, 'permissions'],
    ['has the id of the first link', { id: 'aa'.repeat(16) }, 'one id'],
    ['names another hub as its signer', { issuer: other.hubId }, 'does not name'],
    ['is for another mesh', { meshId: 'mesh-0000000000000000' }, 'another mesh'],
    ['is for a key that does not fit its hub', { key: other.publicKey }, 'does not come from its key'],
    ['has a permission that is none', { permissions: ['device:*:lamp'] }, 'not a permission'],
  ])('that %s than its inviter may give is refused', (_, changes, problem) => {
    expect(problemOf(guestChain(changes))).toContain(problem);
  });

  test('by a hub that may not invite is refused, and so is a third link', () => {
    const plain = signByRoot(claimsOf(inviter, { roles: ['member'] }), root.privateKey);
    expect(problemOf(signByInviter(plain, guestClaims(), inviter.privateKey))).toContain('may not let others in');
    expect(problemOf([...guestChain(), ...guestChain()])).toContain('one or two links');
    expect(problemOf([])).toContain('one or two links');
  });

  test('of another root is refused, also one that names this mesh', () => {
    const made = rootKey();
    const ofMade = claimsOf(inviter, { issuer: meshIdOf(made.publicKey), meshId: meshIdOf(made.publicKey) });
    expect(problemOf(signByRoot(ofMade, made.privateKey))).toContain('other_mesh');
    expect(problemOf(signByRoot(claimsOf(inviter), made.privateKey))).toContain('signature does not fit');
  });

  test('of which the second link was made behind another first link is refused', () => {
    const again = signByRoot(claimsOf(inviter, { id: 'cc'.repeat(16) }), root.privateKey);
    expect(problemOf([...again, ...guestChain().slice(1)])).toContain('signature does not fit');
  });

  test('whose second link stands alone, or whose links change places, is refused', () => {
    const [first, second] = guestChain();
    expect(problemOf([second ?? new Uint8Array()])).toContain('signature does not fit');
    expect(problemOf([second ?? new Uint8Array(), first ?? new Uint8Array()])).toContain('signature does not fit');
  });

  test("is not believed with a signature that was made for a token's link", () => {
    const externalAad = Buffer.from('atmosphere-edge token v1');
    const token = signSign1({ payload: certificateClaimsCodec.encode(claimsOf(inviter)), key: root.privateKey, externalAad });
    expect(problemOf([token])).toContain('signature does not fit');
  });

  test('for a key of small order is refused: anybody could use it', () => {
    const neutral = Buffer.from(`01${'00'.repeat(31)}`, 'hex').toString('base64url');
    expect(problemOf(signByRoot(claimsOf({ publicKey: neutral }), root.privateKey))).toContain('small order');
  });

  test('with any byte changed is refused', () => {
    const chain = guestChain();
    fc.assert(
      fc.property(fc.nat(1), fc.nat(2000), fc.integer({ min: 1, max: 255 }), (link, at, flip) => {
        const changed = chain.map((bytes) => Uint8Array.from(bytes));
        const bytes = changed[link] ?? new Uint8Array();
        const index = at % bytes.length;
        bytes[index] = (bytes[index] ?? 0) ^ flip;
        expect(reasonOf(refusalOf(() => verifyCertificate(changed, root.publicKey)))).toMatch(/certificate_invalid|other_mesh/);
      }),
      { numRuns: 100 },
    );
  });

  test('of an invited hub never gives what its inviter has not, whatever is asked for', () => {
    const grant = fc.constantFrom('*', 'light:*', 'light:on', 'light:on:hall', 'admin:*', 'admin:mesh', 'lock:open:front/*');
    const grants = fc.uniqueArray(grant, { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(grants, grants, fc.integer({ min: -5, max: 5 }), (held, asked, longer) => {
        const parent = signByRoot(claimsOf(inviter, { permissions: held }), root.privateKey);
        const chain = signByInviter(parent, guestClaims({ permissions: asked, expiresAt: NOW + 1000 + longer }), inviter.privateKey);
        try {
          const member = verifyCertificate(chain, root.publicKey);
          expect(member.expiresAtMs).toBeLessThanOrEqual((NOW + 1000) * 1000);
          for (const one of member.permissions) expect(held.some((holder) => isWithin(one, holder))).toBe(true);
        } catch (error) {
          if (reasonOf(error) !== 'certificate_invalid') throw error;
          expect(longer > 0 || asked.some((one) => !held.some((holder) => isWithin(one, holder)))).toBe(true);
        }
      }),
      { numRuns: 60 },
    );
  });
});

/** The seven grants above, compared by hand. */
function isWithin(asked: string, held: string): boolean {
  if (asked === held) return true;
  if (held === '*') return !asked.startsWith('admin:');
  if (held === 'admin:*') return asked.startsWith('admin:');
  return held === 'light:*' && asked.startsWith('light:');
}
