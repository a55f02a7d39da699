import { ConcurrencyGate } from '../../core/concurrency-gate.ts';
import { AtmoError } from '../../core/errors.ts';
import { defineTool } from '../../tools/definition/define-tool.ts';
import type { RegisteredTool } from '../../tools/definition/tool-definition.ts';
import { p } from '../../tools/schema/parameter-builder.ts';
import { searchText } from './search-text.ts';

type Turns = Pick<ConcurrencyGate, 'run'>;

/** Each search may take 64 MB, and everybody may search. */
const SEARCHES_AT_ONCE = 2;

/** `json_parse` and `text_search` (source 003): they need nothing but their parameters. */
export function textTools(searching: Turns = new ConcurrencyGate({ maxRunning: SEARCHES_AT_ONCE })): readonly RegisteredTool[] {
  return [jsonParseTool(), textSearchTool(searching)];
}

function jsonParseTool(): RegisteredTool {
  return defineTool(
    {
      name: 'json_parse',
      title: 'Parse JSON',
      description: 'Checks JSON and writes it out with indentation; tells where it is broken.',
      category: 'computing',
      hasSideEffects: false,
      determinism: 'deterministic',
      preferLocal: true,
      tags: ['json', 'format'],
      parameters: { text: p.string({ description: 'JSON (RFC 8259)', minLength: 1, maxLength: 1_000_000 }) },
      returns: { type: 'object', required: ['json'], properties: { json: { type: 'string', description: 'Indented by two spaces' } } },
      examples: [{ description: 'Write it legibly', params: { text: '{"a":[1,2]}' } }],
    },
    async ({ text }) => ({ json: indented(text) }),
  );
}

function textSearchTool(searching: Turns): RegisteredTool {
  return defineTool(
    {
      name: 'text_search',
      title: 'Search in text',
      description: 'Finds everything in a text that a regular expression of JavaScript matches; ^ and $ are those of a line.',
      category: 'computing',
      hasSideEffects: false,
      preferLocal: true,
      tags: ['regex', 'find', 'grep'],
      parameters: {
        pattern: p.string({ description: 'Regular expression without slashes, such as \\d+ °C', minLength: 1, maxLength: 1_000 }),
        text: p.string({ description: 'Where to search', maxLength: 1_000_000 }),
        ignore_case: p.boolean({ description: 'Whether A is a', default: false }),
        limit: p.integer({ description: 'Most matches to tell', minimum: 1, maximum: 1_000, default: 100 }),
      },
      returns: {
        type: 'object',
        required: ['matches', 'truncated'],
        properties: { matches: { type: 'array', items: { type: 'string' } }, truncated: { type: 'boolean' } },
      },
      examples: [{ description: 'All numbers', params: { pattern: '\\d+', text: '3 lamps, 12 sensors' } }],
    },
    async ({ pattern, text, ignore_case: isCaseIgnored, limit }, { signal }) => {
      const search = { pattern, text, isCaseIgnored, maxMatches: limit, signal };
      const { matches, truncated } = await searching.run(() => searchText(search), signal);
      return { matches, truncated };
    },
  );
}

function indented(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), undefined, 2);
  } catch (error) {
    const reason = error instanceof Error ? error.message.slice(0, 300) : 'not understood';
    throw new AtmoError('VALIDATION_ERROR', `This is no JSON: ${reason}`);
  }
}
