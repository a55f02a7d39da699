import { accessSync, constants, existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { CallerConcurrencyLimiter } from '../../core/concurrency-limiter.ts';
import { AtmoError, toAtmoError } from '../../core/errors.ts';
import { isWithin } from '../../core/files/file-system.ts';
import { notConfigured } from '../../tools/definition/tool-definition.ts';
import type { ProgramKind, ProgramPower, ProgramRequest, ProgramResult, ProgramSandbox } from '../../tools/programs/program-sandbox.ts';
import { bubblewrapOptions, PROGRAM_PATH, type RunBounds, runBubblewrap, type SandboxView, withProcessLimits } from './bubblewrap-run.ts';
import { ContainerEngine } from './container-engine.ts';
import { type GrantedAccess, GrantedPowers } from './granted-powers.ts';
import { DEFAULT_SAFETY_RULES, SafetyRules } from './safety-rules.ts';
import type { SandboxConfig } from './sandbox-config.ts';

interface SandboxCollaborators {
  readonly powers: GrantedPowers;
  readonly rules: SafetyRules;
  /** Absent if the owner has not configured a container engine. */
  readonly engine?: ContainerEngine;
  /** Environment variables. Their PATH lists the folders in which bwrap may be. */
  readonly env: NodeJS.ProcessEnv;
}

/** A variant of the sandbox. Which variants work depends on the machine. */
type SandboxMode = Pick<SandboxView, 'hasProc' | 'isRoot'>;

const BYTES_PER_MB = 1_048_576;
const BYTES_PER_KB = 1_024;
const TRIAL_TIMEOUT_MS = 5_000;
/** The modes in the order in which they are tried. The best mode is first. */
const MODES: readonly SandboxMode[] = [
  { hasProc: true, isRoot: false },
  { hasProc: false, isRoot: false },
];
const HOME = '/tmp';
const INSTALL = 'install bubblewrap (apt install bubblewrap)';
const ALLOW_NAMESPACES = 'allow user namespaces for the hub: docs/sandbox.md says how, for its unit, for containers and for the kernel';

/** Runs each command in new namespaces, which bubblewrap creates. Container images run in the container engine instead. */
export class BubblewrapSandbox implements ProgramSandbox {
  readonly #parts: SandboxCollaborators;
  readonly #bounds: SandboxConfig;
  readonly #limiter: CallerConcurrencyLimiter;
  /** The mode that bubblewrap's trial run found. The trial run starts with the request for the first program. */
  #trial: Promise<SandboxMode> | undefined;
  #problem: string | undefined;

  constructor(parts: SandboxCollaborators, bounds: SandboxConfig) {
    this.#parts = parts;
    this.#bounds = bounds;
    const maxRunningPerCaller = Math.max(1, Math.floor(bounds.maxConcurrent / 2));
    this.#limiter = new CallerConcurrencyLimiter({
      maxRunning: bounds.maxConcurrent,
      maxRunningPerCaller,
      maxWaiting: Infinity,
      maxWaitingPerCaller: Infinity,
    });
  }

  missingSetting(kind: ProgramKind): string | undefined {
    if (kind === 'image') return this.#parts.engine ? undefined : 'set connectors.sandbox.container_engine in the configuration';
    return this.#problem ?? (this.#bubblewrap() ? undefined : INSTALL);
  }

  power(name: string): ProgramPower | undefined {
    return this.#parts.powers.power(name);
  }

  inspect(order: Parameters<ProgramSandbox['inspect']>[0]): ReturnType<ProgramSandbox['inspect']> {
    return this.#parts.powers.inspect(order, HOME);
  }

  requireSafe(argv: readonly string[], cwd = HOME, stdin?: string): void {
    this.#parts.rules.requireSafe(argv, cwd, stdin);
  }

  async run(order: ProgramRequest): Promise<ProgramResult> {
    const granted = this.#parts.powers.combined(order.powers);
    if (order.kind === 'image') return this.#inTurn(order, () => this.#runImage(order, granted));
    this.requireSafe([order.program, ...order.args], order.cwd, order.stdin);
    const view = { ...this.#viewOf(order, granted), ...(await this.#mode()) };
    const command = [pathOf(order.program, view), ...order.args];
    return this.#inTurn(order, () => this.#runCommand(order, view, command));
  }

  /** Waits for a free slot, then runs the work. Calls `confirm` just before the work, since files and rules may change during the wait. */
  async #inTurn({ caller, signal, confirm }: ProgramRequest, work: () => Promise<ProgramResult>): Promise<ProgramResult> {
    const leave = await this.#limiter.enter(caller, signal);
    try {
      confirm();
      return await work();
    } finally {
      leave();
    }
  }

  #runCommand(order: ProgramRequest, view: SandboxView, command: readonly string[]): Promise<ProgramResult> {
    const { processes, cpuSeconds, tempMb, maxConcurrent } = this.#bounds;
    const bounds = this.#boundsOf(order);
    const limits = { processes, cpuSeconds, fileBytes: tempMb * BYTES_PER_MB, together: view.isRoot ? maxConcurrent : 1 };
    // The hub measures the used memory only every 25 ms. In between, this limit of the kernel stops a program that grows fast.
    const data = order.isRuntime ? {} : { dataBytes: 2 * bounds.memoryBytes };
    return runBubblewrap({
      bubblewrap: this.#bubblewrap() ?? 'bwrap',
      options: bubblewrapOptions(view),
      command: withProcessLimits({ ...limits, ...data }, view, command),
      hasNetwork: view.hasNetwork,
      ...(order.stdin !== undefined && { stdin: order.stdin }),
      bounds,
      signal: order.signal,
    });
  }

  #runImage({ program: image, args, stdin, signal, ...order }: ProgramRequest, granted: GrantedAccess): Promise<ProgramResult> {
    const { engine } = this.#parts;
    if (!engine) throw notConfigured(image, this.missingSetting('image') ?? '');
    const run = { image, args, ...granted, bounds: this.#boundsOf(order), tempBytes: this.#bounds.tempMb * BYTES_PER_MB, signal };
    return engine.run(stdin === undefined ? run : { ...run, stdin });
  }

  #viewOf(
    { visible = [], cwd = HOME }: ProgramRequest,
    { read, write, env, hasNetwork }: GrantedAccess,
  ): Omit<SandboxView, keyof SandboxMode> {
    this.#parts.powers.requireCodeOutsideState(visible);
    const gone = [...read, ...write, ...visible].find((path) => !existsSync(path));
    if (gone !== undefined) throw new AtmoError('NOT_CONFIGURED', `There is no ${gone}, which a power of the sandbox names; create it`);
    return { read: [...visible, ...read], write, env, hasNetwork, cwd, tempBytes: this.#bounds.tempMb * BYTES_PER_MB };
  }

  #boundsOf({ maxMemoryBytes }: Pick<ProgramRequest, 'maxMemoryBytes'>): RunBounds {
    const { memoryMb, processes, outputKb } = this.#bounds;
    return { memoryBytes: maxMemoryBytes ?? memoryMb * BYTES_PER_MB, processes, outputBytes: outputKb * BYTES_PER_KB };
  }

  #mode(): Promise<SandboxMode> {
    this.#trial ??= this.#try().catch((error: unknown) => {
      // If `#problem` is not set, the trial took too long. The next program then starts a new trial.
      if (this.#problem === undefined) this.#trial = undefined;
      throw error;
    });
    return this.#trial;
  }

  /**
   * Returns the first mode in which bubblewrap works. If no mode works, throws NOT_CONFIGURED with bubblewrap's error; this result stays
   * until the hub restarts. If the trial takes too long, throws SERVICE_UNAVAILABLE.
   */
  async #try(): Promise<SandboxMode> {
    const reasons: string[] = [];
    for (const mode of process.geteuid?.() === 0 ? [...MODES.map((one) => ({ ...one, isRoot: true })), ...MODES] : MODES) {
      const { exitCode, stderr } = await this.#tryWith(mode);
      if (exitCode === 0) return mode;
      reasons.push(stderr.replaceAll(/\s+/g, ' ').trim().slice(0, 200));
    }
    this.#problem = this.#bubblewrap() ? `${ALLOW_NAMESPACES} (${reasons[0]})` : INSTALL;
    throw notConfigured('sandbox', this.#problem);
  }

  async #tryWith(mode: SandboxMode): Promise<Pick<ProgramResult, 'exitCode' | 'stderr'>> {
    const bubblewrap = this.#bubblewrap();
    if (!bubblewrap) return { exitCode: 1, stderr: '' };
    const view = { read: [], write: [], env: {}, hasNetwork: false, ...mode, cwd: HOME, tempBytes: BYTES_PER_MB };
    const bounds = this.#boundsOf({});
    const command = withProcessLimits({ processes: 1, cpuSeconds: 5, fileBytes: BYTES_PER_MB, together: 100 }, mode, ['/usr/bin/true']);
    const signal = AbortSignal.timeout(TRIAL_TIMEOUT_MS);
    try {
      return await runBubblewrap({ bubblewrap, options: bubblewrapOptions(view), command, hasNetwork: false, bounds, signal });
    } catch (error) {
      if (signal.aborted)
        throw new AtmoError('SERVICE_UNAVAILABLE', `bubblewrap made no sandbox within ${TRIAL_TIMEOUT_MS} ms; try again later`);
      return { exitCode: 1, stderr: toAtmoError(error).message };
    }
  }

  #bubblewrap(): string | undefined {
    const { bubblewrap } = this.#bounds;
    if (bubblewrap !== undefined) return isExecutable(bubblewrap) ? bubblewrap : undefined;
    const folders = [...(this.#parts.env.PATH ?? '').split(delimiter), '/usr/bin', '/usr/local/bin'];
    return folders.map((folder) => join(folder, 'bwrap')).find(isExecutable);
  }
}

