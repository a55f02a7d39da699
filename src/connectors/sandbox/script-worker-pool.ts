import { Worker } from 'node:worker_threads';
import { type Clock, orAborted } from '../../core/clock.ts';
import { ConcurrencyLimiter } from '../../core/concurrency-limiter.ts';
import { AtmoError } from '../../core/errors.ts';
import type { Json } from '../../core/json.ts';
import type { ScriptEngine, ScriptRun } from '../../tools/programs/program-sandbox.ts';
import { FUEL_GLOBAL } from '../../tools/programs/wasm-limits.ts';
import type { ScriptJob, ScriptOutcome } from './script-worker.ts';

/** Memory limits in MB for a thread and its JavaScript engine. The script in the thread has its own limit (`maxMemoryBytes`). */
const LIMITS = { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 8, stackSizeMb: 4 };
/** Maximum idle time of a thread in milliseconds. Threads are kept, because starting one takes most of the time of a call. */
const IDLE_MS = 30_000;
/** Maximum number of concurrent calls, each of which runs in a thread with separate memory. */
const MAX_CONCURRENT = 4;
/** Maximum length of a result in characters of JSON. After parsing, nested lists take twenty times as much memory as their JSON. */
const MAX_ANSWER_CHARACTERS = 4_194_304;
/** `threadId` of a thread that has ended. */
const ENDED = -1;

/**
 * Runs each call of a script in a thread with separate memory. After a result, the thread may run another call. After an error or an
 * exceeded limit, the thread ends. Four calls run at a time; further calls wait.
 */
export class ScriptWorkerPool implements ScriptEngine {
  readonly #clock: Pick<Clock, 'after'>;
  readonly #running = new ConcurrencyLimiter({ maxRunning: MAX_CONCURRENT });
  #idle: { readonly worker: Worker; readonly cancelEnd: () => void } | undefined;

  constructor({ clock }: { readonly clock: Pick<Clock, 'after'> }) {
    this.#clock = clock;
  }

  run(run: ScriptRun): Promise<Json> {
    return this.#running.run(() => this.#run(run), run.signal);
  }

  async #run({ signal, params, config, ...run }: ScriptRun): Promise<Json> {
    signal.throwIfAborted();
    const worker = this.#take() ?? (await startWorker());
    const order: ScriptJob = { ...run, params: JSON.stringify(params), config: JSON.stringify(config), fuelGlobal: FUEL_GLOBAL };
    try {
      const answer = answerOf(await outcomeOf(worker, order, signal), run);
      this.#keep(worker);
      return answer;
    } catch (error) {
      void worker.terminate();
      throw error;
    }
  }

  #take(): Worker | undefined {
    const idle = this.#idle;
    this.#idle = undefined;
    idle?.cancelEnd();
    return idle && idle.worker.threadId !== ENDED ? idle.worker : undefined;
  }

  /** Keeps an idle thread for the next call. If another thread is already kept, ends this thread, since idle threads hold memory. */
  #keep(worker: Worker): void {
    if (this.#idle) {
      void worker.terminate();
      return;
    }
    const end = () => {
      this.#idle = undefined;
      void worker.terminate();
    };
    this.#idle = { worker, cancelEnd: this.#clock.after(IDLE_MS, end) };
  }
}

async function startWorker(): Promise<Worker> {
  const { SCRIPT_PROGRAM, SCRIPT_WORKER_URL } = await import('./script-worker.ts');
  const worker = new Worker(SCRIPT_WORKER_URL, { workerData: SCRIPT_PROGRAM, resourceLimits: LIMITS, env: {} });
  // The error of an idle thread is ignored: the next call starts a new thread.
  return worker.on('error', () => {});
}

async function outcomeOf(worker: Worker, order: ScriptJob, signal: AbortSignal): Promise<ScriptOutcome> {
  const { promise, resolve } = Promise.withResolvers<ScriptOutcome>();
  const onError = (error: Error & { code?: string }) => {
    resolve(error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? { stopped: 'memory' } : { error: error.message });
  };
  const onExit = () => resolve({ error: 'its thread ended without an answer' });
  worker.once('message', resolve).once('error', onError).once('exit', onExit);
  worker.ref();
  worker.postMessage(order);
  try {
    return await orAborted(promise, signal);
  } finally {
    worker.off('message', resolve).off('error', onError).off('exit', onExit);
    // An idle thread must not keep the process alive.
    worker.unref();
  }
}

function answerOf(outcome: ScriptOutcome, { maxFuel = 0, maxMemoryBytes }: Pick<ScriptRun, 'maxFuel' | 'maxMemoryBytes'>): Json {
  if ('result' in outcome) return parsed(outcome.result);
  if ('error' in outcome) throw scriptFailed(outcome.error);
  const isFuel = outcome.stopped === 'fuel';
  const limit = isFuel ? `the ${maxFuel} steps` : `the ${maxMemoryBytes} bytes of memory`;
  const details = { ...(isFuel ? { max_fuel: maxFuel } : { max_memory_bytes: maxMemoryBytes }), permanent: true };
  throw new AtmoError('RESOURCE_EXCEEDED', `The script took more than ${limit} that it may take, and was ended`, details);
}

function parsed(text: string): Json {
  if (text.length > MAX_ANSWER_CHARACTERS) {
    const message = `The script answered ${text.length} characters of JSON; ${MAX_ANSWER_CHARACTERS} are the most`;
    throw new AtmoError('RESOURCE_EXCEEDED', message, { max_answer_characters: MAX_ANSWER_CHARACTERS, permanent: true });
  }
  try {
    return JSON.parse(text) as Json;
  } catch {
    throw scriptFailed('its answer is no JSON');
  }
}

function scriptFailed(reason: string): AtmoError {
  return new AtmoError('INTERNAL_ERROR', 'The script failed; the log of the hub has its reason', {}, { cause: new EvalError(reason) });
}
