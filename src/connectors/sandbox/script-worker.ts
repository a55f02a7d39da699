/** What runs in the thread of a script: QuickJS in WebAssembly, or a WebAssembly module. This file is the thread's program too. */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { type BoundedEnvironment, ENTER_ENVIRONMENT } from '../../tools/programs/bounded-environment.ts';

/** What a thread is given, one after the other. */
export interface ScriptJob {
  readonly kind: 'js' | 'wasm';
  readonly code: Uint8Array;
  /** JSON. */
  readonly params: string;
  readonly config: string;
  /** Time and chance of a bounded script. */
  readonly world?: BoundedEnvironment | undefined;
  readonly maxMemoryBytes: number;
  readonly maxFuel?: number;
  /** Exported global of a module that counts its fuel. */
  readonly fuelGlobal: string;
}

/** What a thread says to each: JSON, or what stopped the script. */
export type ScriptOutcome = { readonly result: string } | { readonly stopped: 'memory' | 'fuel' } | { readonly error: string };

/** Tells a thread of ours from other uses of the file. */
export const SCRIPT_PROGRAM = 'atmo-script';
/** Where this very code is, also in the bundle, which gives `import.meta.url` another meaning. */
export const SCRIPT_WORKER_URL = new URL(String(Reflect.get(import.meta, 'url')));

const PAGE_BYTES = 65_536;
/** What QuickJS itself takes. */
const RUNTIME_PAGES = 256;
/** How often QuickJS asks whether to go on: JS_INTERRUPT_COUNTER_INIT of quickjs.c. */
const STEPS_PER_LOOK = 10_000;

interface WasmMemory {
  readonly buffer: ArrayBuffer;
}

/** What Node's own types leave out. */
interface WebAssemblyApi {
  readonly Memory: new (limits: { readonly initial: number; readonly maximum: number }) => WasmMemory;
  compile(code: Uint8Array): Promise<WebAssembly.Module>;
  instantiate(module: WebAssembly.Module, imports: object): Promise<{ readonly exports: Readonly<Record<string, unknown>> }>;
}
const wasm = Reflect.get(globalThis, 'WebAssembly') as WebAssemblyApi;

if (parentPort && workerData === SCRIPT_PROGRAM) serve(parentPort);

/** Each script gets memory of its own; only the interpreter's code stays. */
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

/** Memory has two bounds: QuickJS keeps the first and tells of it; the second holds whatever QuickJS does. */
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

/** `alloc(length)` gives a place for JSON in UTF-8, `execute(place, length)` answers place and length of the result in one number. */
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
