import type { Effect } from '../../core/auth/principal.ts';
import type { DeviceState } from '../../core/devices/device-model.ts';
import { AtmoError } from '../../core/errors.ts';
import type { DeviceId } from '../../core/ids.ts';
import { isJsonObject, type JsonObject, objectOf, objectsOf, textsOf } from '../../core/json.ts';
import type { AuditLog, AuditRow } from '../../core/storage/audit-log.ts';

/** Days after a call within which it can be undone. Later, too much may have changed around it, and the search would take long. */
export const UNDO_DAYS = 7;
const DAY_MS = 86_400_000;
/** Most rows of a trace that are read. An automation runs at most 500 steps, and each step has two rows. */
const MAX_TRACE_ROWS = 2_000;
const PAGE_ROWS = 1_000;
/** Most later calls for the same devices that are looked at; they are parsed while the hub waits. */
const MAX_LATER_CALLS = 1_000;
const LATER_PAGE_ROWS = 50;

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
export class AuditedCalls {
  readonly #log: Pick<AuditLog, 'read' | 'head'>;
  readonly #now: () => number;
  /** The trace that was read last. It is read again only when the log has a new row, as one undo asks for its trace several times. */
  #last: { readonly trace: string; readonly headHash: string; readonly calls: readonly TracedCall[] } | undefined;

  constructor(log: Pick<AuditLog, 'read' | 'head'>, now: () => number) {
    this.#log = log;
    this.#now = now;
  }

  /** Returns the calls of a trace that acted or may have acted, the oldest first. Throws NOT_SUPPORTED if the trace is too long. */
  ofTrace(trace: string): readonly TracedCall[] {
    const { hash: headHash } = this.#log.head();
    if (this.#last?.trace !== trace || this.#last.headHash !== headHash) this.#last = { trace, headHash, calls: this.#readTrace(trace) };
    return this.#last.calls;
  }

  /**
   * Yields the calls after a row that may have changed the devices, the newest first, all as `running`: `ended` tells how one ended. Throws
   * NOT_SUPPORTED if there are too many.
   */
  *after(seq: number, devices: readonly string[]): Generator<TracedCall> {
    let before: number | undefined;
    for (let count = 0; count < MAX_LATER_CALLS; count += LATER_PAGE_ROWS) {
      const page = this.#log.read({ devices, after: seq, limit: LATER_PAGE_ROWS, ...(before !== undefined && { before }) });
      for (const row of page) yield tracedCall(row, undefined);
      if (page.length < LATER_PAGE_ROWS) return;
      before = page.at(-1)?.seq;
    }
    throw tooMany('Too many later calls for the same devices would have to be looked at');
  }

  /** Returns a call that `after` yielded, with its end if it has one. */
  ended(call: TracedCall): TracedCall {
    const { seq, request, agent, tool } = call;
    const [first] = this.#log.read({ request, agent, tool, after: seq, limit: PAGE_ROWS }).toReversed();
    return first && isEnd(first) ? { ...call, ...endOf(first) } : call;
  }

  /** Returns how long ago a call was made. */
  secondsSince({ at }: TracedCall): number {
    return (this.#now() - Date.parse(at)) / 1000;
  }

  #readTrace(trace: string): readonly TracedCall[] {
    const sinceMs = this.#now() - UNDO_DAYS * DAY_MS;
    const rows: AuditRow[] = [];
    for (let before: number | undefined; rows.length < MAX_TRACE_ROWS; ) {
      const page = this.#log.read({ trace, sinceMs, limit: PAGE_ROWS, ...(before !== undefined && { before }) });
      rows.push(...page);
      if (page.length < PAGE_ROWS) return callsIn(rows.reverse());
      before = page.at(-1)?.seq;
    }
    throw tooMany('The trace has more calls than can be undone at once');
  }
}

function isEnd({ kind }: AuditRow): boolean {
  return kind === 'outcome' || kind === 'refusal';
}

/** Returns the calls in rows of a trace. Callers choose the ids of requests, so an id may come again: a call ends with the next row of its own. */
function callsIn(rows: readonly AuditRow[]): readonly TracedCall[] {
  const open = new Map<string, AuditRow>();
  const ends = new Map<AuditRow, AuditRow>();
  for (const row of rows) {
    const key = JSON.stringify([row.agent, row.tool, row.request]);
    const intent = open.get(key);
    if (row.kind === 'intent') open.set(key, row);
    else if (intent && isEnd(row)) ends.set(intent, row);
    if (isEnd(row)) open.delete(key);
  }
  return rows.flatMap((row) => (row.kind === 'intent' && ends.get(row)?.kind !== 'refusal' ? [tracedCall(row, ends.get(row))] : []));
}

function tooMany(why: string): AtmoError {
  return new AtmoError('NOT_SUPPORTED', `${why}; nothing was undone`, { reason: 'too_many_calls' });
}

function tracedCall({ seq, at, request = '', tool = '', agent = '', content }: AuditRow, end: AuditRow | undefined): TracedCall {
  const { node_id: hub } = content;
  return {
    seq,
    at,
    tool,
    agent,
    request,
    params: objectOf(content.params),
    effects: objectsOf(content.effects).map(effectOf),
    before: stateOf(content.before),
    isCutShort: textsOf(content.omitted).some((name) => name === 'before' || name === 'effects'),
    ...(typeof hub === 'string' && { hub }),
    ...(end ? endOf(end) : { state: 'running' }),
  };
}

function endOf({ content }: AuditRow): Pick<TracedCall, 'state' | 'after' | 'hub'> {
  const { node_id: hub, error, after } = content;
  const isUnknown = error === 'OUTCOME_UNKNOWN';
  return {
    ...(typeof hub === 'string' && { hub }),
    ...(!isUnknown && isJsonObject(after) && { after: stateOf(after) }),
    state: isUnknown ? 'unknown' : error === undefined ? 'succeeded' : 'failed',
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
