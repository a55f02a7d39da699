import { TOKEN_SKEW_MS } from '../../../core/access/principal.ts';
import { isoTime } from '../../../core/time/iso-time.ts';
import type { TrustedTime } from '../../../core/time/trusted-time.ts';
import { refuseAtGate } from '../joining/gate-refusal.ts';
import type { Member } from '../members/member.ts';

/** True once the certificate has ended, clocks that differ by a minute allowed for. */
export function isExpired({ expiresAtMs }: Pick<Member, 'expiresAtMs'>, time: TrustedTime): boolean {
  return time.now() >= expiresAtMs + TOKEN_SKEW_MS;
}

/** Refuses a certificate that has ended or has not begun. */
export function requireInTime(member: Member, time: TrustedTime): void {
  if (isExpired(member, time)) {
    refuseAtGate(
      'expired',
      `The membership of ${member.hubId} ended at ${isoTime(member.expiresAtMs)}. Let it join again with a new invite, or check the clocks`,
    );
  }
  // A board that woke in the past would find every certificate too young; no issuer makes one for later.
  if (!time.isTrusted()) return;
  const startMs = Math.max(member.notBeforeMs, member.issuedAtMs - BACKDATED_MS);
  if (time.now() >= startMs - TOKEN_SKEW_MS) return;
  refuseAtGate('not_yet_valid', `The membership of ${member.hubId} begins at ${isoTime(startMs)}. Check the clocks of both hubs`);
}

/** Certificates begin before they are made, so that a hub with a slow clock does not refuse a new member. */
export const BACKDATED_MS = 3_600_000;
