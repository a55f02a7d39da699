import { describeCompleted, type NamedDevice } from '../../core/devices/action-descriptions.ts';
import { isJsonObject } from '../../core/json.ts';
import type { AuditRow } from '../../core/storage/audit-log.ts';
import { text } from '../texts/text.ts';

/** A row of the audit log on one line, for people. */
export interface AuditLine {
  readonly verdict: 'asked' | 'done' | 'failed' | 'refused' | 'noted';
  /** The tool's name without namespace and version, or the name of the event. */
  readonly subject: string;
  /** The parameters, the result, or the reason of a failure; empty if the row has none of them. */
  readonly detail: string;
}

/** Returns the line for an audit row. The hub has already masked the secrets in `content`. */
export function auditLine(
  { kind, tool, content }: Pick<AuditRow, 'kind' | 'tool' | 'content'>,
  devices: readonly NamedDevice[],
): AuditLine {
  const subject = tool === undefined ? String(content.event ?? kind) : shortName(tool);
  if (kind === 'note') return { verdict: 'noted', subject, detail: compact(content.data) };
  if (kind === 'intent') {
    const parts = [describeCompleted(content.effects, devices), compact(content.params), decisionIn(content.decision)];
    return { verdict: 'asked', subject, detail: parts.filter((part) => part !== '').join(' · ') };
  }
  const reason = [content.error, content.message].filter((part) => typeof part === 'string').join(': ');
  if (kind === 'refusal') return { verdict: 'refused', subject, detail: reason };
  return reason === '' ? { verdict: 'done', subject, detail: compact(content.result) } : { verdict: 'failed', subject, detail: reason };
}

/** Returns a tool id without namespace and version: `matter:lamp_turn_on@1.0.0` becomes `lamp_turn_on`. */
export function shortName(tool: string): string {
  return tool.replace(/^[a-z0-9_-]+:/, '').replace(/@[^@]*$/, '');
}

const MAX_LENGTH = 160;

function compact(value: unknown): string {
  if (value === undefined || value === null || (isJsonObject(value) && Object.keys(value).length === 0)) return '';
  const written = JSON.stringify(value);
  return written.length <= MAX_LENGTH ? written : `${written.slice(0, MAX_LENGTH)}…`;
}

function decisionIn(decision: unknown): string {
  if (!isJsonObject(decision)) return '';
  const approvers = Array.isArray(decision.approved_by) ? decision.approved_by.join(', ') : '';
  if (approvers !== '') return text('activity.approved_by', { people: approvers });
  return typeof decision.rule === 'string' ? text('activity.by_rule', { rule: decision.rule }) : '';
}

/** A filter for the audit log. Empty fields have no effect. */
export interface AuditFilter {
  readonly agent: string;
  readonly tool: string;
  readonly kind: string;
}

/** A filter without conditions, which every audit row passes. */
export const NO_FILTER: AuditFilter = { agent: '', tool: '', kind: '' };
const PAGE_ROWS = 50;

/** Returns the URL path for one page of the audit log, newest row first. `before` is `next_before` of the previous page. */
export function auditPath(filter: AuditFilter, before?: number): string {
  const query = new URLSearchParams({ limit: String(PAGE_ROWS) });
  for (const [name, value] of Object.entries(filter)) if (value !== '') query.set(name, value);
  if (before !== undefined) query.set('before', String(before));
  return `/api/v1/audit?${query}`;
}
