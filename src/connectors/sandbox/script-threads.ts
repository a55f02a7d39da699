import { Worker } from 'node:worker_threads';
import { AtmoError } from '../../core/errors.ts';
import type { Json } from '../../core/json.ts';
import type { ScriptEngine, ScriptRun } from '../../tools/script-engine.ts';
import type { ScriptOrder, ScriptOutcome } from './script-worker.ts';

/** Of JavaScript around the script; the script's own memory is another. */
const LIMITS = { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 8, stackSizeMb: 4 };

/** Runs each call of a script in a thread of its own, which ends with the call, whatever the script does. */
export class ScriptThreads implements ScriptEngine {
  async run({ signal, params, config, ...run }: ScriptRun): Promise<Json> {
    signal.throwIfAborted();
    const { SCRIPT_PROGRAM, SCRIPT_WORKER_URL } = await import('./script-worker.ts');
    const order: ScriptOrder = { program: SCRIPT_PROGRAM, ...run, params: JSON.stringify(params), config: JSON.stringify(config) };
    const worker = new Worker(SCRIPT_WORKER_URL, { workerData: order, resourceLimits: LIMITS, env: {}, stdout: true, stderr: true });
    const { promise, resolve, reject } = Promise.withResolvers<ScriptOutcome>();
    const onAbort = () => reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    worker.once('message', resolve);
    worker.once('error', (error: Error & { code?: string }) => {
      if (error.code === 'ERR_WORKER_OUT_OF_MEMORY') resolve({ stopped: 'memory' });
      else resolve({ error: error.message });
    });
    worker.once('exit', () => resolve({ error: 'its thread ended without an answer' }));
    try {
      return answerOf(await promise, run);
    } finally {
      signal.removeEventListener('abort', onAbort);
      void worker.terminate();
    }
  }
}

function answerOf(outcome: ScriptOutcome, { maxFuel = 0, maxMemoryBytes }: Pick<ScriptRun, 'maxFuel' | 'maxMemoryBytes'>): Json {
  if ('result' in outcome) return parsed(outcome.result);
  if ('error' in outcome) throw failed(outcome.error);
  const isFuel = outcome.stopped === 'fuel';
  const told = isFuel ? `the ${maxFuel} steps` : `the ${maxMemoryBytes} bytes of memory`;
  const details = isFuel ? { max_fuel: maxFuel } : { max_memory_bytes: maxMemoryBytes };
  throw new AtmoError('RESOURCE_EXCEEDED', `The script took more than ${told} that it may take, and was ended`, {
    ...details,
    permanent: true,
  });
}

function parsed(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    throw failed('its answer is no JSON');
  }
}

function failed(reason: string): AtmoError {
  return new AtmoError('INTERNAL_ERROR', 'The script failed; the log of the hub has its reason', {}, { cause: new EvalError(reason) });
}
