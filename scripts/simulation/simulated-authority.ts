import type { KeyObject } from 'node:crypto';
import type { CertificateChain } from '../../src/codec/messages/membership.ts';
import { generatePrivateKey, hubIdOf, publicKeyOf, rawPublicKey } from '../../src/codec/public-key.ts';
import { AtmoError } from '../../src/core/errors.ts';
import type { HubId } from '../../src/core/ids.ts';
import type { CertificateVerifier, MemberCertificates } from '../../src/mesh/gossip/hub-record.ts';
import { inviterCertificate, verifyCertificate } from '../../src/mesh/membership/certificates.ts';

/** A hub's key and what it is called. */
export interface SimulatedIdentity {
  readonly hubId: HubId;
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
  /** Raw, base64url. */
  readonly rawKey: string;
}

/** A new hub key. */
export function makeIdentity(): SimulatedIdentity {
  const privateKey = generatePrivateKey();
  const rawKey = rawPublicKey(privateKey);
  return { hubId: hubIdOf(rawKey), privateKey, publicKey: publicKeyOf(rawKey), rawKey };
}

/** The root key of a mesh: issues real certificates and verifies them. What was verified once is remembered, for all hubs of the process. */
export class SimulatedAuthority implements MemberCertificates, CertificateVerifier {
  readonly #root = makeIdentity();
  readonly #admitted = new Map<string, ReturnType<typeof verifyCertificate>>();
  readonly #revoked = new Set<HubId>();

  certify({ rawKey }: SimulatedIdentity): CertificateChain {
    const time = { now: () => Date.UTC(2026, 0, 1), isTrusted: () => true };
    const root = { privateKey: this.#root.privateKey, publicKey: this.#root.rawKey };
    return inviterCertificate(root, { key: rawKey, permissions: ['*'] }, time);
  }

  revoke(id: HubId): void {
    this.#revoked.add(id);
  }

  admit(chain: CertificateChain): ReturnType<typeof verifyCertificate> {
    return this.verify(chain);
  }

  verify(chain: CertificateChain): ReturnType<typeof verifyCertificate> {
    const name = chain.map((link) => Buffer.from(link).toString('latin1')).join();
    const member = this.#admitted.get(name) ?? verifyCertificate(chain, this.#root.rawKey);
    this.#admitted.set(name, member);
    if (this.#revoked.has(member.hubId)) throw new AtmoError('PERMISSION_DENIED', `${member.hubId} was revoked`);
    return member;
  }
}
