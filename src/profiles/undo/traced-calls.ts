import type { Effect } from '../../core/auth/principal.ts';
import type { DeviceState } from '../../core/devices/device-states.ts';
import type { DeviceId } from '../../core/ids.ts';
import { isJsonObject, type JsonObject, objectOf, objectsOf, textsOf } from '../../core/json.ts';
import type { AuditLog, AuditRow } from '../../core/storage/audit-log.ts';

/** Days after a call within which it can be undone. Later, too much may have changed around it, and the search would take long. */
export const UNDO_DAYS = 7;
const DAY_MS = 86_400_000;
const PAGE_ROWS = 1_000;

/** A call as the audit log has it: its intent, and how it ended. */
export interface TracedCall {
  readonly seq: number;
  readonly at: string;
  readonly request: string;
  readonly tool: string;
  readonly agent: string;
  readonly params: JsonObject;
  readonly effects: readonly Effect[];
  /** The other hub that ran the call. */
  readonly hub?: string;
  readonly before: DeviceState;
  /** Absent if it is not known how the call ended, or while it runs. */
  readonly after?: DeviceState;
  /** `failed`: it ended with an error. `unknown`: nobody knows whether it took effect. */
  readonly state: 'running' | 'succeeded' | 'failed' | 'unknown';
  /** True if the row was too long for the log to keep what the call would change. */
  readonly isCutShort: boolean;
}

/** Reads from the audit log which calls were made, and what they changed. */
export class CallJournal {
  readonly #log: Pick<AuditLog, 'read'>;
  readonly #now: () => number;

  constructor(log: Pick<AuditLog, 'read'>, now: () => number) {
    this.#log = log;
    this.#now = now;
  }

  /** Returns the calls of a trace that acted or may have acted, the oldest first. */
  ofTrace(traceId: string): readonly TracedCall[] {
    return callsIn(this.#rows({ trace: traceId }, 0));
  }

  /** Returns the calls after a row that may have changed devices, the oldest first. */
  after(seq: number): readonly TracedCall[] {
    return callsIn(this.#rows({}, seq)).filter(({ before }) => Object.keys(before).length > 0);
  }

  /** Returns the rows after `seq`, the oldest first. */
  #rows(query: { readonly trace?: string }, seq: number): readonly AuditRow[] {
    const sinceMs = this.#now() - UNDO_DAYS * DAY_MS;
    const rows: AuditRow[] = [];
    for (let before: number | undefined; ; ) {
      const page = this.#log.read({ ...query, sinceMs, limit: PAGE_ROWS, ...(before !== undefined && { before }) });
      rows.push(...page.filter((row) => row.seq > seq));
      before = page.at(-1)?.seq;
      if (page.length < PAGE_ROWS || (before !== undefined && before <= seq)) return rows.reverse();
    }
  }
}

function callsIn(rows: readonly AuditRow[]): readonly TracedCall[] {
  const ends = new Map(rows.flatMap((row) => (row.kind === 'outcome' || row.kind === 'refusal' ? [[row.request, row] as const] : [])));
  return rows.flatMap((row) => {
    if (row.kind !== 'intent') return [];
    const end = ends.get(row.request);
    return end?.kind === 'refusal' ? [] : [tracedCall(row, end)];
  });
}

function tracedCall({ seq, at, request = '', tool = '', agent = '', content }: AuditRow, end: AuditRow | undefined): TracedCall {
  const hub = end?.content.node_id ?? content.node_id;
  const error = end?.content.error;
  const isUnknown = error === 'OUTCOME_UNKNOWN';
  return {
    seq,
    at,
    tool,
    agent,
    request,
    params: objectOf(content.params),
    effects: objectsOf(content.effects).map(effectOf),
    ...(typeof hub === 'string' && { hub }),
    before: stateOf(content.before),
    ...(end && !isUnknown && isJsonObject(end.content.after) && { after: stateOf(end.content.after) }),
    state: end === undefined ? 'running' : isUnknown ? 'unknown' : error === undefined ? 'succeeded' : 'failed',
    isCutShort: textsOf(content.omitted).some((name) => name === 'before' || name === 'effects'),
  };
}

function effectOf({ permission, risk, target, device, values, unforeseen }: JsonObject): Effect {
  return {
    permission: String(permission),
    risk: risk === 'none' || risk === 'low' || risk === 'medium' ? risk : 'dangerous',
    target: String(target),
    ...(device !== undefined && { device: String(device) as DeviceId }),
    ...(isJsonObject(values) && { values }),
    ...(unforeseen !== undefined && { unforeseen: textsOf(unforeseen) }),
  };
}

function stateOf(value: unknown): DeviceState {
  return Object.fromEntries(Object.entries(objectOf(value)).map(([device, values]) => [device, objectOf(values)]));
}
