import { parseIsoTime } from '../../core/clock.ts';
import { AtmoError } from '../../core/errors.ts';
import type { Json, JsonObject } from '../../core/json.ts';
import { AUDIT_KINDS, type AuditHead, type AuditLog, type AuditQuery, type AuditRow } from '../../core/storage/audit-log.ts';
import { defineTool, INSTANT, INTEGER, p, resultSchema, TEXT } from '../definition/define-tool.ts';
import type { RegisteredTool } from '../definition/tool-definition.ts';
import { copyJsonObject, RESULT_LIMITS } from '../schema/plain-json.ts';
import { HUB_READS } from './hub-tool.ts';

const MAX_ROWS = 1_000;
/** Maximum length of a page in characters of JSON. It is far below the limit on results in RESULT_LIMITS. */
const MAX_PAGE_LENGTH = 900_000;
const FOR_AUDIT = { ...HUB_READS, permissions: ['admin:audit'] } as const;
const HASH = { type: 'string', pattern: '^[0-9a-f]{64}$' } as const;
const headSchema = resultSchema({ hub: TEXT, seq: INTEGER, hash: HASH, at: INSTANT });

/** Returns the tools that read and check the audit log: `hub:read_audit`, `hub:audit_head`, `hub:verify_audit`. */
export function auditTools(log: AuditLog): readonly RegisteredTool[] {
  return [readTool(log), headTool(log), verifyTool(log)];
}

function readTool(log: AuditLog): RegisteredTool {
  return defineTool(
    {
      ...FOR_AUDIT,
      name: 'read_audit',
      title: 'Read the journal',
      description:
        'Reads the journal of calls, newest first: who called what, why it was allowed or refused, and how it ended. ' +
        'A page that is not the last says with next_before where the next one begins.',
      tags: ['audit', 'journal', 'history'],
      parameters: {
        since: p.string({ description: 'Only what was written from this time on, ISO 8601', format: 'date-time' }).optional(),
        until: p.string({ description: 'Only what was written until this time, ISO 8601', format: 'date-time' }).optional(),
        agent: p.string({ description: 'Only calls of this agent', maxLength: 256 }).optional(),
        tool: p
          .string({ description: 'Only calls of this tool: its id, or its name, which may be that of a tool that is gone', maxLength: 256 })
          .optional(),
        request: p.string({ description: 'Only the call with this request id', maxLength: 256 }).optional(),
        kind: p.enum(AUDIT_KINDS, { description: 'Only rows of this kind' }).optional(),
        before: p.integer({ description: 'Only rows before this number', minimum: 1, maximum: Number.MAX_SAFE_INTEGER }).optional(),
        limit: p.integer({ description: 'At most this many rows', minimum: 1, maximum: MAX_ROWS, default: 100 }),
      },
      returns: resultSchema(
        {
          rows: {
            type: 'array',
            items: resultSchema({ seq: INTEGER, at: INSTANT, kind: { enum: AUDIT_KINDS }, hash: TEXT, content: { type: 'object' } }),
          },
          next_before: INTEGER,
        },
        ['next_before'],
      ),
    },
    async ({ since, until, ...filters }): Promise<Json> => {
      const query: AuditQuery = {
        ...filters,
        ...(since !== undefined && { sinceMs: parseIsoTime(since, 'since') }),
        ...(until !== undefined && { untilMs: parseIsoTime(until, 'until') }),
      };
      return pageOf(log.read(query), query.limit);
    },
  );
}

function headTool(log: AuditLog): RegisteredTool {
  return defineTool(
    {
      ...FOR_AUDIT,
      name: 'audit_head',
      title: 'Head of the journal',
      description:
        'Tells where the chain of the journal stands. Keep number and hash elsewhere: verify_audit can later be held against them.',
      tags: ['audit', 'journal'],
      parameters: {},
      returns: headSchema,
    },
    async () => headJson(log.head()),
  );
}

function verifyTool(log: AuditLog): RegisteredTool {
  return defineTool(
    {
      ...FOR_AUDIT,
      name: 'verify_audit',
      title: 'Verify the journal',
      description:
        'Recomputes the chain of the journal and tells whether any row was changed, removed, inserted or cut off, and which is the first. ' +
        'With seq and hash of a head that was kept elsewhere it also shows a journal that was written anew.',
      isAsyncAllowed: true,
      timeoutMs: 600_000,
      tags: ['audit', 'journal', 'tampering'],
      parameters: {
        seq: p.integer({ description: 'Number of the head that was kept', minimum: 0, maximum: Number.MAX_SAFE_INTEGER }).optional(),
        hash: p.string({ description: 'Hash of the head that was kept, 64 hex digits', pattern: '^[0-9a-fA-F]{64}$' }).optional(),
      },
      returns: resultSchema(
        { intact: { type: 'boolean' }, rows: INTEGER, head: headSchema, problem: resultSchema({ seq: INTEGER, reason: TEXT }) },
        ['problem'],
      ),
    },
    async ({ seq, hash }): Promise<Json> => {
      const { intact, rows, head, problem } = await log.verify(expectedHead(seq, hash));
      return { intact, rows, head: headJson(head), ...(problem && { problem: { ...problem } }) };
    },
  );
}

function expectedHead(seq: number | undefined, hash: string | undefined): Pick<AuditHead, 'seq' | 'hash'> | undefined {
  if (seq === undefined && hash === undefined) return undefined;
  if (seq !== undefined && hash !== undefined) return { seq, hash: hash.toLowerCase() };
  throw new AtmoError('VALIDATION_ERROR', 'A head is a number and a hash; give both seq and hash, or none of them');
}

/** Returns the rows that fit into MAX_PAGE_LENGTH characters. The first row is returned even if it is longer. */
function pageOf(found: readonly AuditRow[], limit: number): JsonObject {
  const rows: JsonObject[] = [];
  let length = 0;
  for (const row of found) {
    length += JSON.stringify(row).length;
    if (length > MAX_PAGE_LENGTH && rows.length > 0) break;
    rows.push(copyJsonObject(row, RESULT_LIMITS));
  }
  const isLast = found.length < limit && rows.length === found.length;
  const last = found[rows.length - 1];
  return { rows, ...(!isLast && last && { next_before: last.seq }) };
}

function headJson({ hub, seq, hash, at }: AuditHead): JsonObject {
  return { hub, seq, hash, at };
}
