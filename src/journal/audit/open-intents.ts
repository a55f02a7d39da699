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
  readonly #byRequest = new Map<string | undefined, OpenIntent[]>();

  /** To be told of every row, in order. */
  track(seq: number, fields: AuditFields): void {
    const { kind, request, agent, tool } = fields;
    if (kind === 'note') return;
    const open = this.#byRequest.get(request) ?? [];
    if (kind === 'intent') {
      this.#byRequest.set(request, [...open, { seq, fields }]);
      return;
    }
    const ended = open.findLastIndex((intent) => intent.fields.agent === agent && intent.fields.tool === tool);
    if (ended === -1) return;
    if (open.length === 1) this.#byRequest.delete(request);
    else this.#byRequest.set(request, open.toSpliced(ended, 1));
  }

  list(): readonly OpenIntent[] {
    return [...this.#byRequest.values()].flat();
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
