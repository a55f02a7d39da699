import { deviceElement, type NamedDevice, readsIn, verbOf } from '../../core/devices/action-descriptions.ts';
import { isJsonObject, objectOf, objectsOf, textsOf } from '../../core/json.ts';
import type { AuditRow } from '../../core/storage/audit-log.ts';
import { humanWords } from '../components/formatting.ts';
import { hasText, languageTag, type TextKey, text } from '../texts/text.ts';
import { shortName } from './audit-rows.ts';

/** What somebody did, for a sentence such as `Claude turned on Hall lamp`. */
export interface Activity {
  readonly seq: number;
  readonly at: string;
  readonly agent: string;
  /** Text with the places `agent`, `devices` and `tool`. */
  readonly sentence: TextKey;
  /** Names of the devices, as the language lists them. */
  readonly devices: string;
  readonly tool: string;
  readonly state: 'done' | 'failed' | 'refused' | 'unknown';
  /** Why it failed or was refused; empty if it did not. */
  readonly reason: string;
  /** Persons who approved it, as the language lists them. */
  readonly approvedBy: string;
  /** How it can be undone; absent if it acted on no device and changed nothing else that the hub can bring back. */
  readonly undo?: ActivityUndo;
  /** The rows of the audit log from which this was made. */
  readonly rows: readonly AuditRow[];
}

/** How an activity can be undone. */
export interface ActivityUndo {
  readonly traceId: string;
  readonly state: 'possible' | 'undone' | 'impossible';
  /** How many activities have the same trace. They are undone together. */
  readonly calls: number;
}

const MAX_NAMES = 4;
const UNDO = /^hub:undo@/;
/** Tools of the hub itself that change nothing. The page calls them all the time to show its lists. */
const OWN_READ =
  /^(?:hub|core):(?:(?:list|read|show|get|find|search|describe|verify|preview|export)_|network_topology|push_key|audit_head|device_diagnostics|check_|convert_|explain_|replay_|recognised_devices)/;

/**
 * Returns what happened, newest first, from rows of the audit log, newest first. A call has a row before it runs and one after it, which
 * become one activity. Without `withReads`, leaves out what was only read about the hub, most of which the page reads for its own lists.
 */
export function activitiesOf(
  rows: readonly AuditRow[],
  { devices, withReads }: { readonly devices: readonly NamedDevice[]; readonly withReads: boolean },
): readonly Activity[] {
  const facts = undoIndexOf(rows);
  const outcomes = new Map(rows.flatMap((row) => (row.kind === 'outcome' && row.request !== undefined ? [[row.request, row]] : [])));
  return rows.flatMap((row) => {
    if (row.tool === undefined || (row.kind !== 'intent' && row.kind !== 'refusal')) return [];
    if (!withReads && row.kind === 'intent' && OWN_READ.test(row.tool)) return [];
    return [activityOf(row, { outcome: outcomes.get(row.request ?? ''), devices, facts })];
  });
}

/** What the rows say about the undo of their calls. */
interface UndoIndex {
  /** Traces that were undone. */
  readonly undone: ReadonlySet<string>;
  /** How many calls of each trace changed values of devices, or what the hub keeps, such as a flag or a scene. */
  readonly calls: ReadonlyMap<string, number>;
}

function undoIndexOf(rows: readonly AuditRow[]): UndoIndex {
  const succeeded = new Set(
    rows.flatMap(({ kind, request, content }) => (kind === 'outcome' && content.error === undefined ? [request] : [])),
  );
  const undos = rows.filter(({ kind, tool = '', request }) => kind === 'intent' && UNDO.test(tool) && succeeded.has(request));
  const calls = new Map<string, number>();
  for (const { trace, content } of rows)
    if (trace !== undefined && content.before !== undefined) calls.set(trace, (calls.get(trace) ?? 0) + 1);
  return { undone: new Set(undos.map(({ content }) => String(objectOf(content.params).trace_id))), calls };
}

function undoOf({ trace, content }: AuditRow, { undone, calls }: UndoIndex): ActivityUndo | undefined {
  if (trace === undefined) return undefined;
  const state = undone.has(trace) ? 'undone' : content.before === undefined ? 'impossible' : 'possible';
  return { traceId: trace, state, calls: calls.get(trace) ?? 1 };
}

function activityOf(
  row: AuditRow,
  {
    outcome,
    devices,
    facts,
  }: { readonly outcome: AuditRow | undefined; readonly devices: readonly NamedDevice[]; readonly facts: UndoIndex },
): Activity {
  const { seq, at, agent = '', tool = '', content } = row;
  const { sentence, ids, hasActed } = doneTo(content.effects);
  const isUndoable = hasActed || content.before !== undefined;
  const undo = isUndoable && row.kind === 'intent' ? undoOf(row, facts) : undefined;
  const end = row.kind === 'refusal' ? row : outcome;
  const reason = [end?.content.error, end?.content.message].filter((part) => typeof part === 'string').join(': ');
  const { approved_by: approvers } = isJsonObject(content.decision) ? content.decision : {};
  return {
    seq,
    at,
    agent,
    ...(undo && { undo }),
    sentence: row.kind === 'refusal' ? 'activity.refused' : sentence,
    devices: listWords(ids.map((id) => devices.find((device) => device.id === id)?.name ?? id)),
    tool: humanWords(shortName(tool)),
    state: row.kind === 'refusal' ? 'refused' : outcome === undefined ? 'unknown' : reason === '' ? 'done' : 'failed',
    reason,
    approvedBy: listWords(textsOf(approvers)),
    rows: outcome ? [row, outcome] : [row],
  };
}

/** Returns the sentence for the effects of a call, the ids of the devices that it is about, and whether it did more than to read them. */
function doneTo(effects: unknown): { readonly sentence: TextKey; readonly ids: readonly string[]; readonly hasActed: boolean } {
  const all = objectsOf(effects).map(({ target, permission }) => ({ target: String(target), permission: String(permission) }));
  const reads = readsIn(all);
  const elements = all.flatMap(({ target }) => {
    const element = deviceElement(target);
    return element ? [{ ...element, isRead: reads.has(target) }] : [];
  });
  const changed = elements.filter(({ isRead }) => !isRead);
  const ids = [...new Set((changed.length > 0 ? changed : elements).map(({ device }) => device))];
  const hasActed = changed.length > 0;
  if (ids.length === 0) return { sentence: 'activity.used', ids, hasActed };
  if (!hasActed) return { sentence: 'activity.looked_at', ids, hasActed };
  const verbs = new Set(changed.map(verbOf));
  const [verb] = verbs;
  const key = `activity.did_${(verb ?? '').toLowerCase().replaceAll(' ', '_')}`;
  return { sentence: verbs.size === 1 && hasText(key) ? key : 'activity.used_on', ids, hasActed };
}

function listWords(names: readonly string[]): string {
  const more = names.length - MAX_NAMES;
  const shown = more > 0 ? [...names.slice(0, MAX_NAMES), text('activity.more', { count: more })] : names;
  return new Intl.ListFormat(languageTag()).format(shown);
}
