import { randomUUID } from 'node:crypto';

/** Who asked for what within which trace. */
export interface Trace {
  readonly requestId: string;
  /** 32 hex digits (W3C Trace Context). */
  readonly traceId: string;
  /** The header for the answer, with the span of this hub. */
  readonly traceparent: string;
}

const TRACEPARENT = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-([0-9a-f]{2})$/;
const REQUEST_ID = /^[A-Za-z0-9_.-]{1,64}$/;

/** Continues the caller's trace, or begins one; malformed headers are replaced, as W3C Trace Context §3.2 wants. */
export function traceOf(headers: { get(name: string): string | null }): Trace {
  const given = headers.get('x-request-id');
  const requestId = given !== null && REQUEST_ID.test(given) ? given : randomUUID();
  const parent = TRACEPARENT.exec(headers.get('traceparent') ?? '');
  const traceId = parent?.[1] ?? randomHex();
  return { requestId, traceId, traceparent: `00-${traceId}-${randomHex().slice(0, 16)}-${parent?.[2] ?? '01'}` };
}

/** 32 hex digits; Node keeps a pool for these, `randomBytes` asks the system each time. */
function randomHex(): string {
  return randomUUID().replaceAll('-', '');
}
