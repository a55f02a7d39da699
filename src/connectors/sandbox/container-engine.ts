import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { AtmoError } from '../../core/errors.ts';
import { defineTool, p } from '../../tools/definition/define-tool.ts';
import type { RegisteredTool } from '../../tools/definition/tool-definition.ts';
import type { ProgramResult } from '../../tools/programs/program-sandbox.ts';
import { resultSchema } from '../connector.ts';
import { BoundedOutput, exceeded, type RunBounds } from './bubblewrap-run.ts';
import type { GrantedAccess } from './granted-powers.ts';

interface ContainerRun extends GrantedAccess {
  readonly image: string;
  readonly args: readonly string[];
  readonly stdin?: string;
  readonly bounds: RunBounds;
  readonly tempBytes: number;
  readonly signal: AbortSignal;
}

const LIST_ARGUMENTS = {
  containers: ['ps', '--all', '--format', '{{.Names}} {{.Image}} {{.Status}}'],
  images: ['images', '--format', '{{.Repository}}:{{.Tag}}'],
} as const;
const LIST_BYTES = 1_048_576;
/** Exit code of podman-run(1) and docker-run(1) if the engine fails, and not the program in the container. */
const ENGINE_FAILED = 125;

/** Runs containers with Podman, Docker, or an engine that takes the same arguments. */
export class ContainerEngine {
  readonly #command: string;
  readonly #env: NodeJS.ProcessEnv;

  constructor(command: string, { env }: { readonly env: NodeJS.ProcessEnv }) {
    this.#command = command;
    // Environment variables by which the engine finds its socket and storage.
    const known = ['PATH', 'HOME', 'XDG_RUNTIME_DIR', 'DOCKER_HOST', 'CONTAINER_HOST'];
    this.#env = Object.fromEntries(Object.entries(env).filter(([name]) => known.includes(name)));
  }

  /**
   * Runs a local image; the engine downloads none. Rejects with RESOURCE_EXCEEDED (the output is too long), SERVICE_UNAVAILABLE (the engine
   * fails), NOT_FOUND (no such image), or the signal's reason. If memory runs out, the program is killed and the result has its exit code.
   */
  async run(run: ContainerRun): Promise<ProgramResult> {
    const name = `atmo-${randomBytes(8).toString('hex')}`;
    // Removes the container of a stopped run. If only the engine's client process were killed, the container would go on.
    const remove = () => spawn(this.#command, ['rm', '--force', name], { stdio: 'ignore', env: this.#env }).on('error', () => {});
    const { bounds, signal, env } = run;
    const result = await this.#call(runArguments(run, name), {
      input: run.stdin ?? '',
      env,
      maxBytes: bounds.outputBytes,
      signal,
      onStop: remove,
    });
    if (result.exitCode !== ENGINE_FAILED) return result;
    const isAbsent = /no such image|image not known|not found locally/i.test(result.stderr);
    if (isAbsent) throw new AtmoError('NOT_FOUND', `There is no image ${run.image} on this board; pull it with the container engine first`);
    throw engineFailed(result.stderr);
  }

  /** Returns a line for each container (with image and state) or image (with tag). Rejects with SERVICE_UNAVAILABLE if the engine fails. */
  async list(type: 'containers' | 'images', signal: AbortSignal): Promise<readonly string[]> {
    const result = await this.#call(LIST_ARGUMENTS[type], { input: '', env: {}, maxBytes: LIST_BYTES, signal, onStop: () => {} });
    if (result.exitCode !== 0) throw engineFailed(result.stderr);
    return result.stdout.split('\n').filter((line) => line !== '');
  }

  async #call(
    args: readonly string[],
    call: {
      readonly input: string;
      /** Environment variables for the container. The command line has only their names, since every user can read command lines. */
      readonly env: Readonly<Record<string, string>>;
      readonly maxBytes: number;
      readonly signal: AbortSignal;
      readonly onStop: () => void;
    },
  ): Promise<ProgramResult> {
    call.signal.throwIfAborted();
    const child = spawn(this.#command, args, { env: { ...call.env, ...this.#env }, cwd: '/' });
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    const stop = (why: unknown) => {
      reject(why);
      child.kill('SIGKILL');
      call.onStop();
    };
    const onAbort = () => stop(call.signal.reason);
    call.signal.addEventListener('abort', onAbort, { once: true });
    const output = new BoundedOutput(call.maxBytes, () => {
      stop(exceeded(`The container printed more than ${call.maxBytes} bytes`, { max_output_bytes: call.maxBytes }));
    });
    const [stdout, stderr] = [output.collect(child.stdout), output.collect(child.stderr)];
    child.once('error', (error) => reject(engineFailed(error.message)));
    child.once('close', (code) => resolve(code ?? ENGINE_FAILED));
    child.stdin.on('error', () => {});
    child.stdin.end(call.input);
    try {
      return { exitCode: await promise, stdout: stdout(), stderr: stderr() };
    } finally {
      call.signal.removeEventListener('abort', onAbort);
    }
  }
}

function runArguments({ image, args, read, write, env, hasNetwork, bounds, tempBytes }: ContainerRun, name: string): readonly string[] {
  return [
    ...['run', '--rm', '--interactive', '--name', name, '--pull', 'never', '--log-driver', 'none'],
    ...['--read-only', '--cap-drop', 'ALL', '--security-opt', 'no-new-privileges', '--user', '65534:65534'],
    ...['--network', hasNetwork ? 'bridge' : 'none', '--memory', String(bounds.memoryBytes), '--memory-swap', String(bounds.memoryBytes)],
    ...['--pids-limit', String(bounds.processes), '--tmpfs', `/tmp:size=${tempBytes}`],
    ...read.flatMap((path) => ['--volume', `${path}:${path}:ro`]),
    ...write.flatMap((path) => ['--volume', `${path}:${path}`]),
    ...Object.keys(env).flatMap((variable) => ['--env', variable]),
    ...['--', image, ...args],
  ];
}

function engineFailed(output: string): AtmoError {
  const reason = output.replaceAll(/\s+/g, ' ').trim().slice(0, 300);
  return new AtmoError('SERVICE_UNAVAILABLE', `The container engine failed: ${reason || 'no reason given'}`);
}

/** Returns `docker_list`, which lists the containers or images of the board. */
export function dockerListTool(engine: ContainerEngine): RegisteredTool {
  return defineTool(
    {
      name: 'docker_list',
      title: 'List containers or images',
      description:
        'Lists the containers of this board with image and state, or its images. Use it to see what runs. Example: {"type": "containers"}.',
      category: 'querying',
      hasSideEffects: false,
      permissions: ['docker:use'],
      timeoutMs: 15_000,
      tags: ['container'],
      parameters: { type: p.enum(['containers', 'images'], { description: 'What to list', default: 'containers' }) },
      returns: resultSchema(['items'], { items: { type: 'array', items: { type: 'string' } } }),
      examples: [{ description: 'What runs', params: { type: 'containers' } }],
    },
    async ({ type }, { signal }) => ({ items: await engine.list(type, signal) }),
  );
}
