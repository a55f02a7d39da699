import type { AuditFields } from './audit-chain.ts';

/** An intent without an outcome. */
interface OpenIntent {
  readonly seq: number;
  readonly fields: AuditFields;
}

/** Which calls were begun and have not been told the end of. */
export class OpenIntents {
  // Callers choose ids of requests, and may use one twice. An outcome closes the newest of them: then counting again from the
  // first that is open comes to the same.
  readonly #open = new Map<string, OpenIntent[]>();

  /** To be told of every row, in order. */
  track(seq: number, fields: AuditFields): void {
    if (fields.kind === 'note') return;
    const key = `${fields.request} ${fields.agent} ${fields.tool}`;
    const same = this.#open.get(key) ?? [];
    if (fields.kind === 'intent') this.#open.set(key, [...same, { seq, fields }]);
    else if (same.length > 1) this.#open.set(key, same.slice(0, -1));
    else this.#open.delete(key);
  }

  list(): readonly OpenIntent[] {
    return [...this.#open.values()].flat();
  }

  /** Number of the first row that is still open. */
  first(): number | undefined {
    const all = this.list().map(({ seq }) => seq);
    return all.length === 0 ? undefined : Math.min(...all);
  }
}

/** What is written for a call that a stop of the hub cut off. */
export function unknownOutcome({ seq, fields }: OpenIntent, atMs: number): AuditFields {
  const { agent, tokens, tool, request, trace } = fields;
  return {
    kind: 'outcome',
    atMs,
    ...(agent !== undefined && { agent }),
    ...(tokens && { tokens }),
    ...(tool !== undefined && { tool }),
    ...(request !== undefined && { request }),
    ...(trace !== undefined && { trace }),
    content: `{"duration_ms":0,"error":"OUTCOME_UNKNOWN","intent":${seq},"message":"The hub stopped while the call ran; it may or may not have taken effect"}`,
  };
}
