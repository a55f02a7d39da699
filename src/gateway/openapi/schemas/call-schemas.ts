import { ERROR_CODES } from '../../../core/errors.ts';
import { anything, instant, listOf, type NamedSchemas, named, record, text } from './schema-parts.ts';

const CODE = { type: 'string', enum: Object.keys(ERROR_CODES) };
const DETAILS = { type: 'object', description: 'What belongs to the code, such as candidates, problems or approval_id' };
const RETRYABLE = { type: 'boolean', description: 'Whether the same request may work later' };

/** What the envelope of a call has whatever came of it. */
const ENVELOPE = {
  id: text('Id of this answer'),
  request_id: text('X-Request-ID, or one that the hub made up'),
  trace_id: text('Trace of traceparent; the row in the journal has it too'),
  timestamp: instant,
  execution: record({ node_id: text('The hub that ran it'), duration_ms: { type: 'number' }, hops: { type: 'integer' } }),
};

/** Errors, calls and jobs. */
export const CALL_SCHEMAS: NamedSchemas = {
  Problem: record({
    type: { type: 'string', format: 'uri' },
    title: text('What the code means'),
    status: { type: 'integer' },
    detail: text('What, which, and what to do'),
    instance: text('urn:request:<id>'),
    code: CODE,
    details: DETAILS,
    retryable: RETRYABLE,
    error: named('ToolError'),
  }),
  ToolError: record({ code: CODE, message: text(), details: DETAILS, retryable: RETRYABLE }),
  CallAnswer: record(
    {
      ...ENVELOPE,
      status: { const: 'success' },
      result: anything('What the tool answered'),
      response_hash: text('BLAKE3, hex, of the RFC 8785 form of the result'),
      content_type: text('Media type of what a text in the result holds, where the tool says one'),
      details: anything('What the tool says about its result beside it'),
    },
    [...Object.keys(ENVELOPE), 'status', 'result', 'response_hash'],
  ),
  FailedCall: record({
    ...ENVELOPE,
    status: { const: 'error' },
    error: named('ToolError'),
    response_hash: text('BLAKE3, hex, of the RFC 8785 form of the error'),
  }),
  Job: record(
    {
      job_id: text(),
      tool: text('Canonical id'),
      status: { type: 'string', enum: ['queued', 'running', 'succeeded', 'failed', 'cancelled', 'expired'] },
      created_at: instant,
      finished_at: instant,
      node_id: text('The other hub on which it runs'),
      progress: record({ fraction: { type: 'number', minimum: 0, maximum: 1 }, note: text() }, ['fraction']),
      result: anything('What the tool answered'),
      error: named('ToolError'),
    },
    ['job_id', 'tool', 'status', 'created_at'],
  ),
  Jobs: record({ jobs: listOf(named('Job')), unreachable: listOf(text('Id of a job of which nothing can be told now')) }, ['jobs']),
  ModelCall: {
    oneOf: [
      record({ id: text(), type: { const: 'function' }, function: record({ name: text(), arguments: anything('JSON text or object') }) }, [
        'id',
        'function',
      ]),
      record({ id: text(), type: { const: 'tool_use' }, name: text(), input: { type: 'object' } }, ['id', 'type', 'name']),
    ],
  },
  ModelCallResult: record(
    {
      role: { const: 'tool' },
      type: { const: 'tool_result' },
      tool_call_id: text('Id of the model’s call'),
      tool_use_id: text('The same for Anthropic'),
      success: { type: 'boolean' },
      output: anything('What the tool answered; null after an error'),
      error: text('CODE: message'),
      content: text('JSON text for the model'),
      is_error: { type: 'boolean' },
    },
    ['tool_call_id', 'success', 'output', 'content', 'is_error'],
  ),
};