/** Returns the path of a program. Throws NOT_CONFIGURED if no folder that the sandbox can see contains the program. */
function pathOf(program: string, { read, write }: SandboxView): string {
  const places = program.startsWith('/') ? [program] : PROGRAM_PATH.map((folder) => join(folder, program));
  const isShown = (path: string) => [...PROGRAM_PATH, '/usr', ...read, ...write].some((folder) => isWithin(path, folder));
  const found = places.find((path) => isShown(path) && isExecutable(path));
  if (found !== undefined) return found;
  const message = `The program ${program} is not there for sandboxed tools; install it, or give a power that reads its folder`;
  throw new AtmoError('NOT_CONFIGURED', message);
}

/** Returns whether a file is executable. `existsSync` is called first: for a missing file, it is faster than the error of `accessSync`. */
function isExecutable(path: string): boolean {
  if (!existsSync(path)) return false;
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Returns the configured sandbox. Starts no process before the first program. Throws CONFIG_INVALID as `new GrantedPowers` does. */
export function openProgramSandbox(
  config: SandboxConfig,
  { stateDir, env }: { readonly stateDir: string; readonly env: NodeJS.ProcessEnv },
): ProgramSandbox {
  const rules = new SafetyRules([...(config.defaultSafetyRules ? DEFAULT_SAFETY_RULES : []), ...config.safetyRules]);
  const powers = new GrantedPowers(config.powers, { stateDir, env });
  const engine = openEngine(config, env);
  return new BubblewrapSandbox({ powers, rules, env, ...(engine && { engine }) }, config);
}

/** Returns the configured container engine; undefined if none is configured. */
export function openEngine({ containerEngine }: SandboxConfig, env: NodeJS.ProcessEnv): ContainerEngine | undefined {
  return containerEngine === undefined ? undefined : new ContainerEngine(containerEngine, { env });
}
