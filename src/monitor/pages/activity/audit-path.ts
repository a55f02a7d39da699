/** Which rows of the journal are wanted; empty members leave the choice open. */
export interface AuditFilter {
  readonly agent: string;
  readonly tool: string;
  readonly kind: string;
}

export const NO_FILTER: AuditFilter = { agent: '', tool: '', kind: '' };
const PAGE_ROWS = 50;

/** Path of one page of the journal, newest first; `before` is `next_before` of the page before. */
export function auditPath(filter: AuditFilter, before?: number): string {
  const query = new URLSearchParams({ limit: String(PAGE_ROWS) });
  for (const [name, value] of Object.entries(filter)) if (value !== '') query.set(name, value);
  if (before !== undefined) query.set('before', String(before));
  return `/api/v1/audit?${query}`;
}
