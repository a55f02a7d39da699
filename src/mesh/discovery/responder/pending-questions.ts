import type { DnsMessage } from '../dns/dns-message.ts';
import type { DnsQuestion, DnsRecord } from '../dns/dns-record.ts';

/** Questions of one neighbour that wait for their answer. */
export interface PendingQuestions {
  readonly questions: readonly DnsQuestion[];
  readonly known: readonly DnsRecord[];
  /** Claims the name for itself: it must hear soon that it is taken (RFC 6762 8.1). */
  readonly isProbe: boolean;
  readonly askedMs: number;
}

const MAX_KNOWN = 512;

/** A message added to what the neighbour asked before: known answers may fill several messages (RFC 6762 7.2). */
export function withMessage(pending: PendingQuestions | undefined, message: DnsMessage, nowMs: number): PendingQuestions {
  return {
    questions: [...(pending?.questions ?? []), ...message.questions].slice(0, MAX_KNOWN),
    known: [...(pending?.known ?? []), ...message.answers].slice(0, MAX_KNOWN),
    isProbe: pending?.isProbe === true || message.authorities.length > 0,
    askedMs: pending?.askedMs ?? nowMs,
  };
}
