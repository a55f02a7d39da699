import { certificateChainCodec } from '../../codec/messages/membership.ts';
import { isoTime, repeat } from '../../core/clock.ts';
import type { HubContext } from '../../core/context.ts';
import { AtmoError, toAtmoError } from '../../core/errors.ts';
import type { Service } from '../../core/lifecycle.ts';
import { KeyedRateLimit } from '../rate-limit.ts';
import type { PeerLink, PeerLinks } from '../rpc/peer-link.ts';
import { isInviter } from './certificates.ts';
import type { MemberAdmission } from './member-admission.ts';
import type { MeshAuthority } from './mesh-authority.ts';
import type { MeshMembership } from './mesh-membership.ts';

/** The renewal of a certificate begins this many milliseconds before the certificate expires. */
export const RENEW_BEFORE_MS = 30 * 86_400_000;
const TRY_EVERY_MS = 3_600_000;
const TIMEOUT_MS = 10_000;
/** Rate limit for the renewal requests of one hub. Each request costs signatures and disk writes. */
const RENEWAL_RATE = { burst: 16, perSecond: 16 / 3_600 };

interface RenewalCollaborators extends Pick<HubContext, 'clock' | 'logger' | 'events' | 'time'> {
  readonly membership: MeshMembership;
  readonly admission: Pick<MemberAdmission, 'answerRenew'>;
  readonly authority: Pick<MeshAuthority, 'delegationFor' | 'delivered'>;
  readonly links: PeerLinks;
}

/**
 * Renews the certificate of this hub. From 30 days before the expiry, requests a new certificate from connected inviters: every hour, and
 * when an inviter connects. Also answers renewal requests of other hubs, and sends them the certificates that the root key signed for them.
 */
export class CertificateRenewal implements Service {
  readonly #collaborators: RenewalCollaborators;
  readonly #rateLimit: KeyedRateLimit;
  readonly #stopped = new AbortController();
  #stopListening: () => void = () => {};
  #cancelTimer: () => void = () => {};

  constructor(collaborators: RenewalCollaborators) {
    this.#collaborators = collaborators;
    this.#rateLimit = new KeyedRateLimit(collaborators.clock, RENEWAL_RATE);
  }

  async start(): Promise<void> {
    const { links, admission, clock } = this.#collaborators;
    links.handle('renew', async ({ from, body }) => {
      if (this.#rateLimit.tryTake(from)) return admission.answerRenew(from, body);
      throw new AtmoError('RATE_LIMITED', `${from} requests certificates too often; try again in an hour`);
    });
    this.#stopListening = links.onLinkUp((link) => void this.#onLinkUp(link));
    for (const link of links.links()) void this.#onLinkUp(link);
    this.#cancelTimer = repeat(clock, TRY_EVERY_MS, () => {
      if (this.#isDue()) void this.#renewDue();
    });
  }

  /**
   * Renews the certificate now, even if it is not due: asks the connected inviters in turn. Rejects with NODE_UNAVAILABLE if no inviter is
   * connected, NOT_SUPPORTED if the root key signed the certificate, or the last inviter's error if every inviter fails.
   */
  async renewNow(): Promise<void> {
    const { membership, links } = this.#collaborators;
    const own = membership.requireOwn();
    if (own.inviter === undefined) {
      throw new AtmoError(
        'NOT_SUPPORTED',
        `The root key signed the certificate of this hub; it is renewed with atmo mesh delegate ${own.hubId}`,
      );
    }
    const inviters = links.links().filter(({ peer }) => {
      const member = membership.member(peer.id);
      return member !== undefined && isInviter(member);
    });
    let failure = new AtmoError('NODE_UNAVAILABLE', 'No hub that may let others in is connected; start the one that made the mesh');
    for (const link of inviters) {
      try {
        return await this.#renewAt(link);
      } catch (thrown) {
        failure = toAtmoError(thrown);
      }
    }
    throw failure;
  }

  /** Sends a hub the certificate that `delegate` stored for it. Resolves with false if there is none or the hub is not connected. */
  async handOver(hub: PeerLink['peer']['id']): Promise<boolean> {
    const link = this.#collaborators.links.to(hub);
    const certificate = this.#collaborators.authority.delegationFor(hub);
    if (!link || !certificate) return false;
    await this.#request(link, certificateChainCodec.encode(certificate));
    this.#collaborators.authority.delivered(hub);
    return true;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopListening();
    this.#cancelTimer();
    this.#stopped.abort(new AtmoError('SHUTTING_DOWN', 'The hub is stopping'));
  }

  async #onLinkUp(link: PeerLink): Promise<void> {
    try {
      await this.handOver(link.peer.id);
      const member = this.#collaborators.membership.member(link.peer.id);
      if (this.#isDue() && member && isInviter(member)) await this.#renewAt(link);
    } catch (thrown) {
      this.#collaborators.logger.warn('mesh.renewal_failed', { hub_id: link.peer.id, problem: toAtmoError(thrown).message });
    }
  }

  async #renewAt(link: PeerLink): Promise<void> {
    const { membership } = this.#collaborators;
    const answer = await this.#request(link, certificateChainCodec.encode(membership.requireOwn().certificate));
    membership.replaceCertificate(certificateChainCodec.decode(answer));
  }

  async #request(link: PeerLink, body: Uint8Array): Promise<Uint8Array> {
    const late = new AbortController();
    const cancel = this.#collaborators.clock.after(TIMEOUT_MS, () =>
      late.abort(new AtmoError('TIMEOUT', `${link.peer.id} did not answer within 10 s`)),
    );
    try {
      return await link.request('renew', body, { signal: AbortSignal.any([this.#stopped.signal, late.signal]) });
    } finally {
      cancel();
    }
  }

  #isDue(): boolean {
    const own = this.#collaborators.membership.own();
    return own !== undefined && own.expiresAtMs - this.#collaborators.time.now() <= RENEW_BEFORE_MS;
  }

  async #renewDue(): Promise<void> {
    const { membership, events, logger } = this.#collaborators;
    try {
      await this.renewNow();
    } catch (thrown) {
      const own = membership.own();
      if (!own) return;
      const fields = { expires_at: isoTime(own.expiresAtMs), problem: toAtmoError(thrown).message };
      logger.warn('mesh.renewal_failed', fields);
      events.emit('hub.warning', own.hubId, { warning: 'mesh.renewal_failed', ...fields });
    }
  }
}
