import { Worker } from 'node:worker_threads';
import { AtmoError } from '../../core/errors.ts';

/** A search by a regular expression of JavaScript. */
export interface TextSearch {
  readonly pattern: string;
  readonly text: string;
  readonly isCaseIgnored: boolean;
  readonly maxMatches: number;
  readonly signal: AbortSignal;
}

/** What was found, and whether there was more. */
export interface TextMatches {
  readonly matches: readonly string[];
  readonly truncated: boolean;
}

const TIME_LIMIT_MS = 1_500;
const MAX_MEMORY_MB = 64;

// Given as text: the program ships as one bundle, in which a file of its own would have no place.
const PROGRAM = `
const { parentPort, workerData: { pattern, flags, text, maxMatches } } = require('node:worker_threads');
const matches = [];
for (const match of text.matchAll(new RegExp(pattern, flags))) {
  if (matches.push(match[0]) > maxMatches) break;
}
parentPort.postMessage(matches);`;

/**
 * All that a regular expression matches, in a thread that is ended when a pattern takes for ever on its text. Errors:
 * VALIDATION_ERROR (no regular expression), RESOURCE_EXCEEDED (more than 1.5 s, or than 64 MB).
 */
export async function searchText({ pattern, text, isCaseIgnored, maxMatches, signal }: TextSearch): Promise<TextMatches> {
  const flags = isCaseIgnored ? 'gimu' : 'gmu';
  requirePattern(pattern, flags);
  signal.throwIfAborted();
  const worker = new Worker(PROGRAM, {
    eval: true,
    env: {},
    workerData: { pattern, flags, text, maxMatches },
    resourceLimits: { maxOldGenerationSizeMb: MAX_MEMORY_MB, maxYoungGenerationSizeMb: 8 },
  });
  try {
    const matches = await answerOf(worker, AbortSignal.any([signal, AbortSignal.timeout(TIME_LIMIT_MS)]));
    return { matches: matches.slice(0, maxMatches), truncated: matches.length > maxMatches };
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

function answerOf(worker: Worker, signal: AbortSignal): Promise<readonly string[]> {
  const { promise, resolve, reject } = Promise.withResolvers<readonly string[]>();
  worker.once('message', resolve);
  worker.once('error', () => reject(tooMuch(`more than ${MAX_MEMORY_MB} MB`)));
  worker.once('exit', () => reject(tooMuch('more than there is')));
  signal.addEventListener('abort', () => reject(tooMuch(`more than ${TIME_LIMIT_MS} ms`)), { once: true });
  return promise;
}

function tooMuch(what: string): AtmoError {
  return new AtmoError('RESOURCE_EXCEEDED', `The search takes ${what}; use a simpler pattern or less text`, { permanent: true });
}
