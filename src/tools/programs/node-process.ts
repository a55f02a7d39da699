import { type ChildProcess, spawn } from 'node:child_process';
import { AtmoError } from '../../core/errors.ts';
import { residentBytes } from '../../core/health.ts';
import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts';
import type { ToolDefinition, ToolHandler } from '../definition/tool-definition.ts';
import { boundedEnvironment, ENTER_ENVIRONMENT } from './program-sandbox.ts';

/** Code that runs in a separate process, and its memory limit. */
export interface IsolatedCode {
  /** Package name or file URL of the ES module. */
  readonly specifier: string;
  /** Name of the module's exported function. The hub calls it with `config`, and it returns `{ execute(params) }`. */
  readonly entry: string;
  readonly config: JsonObject;
  /** Memory limit of the code in bytes. The memory that Node.js itself needs does not count. */
  readonly maxMemoryBytes: number;
}

const MEMORY_POLL_MS = 25;
const SIGABRT_EXIT = 134;

const CHILD_PROGRAM = `${ENTER_ENVIRONMENT}
process.once('message', async ({ specifier, entry, config, params, world }) => {
  try {
    const context = enterWorld(world);
    const module = await import(specifier);
    const tool = await module[entry](config);
    process.send({ result: JSON.stringify((await tool.execute(params, context)) ?? null) });
  } catch (error) {
    process.send({ error: error instanceof Error ? error.message : String(error) });
  }
});`;

/**
 * Returns a handler that runs each call in a separate process, with a memory limit and without environment variables. At the deadline, it
 * kills the process and its child processes. It does not protect against hostile code. Rejects with RESOURCE_EXCEEDED above the memory
 * limit, and with INTERNAL_ERROR if the code fails.
 */
export function isolatedHandler(code: IsolatedCode, definition: Pick<ToolDefinition, 'execution'>): ToolHandler {
  return async (params, context) => {
    const { signal } = context;
    signal.throwIfAborted();
    const child = startProcess(code);
    const end = () => killGroup(child);
    signal.addEventListener('abort', end, { once: true });
    try {
      const { specifier, entry, config } = code;
      child.send({ specifier, entry, config, params, world: boundedEnvironment(definition, context) });
      return await childAnswer(child, code.maxMemoryBytes);
    } catch (error) {
      signal.throwIfAborted();
      throw error;
    } finally {
      signal.removeEventListener('abort', end);
      end();
    }
  };
}

function startProcess({ maxMemoryBytes }: IsolatedCode): ChildProcess {
  return spawn(process.execPath, nodeArguments(CHILD_PROGRAM, maxMemoryBytes), {
    // All output is discarded, since it may contain secrets.
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    env: {},
    cwd: '/',
    // The process leads its own group, so that its children end together with it.
    detached: true,
  });
}

async function childAnswer(child: ChildProcess, maxMemoryBytes: number): Promise<Json> {
  const { promise, resolve, reject } = Promise.withResolvers<Json>();
  const watch = setInterval(() => {
    if (residentBytes(child.pid) > maxMemoryBytes + NODE_BYTES) reject(beyondMemory(maxMemoryBytes));
  }, MEMORY_POLL_MS);
  child.once('message', (message: unknown) => {
    if (isJsonObject(message) && typeof message.result === 'string') resolve(JSON.parse(message.result) as Json);
    else reject(failed(isJsonObject(message) && typeof message.error === 'string' ? message.error : 'no reason given'));
  });
  child.once('error', (error) => reject(failed(error.message)));
  child.once('exit', (code, exitSignal) => {
    const isHeapFull = exitSignal === 'SIGABRT' || exitSignal === 'SIGTRAP' || code === SIGABRT_EXIT;
    reject(isHeapFull ? beyondMemory(maxMemoryBytes) : failed(`it ended with ${exitSignal ?? code} and without an answer`));
  });
  try {
    return await promise;
  } finally {
    clearInterval(watch);
  }
}

function killGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // All processes of the group have already ended.
  }
}

function failed(reason: string): AtmoError {
  return new AtmoError('INTERNAL_ERROR', 'The tool failed; the log of the hub has its reason', {}, { cause: new Error(reason) });
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

const BYTES_PER_MB = 1_048_576;
/** Smallest heap in megabytes with which V8 starts. */
const MIN_HEAP_MB = 8;

/** Memory that Node.js needs without any program, in bytes. */
export const NODE_BYTES = 64 * BYTES_PER_MB;

/** Returns the arguments with which Node.js runs `program`, the text of an ES module. No file has this text: the hub is one bundle. */
export function nodeArguments(program: string, maxMemoryBytes: number): readonly string[] {
  const heapMb = Math.max(MIN_HEAP_MB, Math.floor(maxMemoryBytes / BYTES_PER_MB));
  return [`--max-old-space-size=${heapMb}`, '--max-semi-space-size=1', '--input-type=module', '--eval', program];
}
