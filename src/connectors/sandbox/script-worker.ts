/** The program of a thread that runs scripts: JavaScript in QuickJS (which is compiled to WebAssembly), or a WebAssembly module. */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { type BoundedEnvironment, ENTER_ENVIRONMENT } from '../../tools/programs/program-sandbox.ts';

/** One call of a script, in the form in which the thread receives it. */
export interface ScriptJob {
  readonly kind: 'js' | 'wasm';
  readonly code: Uint8Array;
  /** Parameters as JSON text. */
  readonly params: string;
  readonly config: string;
  /** Fixed time and random seed; absent unless the tool has the determinism `bounded`. */
  readonly world?: BoundedEnvironment | undefined;
  readonly maxMemoryBytes: number;
  readonly maxFuel?: number;
  /** Name of the exported global in which a WebAssembly module counts its remaining steps. */
  readonly fuelGlobal: string;
}

/** The outcome of a call: JSON, the exceeded limit, or an error. */
export type ScriptOutcome = { readonly result: string } | { readonly stopped: 'memory' | 'fuel' } | { readonly error: string };

/** If `workerData` has this value, this file is the program of a thread. If it has another value, the file is only imported. */
export const SCRIPT_PROGRAM = 'atmo-script';
/** URL of this file at run time. The bundler would replace a plain `import.meta.url` by the place of the source file. */
export const SCRIPT_WORKER_URL = new URL(String(Reflect.get(import.meta, 'url')));

const PAGE_BYTES = 65_536;
/** Number of WebAssembly pages (64 KiB each) that QuickJS itself gets. */
const RUNTIME_PAGES = 256;
/** Number of steps between two calls of the interrupt handler: JS_INTERRUPT_COUNTER_INIT of quickjs.c. */
const STEPS_PER_LOOK = 10_000;

/** Members of `WebAssembly` that the type declarations of Node.js lack. */
interface WebAssemblyApi {
  readonly Memory: new (limits: { readonly initial: number; readonly maximum: number }) => { readonly buffer: ArrayBuffer };
  compile(code: Uint8Array): Promise<WebAssembly.Module>;
  instantiate(module: WebAssembly.Module, imports: object): Promise<{ readonly exports: Readonly<Record<string, unknown>> }>;
}
const wasm = Reflect.get(globalThis, 'WebAssembly') as WebAssemblyApi;

if (parentPort && workerData === SCRIPT_PROGRAM) serve(parentPort);

/** Runs the calls that arrive at a port. Each call has separate memory; only the interpreter's code stays loaded. */
function serve(port: MessagePort): void {
  port.on('message', (order: ScriptJob) => void outcomeOf(order).then((outcome) => port.postMessage(outcome)));
}

async function outcomeOf(given: ScriptJob): Promise<ScriptOutcome> {
  try {
    return given.kind === 'js' ? await runQuickJs(given) : await runWasm(given);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return /out of memory|Aborted\(|memory access out of bounds|could not be cloned|Maximum call stack/i.test(message)
      ? { stopped: 'memory' }
      : { error: message };
  }
}

/** Runs JavaScript in QuickJS. QuickJS limits the script's memory. If that limit fails, a larger limit on the WebAssembly memory holds. */
async function runQuickJs({ code, params, config, world, maxMemoryBytes, maxFuel }: ScriptJob): Promise<ScriptOutcome> {
  const { newQuickJSWASMModuleFromVariant, newVariant } = await import('quickjs-emscripten-core');
  const { default: variant } = await import('@jitl/quickjs-singlefile-mjs-release-sync');
  const maximum = RUNTIME_PAGES + Math.ceil(maxMemoryBytes / PAGE_BYTES);
  const wasmMemory = new wasm.Memory({ initial: RUNTIME_PAGES, maximum });
  const engine = await newQuickJSWASMModuleFromVariant(newVariant(variant, { wasmMemory }));
  const runtime = engine.newRuntime();
  runtime.setMemoryLimit(maxMemoryBytes);
  let looks = 0;
  const mostLooks = maxFuel === undefined ? Number.POSITIVE_INFINITY : Math.max(1, Math.floor(maxFuel / STEPS_PER_LOOK));
  runtime.setInterruptHandler(() => ++looks > mostLooks);
  const context = runtime.newContext();
  const text = (value: string) => context.newString(value);
  context.setProp(context.global, '$input', text(JSON.stringify([JSON.parse(params), JSON.parse(config), world ?? null])));
  context.setProp(context.global, '$answer', context.undefined);
  runtime.setModuleLoader((name) =>
    name === 'script' ? new TextDecoder().decode(code) : { error: new RangeError(`There is no module ${name}`) },
  );
  const started = context.evalCode(
    `import { execute } from 'script';
     ${ENTER_ENVIRONMENT}
     const [params, config, world] = JSON.parse(globalThis.$input);
     const context = enterWorld(world);
     globalThis.$answer = JSON.stringify({ result: (await execute(params, config, context)) ?? null });`,
    'call',
    { type: 'module' },
  );
  const jobs = started.error ? started : runtime.executePendingJobs();
  const answer = context.getProp(context.global, '$answer');
  if (looks > mostLooks) return { stopped: 'fuel' };
  if (context.typeof(answer) === 'string') return { result: JSON.stringify(JSON.parse(context.getString(answer)).result) };
  const problem = jobs.error ?? rejection(context.getPromiseState(context.unwrapResult(started)));
  throw new EvalError(problem ? messageOf(context.dump(problem)) : 'execute() never answers');
}

function rejection(state: { readonly type: string; readonly error?: unknown }) {
  return state.type === 'rejected' ? (state.error as Parameters<import('quickjs-emscripten-core').QuickJSContext['dump']>[0]) : undefined;
}

function messageOf(dumped: unknown): string {
  return typeof dumped === 'object' && dumped !== null && 'message' in dumped ? String(dumped.message) : String(dumped);
}

/**
 * Runs a WebAssembly module, which exports two functions. `alloc(length)` returns an address for the input (JSON in UTF-8).
 * `execute(address, length)` returns a 64-bit number: the address of the result in the upper half, its length in the lower half.
 */
async function runWasm({ code, params, config, fuelGlobal }: ScriptJob): Promise<ScriptOutcome> {
  const module = await wasm.compile(code);
  const { exports } = await wasm.instantiate(module, {});
  const { memory, alloc, execute } = exports;
  if (!(memory instanceof wasm.Memory) || typeof alloc !== 'function' || typeof execute !== 'function') {
    throw new TypeError('The module has to export memory, alloc and execute');
  }
  const input = new TextEncoder().encode(JSON.stringify({ params: JSON.parse(params), config: JSON.parse(config) }));
  try {
    const place = Number(alloc(input.length)) >>> 0;
    new Uint8Array(memory.buffer, place, input.length).set(input);
    const answer = BigInt.asUintN(64, BigInt(execute(place, input.length)));
    const bytes = new Uint8Array(memory.buffer, Number(answer >> 32n), Number(answer & 0xffffffffn));
    return { result: new TextDecoder('utf-8', { fatal: true }).decode(bytes) };
  } catch (error) {
    if (isFuelSpent(exports[fuelGlobal])) return { stopped: 'fuel' };
    throw error;
  }
}

function isFuelSpent(fuel: unknown): boolean {
  return typeof fuel === 'object' && fuel !== null && 'value' in fuel && typeof fuel.value === 'bigint' && fuel.value < 0n;
}
