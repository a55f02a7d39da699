import { Worker } from 'node:worker_threads';
import { AtmoError } from '../core/errors.ts';
import { isJsonObject, type Json, type JsonObject } from '../core/json.ts';
import type { ToolHandler } from './tool-definition.ts';

/** Code that runs in a thread of its own, and what it may take. */
export interface IsolatedCode {
  /** Package name or file URL of the ES module. */
  readonly specifier: string;
  /** Its exported function, which answers `{ execute(params) }` for `config`. */
  readonly entry: string;
  readonly config: JsonObject;
  readonly maxMemoryBytes: number;
}

const BYTES_PER_MB = 1_048_576;
/** V8 needs this much before it runs anything. */
const MIN_MEMORY_MB = 8;
const YOUNG_GENERATION_MB = 2;
const STACK_MB = 2;

// A data URL: the program ships as one bundle, in which a worker's file would have no place.
const PROGRAM = new URL(
  `data:text/javascript,${encodeURIComponent(`
import { parentPort, workerData } from 'node:worker_threads';
const { specifier, entry, config, params } = workerData;
try {
  const module = await import(specifier);
  const tool = await module[entry](config);
  parentPort.postMessage({ result: JSON.stringify((await tool.execute(params, {})) ?? null) });
} catch (error) {
  parentPort.postMessage({ error: error instanceof Error ? error.message : String(error) });
}`)}`,
);

/**
 * A handler that runs each call in a worker thread with a memory limit (source 001, ResourceBounds), ended at the deadline
 * whatever it does, an endless loop included. The thread has no environment variables; it is no sandbox against hostile
 * code. Errors: RESOURCE_EXCEEDED beyond the limit, INTERNAL_ERROR for what the code throws.
 */
export function isolatedHandler(code: IsolatedCode): ToolHandler {
  return async (params, { signal, logger }) => {
    signal.throwIfAborted();
    const worker = startWorker(code, params);
    const end = () => void worker.terminate();
    signal.addEventListener('abort', end, { once: true });
    try {
      return await answerOf(worker, code);
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof AtmoError) logger.warn('tool.isolated_failed', { code: error.code, reason: error.message });
      throw error;
    } finally {
      signal.removeEventListener('abort', end);
      await worker.terminate();
    }
  };
}

function startWorker({ specifier, entry, config, maxMemoryBytes }: IsolatedCode, params: JsonObject): Worker {
  return new Worker(PROGRAM, {
    workerData: { specifier, entry, config, params },
    env: {},
    execArgv: [],
    // What it prints goes nowhere: it could be anything, secrets included.
    stdout: true,
    stderr: true,
    resourceLimits: {
      maxOldGenerationSizeMb: Math.max(MIN_MEMORY_MB, Math.floor(maxMemoryBytes / BYTES_PER_MB)),
      maxYoungGenerationSizeMb: YOUNG_GENERATION_MB,
      stackSizeMb: STACK_MB,
    },
  });
}

function answerOf(worker: Worker, { maxMemoryBytes }: IsolatedCode): Promise<Json> {
  const { promise, resolve, reject } = Promise.withResolvers<Json>();
  worker.once('message', (message: unknown) => {
    if (isJsonObject(message) && typeof message.result === 'string') resolve(JSON.parse(message.result) as Json);
    else
      reject(
        new AtmoError('INTERNAL_ERROR', 'The tool failed; the log of the hub has its reason', {}, { cause: new Error(reasonOf(message)) }),
      );
  });
  worker.once('error', (error: NodeJS.ErrnoException) => {
    const isMemory = error.code === 'ERR_WORKER_OUT_OF_MEMORY';
    reject(isMemory ? beyondMemory(maxMemoryBytes) : new AtmoError('INTERNAL_ERROR', 'The tool failed', {}, { cause: error }));
  });
  worker.once('exit', () => reject(new AtmoError('INTERNAL_ERROR', 'The tool ended without an answer')));
  return promise;
}

function beyondMemory(maxMemoryBytes: number): AtmoError {
  return new AtmoError(
    'RESOURCE_EXCEEDED',
    `The tool took more than the ${maxMemoryBytes} bytes of memory that it declares and was ended`,
    {
      max_memory_bytes: maxMemoryBytes,
    },
  );
}

function reasonOf(message: unknown): string {
  return isJsonObject(message) && typeof message.error === 'string' ? message.error : 'no reason given';
}
