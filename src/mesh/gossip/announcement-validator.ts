import type { KeyObject } from 'node:crypto';
import { type Announcement, openAnnouncement } from '../../codec/messages/announcement.ts';
import type { CertificateChain } from '../../codec/messages/membership.ts';
import type { Clock } from '../../core/clock.ts';
import { AtmoError } from '../../core/errors.ts';
import type { HubId } from '../../core/ids.ts';
import { KeyedRateLimit } from '../rate-limit.ts';
import { MAX_GOSSIP_BYTES } from '../transport/mesh-engine.ts';
import type { DropReason } from './gossip-limits.ts';
import type { MemberCertificates, Signed } from './hub-record.ts';
import type { HubRecords } from './hub-records.ts';

/** Verifies an envelope in the same way as `openAnnouncement`. Returns the announcement with the envelope bytes to store. */
export type OpenEnvelope = (envelope: Uint8Array, keyOf: (unverified: Announcement) => KeyObject | undefined) => Signed;

/** Announcement with a valid signature of a member of this mesh. `key` is that member's public key. */
export interface ValidAnnouncement extends Signed {
  readonly key: KeyObject;
}

interface AnnouncementValidatorCollaborators {
  readonly certificates: MemberCertificates;
  readonly records: HubRecords;
  readonly clock: Clock;
  /** Replaces `openEnvelope` in a simulation, where all simulated hubs share one verification of each envelope. */
  readonly open?: OpenEnvelope | undefined;
}

/**
 * Rate limit for all announcements from one neighbour. It permits a neighbour to send the announcements of the whole mesh after a start. It
 * also permits four heartbeats of every hub within 10 s, in a mesh of 256 hubs.
 */
const NEIGHBOUR_RATE = { burst: 2_048, perSecond: 200 };
/** Rate limit for one hub's announcements from one neighbour. A hub announces itself at less than half of this rate (`ANNOUNCER_RATE`). */
const ORIGIN_RATE = { burst: 80, perSecond: 2 };

/** Validates announcements. Checks size, rate and age before the signature, because these checks are cheaper. */
export class AnnouncementValidator {
  readonly #parts: AnnouncementValidatorCollaborators;
  readonly #neighbours: KeyedRateLimit;
  /** One rate limit for each pair of neighbour and origin. If one neighbour repeats announcements, other neighbours can still send them. */
  readonly #origins: KeyedRateLimit;

  constructor(parts: AnnouncementValidatorCollaborators) {
    this.#parts = parts;
    this.#neighbours = new KeyedRateLimit(parts.clock, NEIGHBOUR_RATE);
    this.#origins = new KeyedRateLimit(parts.clock, ORIGIN_RATE);
  }

  /** Returns the valid announcement, or the reason to drop it. */
  admit(envelope: Uint8Array, from: HubId): ValidAnnouncement | DropReason {
    if (envelope.length > MAX_GOSSIP_BYTES) return 'oversized';
    if (!this.#neighbours.tryTake(from)) return 'neighbour_rate';
    let key: KeyObject | DropReason = 'malformed';
    const keyOf = (unverified: Announcement) => {
      key = this.#keyOf(unverified, from);
      return typeof key === 'string' ? undefined : key;
    };
    try {
      const signed = (this.#parts.open ?? openEnvelope)(envelope, keyOf);
      return typeof key === 'string' ? key : { ...signed, key };
    } catch (error) {
      if (!(error instanceof AtmoError)) throw error;
      return typeof key === 'string' ? key : 'forged';
    }
  }

  #keyOf(unverified: Announcement, from: HubId): KeyObject | DropReason {
    const { records } = this.#parts;
    const { hubId } = unverified;
    if (records.isStale(unverified)) return 'stale';
    if (!this.#origins.tryTake(`${from} ${hubId}`)) return 'origin_rate';
    if (unverified.kind !== 'full') return records.keyOf(hubId) ?? 'unknown_origin';
    const record = records.get(hubId);
    if (record && isSameChain(record.certificate, unverified.certificate)) return record.key;
    return this.#keyOfNew(hubId, unverified.certificate);
  }

  #keyOfNew(hubId: HubId, certificate: CertificateChain): KeyObject | DropReason {
    try {
      const member = this.#parts.certificates.admit(certificate);
      return member.hubId === hubId ? member.publicKey : 'not_a_member';
    } catch (error) {
      if (error instanceof AtmoError) return 'not_a_member';
      throw error;
    }
  }
}

/** Verifies an envelope and copies its bytes, because a view would keep the whole received message in memory. */
export const openEnvelope: OpenEnvelope = (envelope, keyOf) => {
  const announcement = openAnnouncement(envelope, keyOf);
  return { announcement, envelope: Uint8Array.from(envelope) };
};

/** Returns whether two certificates have the same bytes. */
export function isSameChain(one: CertificateChain, other: CertificateChain): boolean {
  return (
    one === other ||
    (one.length === other.length && one.every((link, index) => Buffer.compare(link, other[index] ?? new Uint8Array()) === 0))
  );
}
