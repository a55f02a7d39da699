/** The code of why a connection failed, such as `ECONNREFUSED`; `no answer` where there is none. Never a text of the other side. */
export function connectionCode(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return typeof cause === 'object' && cause !== null && 'code' in cause ? String(cause.code) : 'no answer';
}
