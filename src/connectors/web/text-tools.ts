import { Worker } from 'node:worker_threads';
import type { Effect } from '../../core/auth/principal.ts';
import { ConcurrencyLimiter } from '../../core/concurrency-limiter.ts';
import { AtmoError } from '../../core/errors.ts';
import type { JsonObject } from '../../core/json.ts';
import { defineTool, p } from '../../tools/definition/define-tool.ts';
import type { RegisteredTool } from '../../tools/definition/tool-definition.ts';
import { resultSchema } from '../connector.ts';
import { canonicalPath } from '../files/file-path.ts';
import type { FileRoots } from '../files/file-roots.ts';
import type { FileRoot } from '../files/files-config.ts';

/** Maximum number of concurrent searches: each may take 64 MB, and every agent may search. */
const MAX_CONCURRENT_SEARCHES = 2;
const MAX_TEXT = 1_000_000;

interface TextFiles {
  readonly files: Pick<FileRoots, 'read'>;
  readonly roots: Readonly<Record<string, FileRoot>>;
}

/** Where a call has its text: in `text`, in `stdin` (another name for `text`), or in a file. */
interface GivenText {
  readonly text?: string | undefined;
  readonly stdin?: string | undefined;
  readonly file?: string | undefined;
}

/** Returns the tools `json_parse` and `text_search`. They work on a text parameter, or on a file that the caller may read. */
export function textTools(
  source: TextFiles,
  searching = new ConcurrencyLimiter({ maxRunning: MAX_CONCURRENT_SEARCHES }),
): readonly RegisteredTool[] {
  return [jsonParseTool(source), textSearchTool(source, searching)];
}

function textParameters(what: string) {
  return {
    text: p.string({ description: what, maxLength: MAX_TEXT }).optional(),
    stdin: p.string({ description: 'The same as text', maxLength: MAX_TEXT }).optional(),
    file: p.string({ description: 'A file instead, such as notes/shopping.txt; list_files tells paths', maxLength: 1_000 }).optional(),
  };
}

/** Replaces `stdin` by `text`, and `file` by its canonical path. Throws VALIDATION_ERROR unless exactly one of the three is given. */
function oneText<P extends GivenText>({ text, stdin, file, ...rest }: P, roots: TextFiles['roots']): JsonObject {
  const given = [text, stdin, file].filter((value) => value !== undefined);
  if (given.length !== 1) throw new AtmoError('VALIDATION_ERROR', 'Give one of text, stdin and file');
  return { ...rest, ...(file === undefined ? { text: text ?? stdin ?? '' } : { file: canonicalPath(file, roots) }) };
}

/** Returns the effect of a call that reads a file. Returns no effect if the call names no file. */
function readEffects({ file }: GivenText): readonly Effect[] {
  return file === undefined ? [] : [{ permission: `fs:read:${file}`, risk: 'low', target: `file/${file}` }];
}

async function textOf({ text = '', file }: GivenText, { files }: TextFiles): Promise<string> {
  return file === undefined ? text : files.read(file);
}

function jsonParseTool(source: TextFiles): RegisteredTool {
  return defineTool(
    {
      name: 'json_parse',
      title: 'Parse JSON',
      description: 'Checks JSON and writes it out with indentation; tells where it is broken.',
      category: 'computing',
      hasSideEffects: false,
      preferLocal: true,
      tags: ['json', 'format'],
      parameters: textParameters('JSON (RFC 8259)'),
      canonicalize: (params) => oneText(params, source.roots),
      effects: readEffects,
      returns: resultSchema(['json'], { json: { type: 'string', description: 'Indented by two spaces' } }),
      examples: [{ description: 'Write it legibly', params: { text: '{"a":[1,2]}' } }],
    },
    async (params) => ({ json: indented(await textOf(params, source)) }),
  );
}

function textSearchTool(source: TextFiles, searching: ConcurrencyLimiter): RegisteredTool {
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
        ...textParameters('Where to search'),
        ignore_case: p.boolean({ description: 'Whether A is a', default: false }),
        limit: p.integer({ description: 'Most matches to tell', minimum: 1, maximum: 1_000, default: 100 }),
      },
      returns: resultSchema(['matches', 'truncated'], {
        matches: { type: 'array', items: { type: 'string' } },
        truncated: { type: 'boolean' },
      }),
      canonicalize: (params) => oneText(params, source.roots),
      effects: readEffects,
      examples: [{ description: 'All numbers', params: { pattern: '\\d+', text: '3 lamps, 12 sensors' } }],
    },
    async ({ pattern, ignore_case: isCaseIgnored, limit, ...given }, { signal }) => {
      const text = await textOf(given, source);
      const search = { pattern, text, isCaseIgnored, maxMatches: limit, signal };
      const matches = await searching.run(() => searchText(search), signal);
      return { matches: matches.slice(0, limit), truncated: matches.length > limit };
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

interface TextSearch {
  readonly pattern: string;
  readonly text: string;
  readonly isCaseIgnored: boolean;
  readonly maxMatches: number;
  readonly signal: AbortSignal;
}

const TIME_LIMIT_MS = 1_500;
const MAX_MEMORY_MB = 64;

// The program is a string because the hub ships as one bundle.
const SEARCH_PROGRAM = `
const { parentPort, workerData: { pattern, flags, text, maxMatches } } = require('node:worker_threads');
const matches = [];
for (const match of text.matchAll(new RegExp(pattern, flags))) {
  if (matches.push(match[0]) > maxMatches) break;
}
parentPort.postMessage(matches);`;

/**
 * Returns the matches of a regular expression, or `maxMatches` + 1 matches if there are more than `maxMatches`. Runs in a thread that can
 * be ended. Rejects with VALIDATION_ERROR (the pattern is no regular expression) or RESOURCE_EXCEEDED (over 1.5 s or 64 MB).
 */
async function searchText({ pattern, text, isCaseIgnored, maxMatches, signal }: TextSearch): Promise<readonly string[]> {
  const flags = isCaseIgnored ? 'gimu' : 'gmu';
  requirePattern(pattern, flags);
  signal.throwIfAborted();
  const worker = new Worker(SEARCH_PROGRAM, {
    eval: true,
    env: {},
    workerData: { pattern, flags, text, maxMatches },
    resourceLimits: { maxOldGenerationSizeMb: MAX_MEMORY_MB, maxYoungGenerationSizeMb: 8 },
  });
  try {
    return await matchesOf(worker, AbortSignal.any([signal, AbortSignal.timeout(TIME_LIMIT_MS)]));
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    await worker.terminate();
  }
}

function requirePattern(pattern: string, flags: string): void {
  try {
    new RegExp(pattern, flags);
  } catch (error) {
    const reason = error instanceof SyntaxError ? error.message.slice(0, 300) : 'not understood';
    throw new AtmoError('VALIDATION_ERROR', `The pattern is no regular expression of JavaScript: ${reason}`);
  }
}

function matchesOf(worker: Worker, signal: AbortSignal): Promise<readonly string[]> {
  const { promise, resolve, reject } = Promise.withResolvers<readonly string[]>();
  worker.once('message', resolve);
  worker.once('error', () => reject(searchExceeds(`more than ${MAX_MEMORY_MB} MB`)));
  worker.once('exit', () => reject(searchExceeds('more than there is')));
  signal.addEventListener('abort', () => reject(searchExceeds(`more than ${TIME_LIMIT_MS} ms`)), { once: true });
  return promise;
}

function searchExceeds(what: string): AtmoError {
  return new AtmoError('RESOURCE_EXCEEDED', `The search takes ${what}; use a simpler pattern or less text`, { permanent: true });
}
