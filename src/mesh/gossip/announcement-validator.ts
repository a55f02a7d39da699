import type { KeyObject } from 'node:crypto';
import { type Announcement, openAnnouncement } from '../../codec/messages/announcement.ts';
import type { CertificateChain } from '../../codec/messages/membership.ts';
import type { Clock } from '../../core/clock.ts';
import { AtmoError } from '../../core/errors.ts';
import type { HubId } from '../../core/ids.ts';
import { KeyedRateLimit } from '../rate-limit.ts';
import { MAX_GOSSIP_BYTES } from '../transport/mesh-engine.ts';
import type { DropReason } from './gossip-limits.ts';
import type { Signed } from './hub-record.ts';

/** Port: whom the mesh vouches for. */
export interface MemberCertificates {
  /** The hub and key of a certificate that holds now; PERMISSION_DENIED or VALIDATION_ERROR when it does not. */
  admit(chain: CertificateChain): { readonly hubId: HubId; readonly publicKey: KeyObject };
}

/** What the door asks of those who know hubs already. */
export interface KnownOrigins {
  /** True for what can tell nothing new, and is not worth the work of a verification. */
  isStale(unverified: Announcement): boolean;
  /** The key of a hub whose certificate was admitted, and that certificate. */
  member(id: HubId): { readonly key: KeyObject; readonly certificate: CertificateChain } | undefined;
}

/** Opens an envelope as `openAnnouncement` does, and answers it with the bytes to keep. */
export type OpenEnvelope = (envelope: Uint8Array, keyOf: (unverified: Announcement) => KeyObject | undefined) => Signed;

/** An announcement that its origin signed, a member of this mesh. */
export interface ValidAnnouncement extends Signed {
  readonly key: KeyObject;
}

interface AnnouncementValidatorCollaborators {
  readonly certificates: MemberCertificates;
  readonly keeper: KnownOrigins;
  readonly clock: Clock;
  /** Another way to verify, such as one that remembers what it verified. */
  readonly open: OpenEnvelope | undefined;
}

/** A hub sends at most this much for all others together: a whole mesh at its start, then four heartbeats of 256 hubs in 10 s. */
const NEIGHBOUR_RATE = { burst: 2_048, perSecond: 200 };
/** What one hub may announce over one neighbour; the announcer keeps below half of it. */
const ORIGIN_RATE = { burst: 80, perSecond: 2 };

/** Decides which announcements are genuine. What costs little comes first: size, rates and age, then signatures. */
export class AnnouncementValidator {
  readonly #certificates: MemberCertificates;
  readonly #keeper: KnownOrigins;
  readonly #open: OpenEnvelope;
  readonly #neighbours: KeyedRateLimit;
  /** By neighbour and origin: nobody uses up what another hub may say over its other neighbours. */
  readonly #origins: KeyedRateLimit;

  constructor({ certificates, keeper, clock, open = openEnvelope }: AnnouncementValidatorCollaborators) {
    this.#certificates = certificates;
    this.#keeper = keeper;
    this.#open = open;
    this.#neighbours = new KeyedRateLimit(clock, NEIGHBOUR_RATE);
    this.#origins = new KeyedRateLimit(clock, ORIGIN_RATE);
  }

  /** The announcement, or why it is none. */
  admit(envelope: Uint8Array, from: HubId): ValidAnnouncement | DropReason {
    if (envelope.length > MAX_GOSSIP_BYTES) return 'oversized';
    if (!this.#neighbours.tryTake(from)) return 'neighbour_rate';
    let key: KeyObject | DropReason = 'malformed';
    const keyOf = (unverified: Announcement) => {
      key = this.#keyOf(unverified, from);
      return typeof key === 'string' ? undefined : key;
    };
    try {
      const signed = this.#open(envelope, keyOf);
      return typeof key === 'string' ? key : { ...signed, key };
    } catch (error) {
      if (!(error instanceof AtmoError)) throw error;
      return typeof key === 'string' ? key : 'forged';
    }
  }

  #keyOf(unverified: Announcement, from: HubId): KeyObject | DropReason {
    const { hubId } = unverified;
    if (this.#keeper.isStale(unverified)) return 'stale';
    if (!this.#origins.tryTake(`${from} ${hubId}`)) return 'origin_rate';
    const member = this.#keeper.member(hubId);
    if (unverified.kind !== 'full') return member?.key ?? 'unknown_origin';
    if (member && isSameChain(member.certificate, unverified.certificate)) return member.key;
    return this.#keyOfNew(hubId, unverified.certificate);
  }

  #keyOfNew(hubId: HubId, certificate: CertificateChain): KeyObject | DropReason {
    try {
      const member = this.#certificates.admit(certificate);
      return member.hubId === hubId ? member.publicKey : 'not_a_member';
    } catch (error) {
      if (error instanceof AtmoError) return 'not_a_member';
      throw error;
    }
  }
}

/** What is kept is a copy: a view would keep all the bytes that came with it. */
const openEnvelope: OpenEnvelope = (envelope, keyOf) => {
  const announcement = openAnnouncement(envelope, keyOf);
  return { announcement, envelope: Uint8Array.from(envelope) };
};

/** True for certificates of the same bytes. */
export function isSameChain(one: CertificateChain, other: CertificateChain): boolean {
  return (
    one === other ||
    (one.length === other.length && one.every((link, index) => Buffer.compare(link, other[index] ?? new Uint8Array()) === 0))
  );
}
