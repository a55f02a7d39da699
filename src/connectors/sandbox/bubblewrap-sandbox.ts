import { accessSync, constants, existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { CallerConcurrencyLimiter } from '../../core/concurrency-limiter.ts';
import { AtmoError, toAtmoError } from '../../core/errors.ts';
import { isWithin } from '../../core/files/file-system.ts';
import { notConfigured } from '../../tools/definition/unconfigured-tool.ts';
import type { ProgramKind, ProgramPower, ProgramRequest, ProgramResult, ProgramSandbox } from '../../tools/programs/program-sandbox.ts';
import { bubblewrapOptions, PROGRAM_PATH, type RunBounds, runBubblewrap, type SandboxView, withProcessLimits } from './bubblewrap-run.ts';
import { ContainerEngine } from './container-engine.ts';
import { type GrantedAccess, GrantedPowers } from './granted-powers.ts';
import { DEFAULT_SAFETY_RULES, SafetyRules } from './safety-rules.ts';
import type { SandboxConfig } from './sandbox-config.ts';

interface SandboxCollaborators {
  readonly powers: GrantedPowers;
  readonly rules: SafetyRules;
  /** Absent where the owner has configured none. */
  readonly engine?: ContainerEngine;
  /** Where bwrap is looked for. */
  readonly env: NodeJS.ProcessEnv;
}

/** How a sandbox can be made here. */
type SandboxMode = Pick<SandboxView, 'hasProc' | 'isRoot'>;
type SandboxBounds = Omit<SandboxConfig, 'powers' | 'commands' | 'safetyRules' | 'defaultSafetyRules' | 'containerEngine'>;

const BYTES_PER_MB = 1_048_576;
const BYTES_PER_KB = 1_024;
const TRIAL_TIMEOUT_MS = 5_000;
/** The best first. */
const MODES: readonly SandboxMode[] = [
  { hasProc: true, isRoot: false },
  { hasProc: false, isRoot: false },
];
const HOME = '/tmp';
const INSTALL = 'install bubblewrap (apt install bubblewrap)';
const ALLOW_NAMESPACES = 'allow user namespaces for the hub: docs/sandbox.md says how, for its unit, for containers and for the kernel';

/** Programs in namespaces of their own, made by bubblewrap for each run. */
export class BubblewrapSandbox implements ProgramSandbox {
  readonly #with: SandboxCollaborators;
  readonly #bounds: SandboxBounds;
  readonly #turns: CallerConcurrencyLimiter;
  /** What became of the trial; the first program makes it. */
  #trial: Promise<SandboxMode> | undefined;
  #problem: string | undefined;

  constructor(collaborators: SandboxCollaborators, bounds: SandboxBounds) {
    this.#with = collaborators;
    this.#bounds = bounds;
    const maxRunningPerCaller = Math.max(1, Math.floor(bounds.maxConcurrent / 2));
    this.#turns = new CallerConcurrencyLimiter({
      maxRunning: bounds.maxConcurrent,
      maxRunningPerCaller,
      maxWaiting: Infinity,
      maxWaitingPerCaller: Infinity,
    });
  }

  missingSetting(kind: ProgramKind): string | undefined {
    if (kind === 'image') return this.#with.engine ? undefined : 'set connectors.sandbox.container_engine in the configuration';
    return this.#problem ?? (this.#bubblewrap() ? undefined : INSTALL);
  }

  power(name: string): ProgramPower | undefined {
    return this.#with.powers.power(name);
  }

  inspect(order: Parameters<ProgramSandbox['inspect']>[0]): ReturnType<ProgramSandbox['inspect']> {
    return this.#with.powers.outlook(order, HOME);
  }

  requireSafe(argv: readonly string[], cwd = HOME, stdin?: string): void {
    this.#with.rules.requireSafe(argv, cwd, stdin);
  }

  async run(order: ProgramRequest): Promise<ProgramResult> {
    const granted = this.#with.powers.combined(order.powers);
    if (order.kind === 'image') return this.#inTurn(order, () => this.#runImage(order, granted));
    this.requireSafe([order.program, ...order.args], order.cwd, order.stdin);
    const view = { ...this.#viewOf(order, granted), ...(await this.#tried()) };
    const command = [pathOf(order.program, view), ...order.args];
    return this.#inTurn(order, () => this.#runCommand(order, view, command));
  }

  /** Files and rules may have changed while the program waited: nothing may come between the question and its start. */
  async #inTurn({ caller, signal, confirm }: ProgramRequest, work: () => Promise<ProgramResult>): Promise<ProgramResult> {
    const leave = await this.#turns.enter(caller, signal);
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
    // The watch counts what is really taken; this holds what comes between two looks.
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
    const { engine } = this.#with;
    if (!engine) throw notConfigured(image, this.missingSetting('image') ?? '');
    const input = stdin === undefined ? {} : { stdin };
    const bounds = this.#boundsOf(order);
    return engine.run({ image, args, ...input, ...granted, bounds, tempBytes: this.#bounds.tempMb * BYTES_PER_MB, signal });
  }

  #viewOf(
    { visible = [], cwd = HOME }: ProgramRequest,
    { read, write, env, hasNetwork }: GrantedAccess,
  ): Omit<SandboxView, keyof SandboxMode> {
    this.#with.powers.requireCodeOutsideState(visible);
    const gone = [...read, ...write, ...visible].find((path) => !existsSync(path));
    if (gone !== undefined) throw new AtmoError('NOT_CONFIGURED', `There is no ${gone}, which a power of the sandbox names; create it`);
    return { read: [...visible, ...read], write, env, hasNetwork, cwd, tempBytes: this.#bounds.tempMb * BYTES_PER_MB };
  }

  #boundsOf({ maxMemoryBytes }: Pick<ProgramRequest, 'maxMemoryBytes'>): RunBounds {
    const { memoryMb, processes, outputKb } = this.#bounds;
    return { memoryBytes: maxMemoryBytes ?? memoryMb * BYTES_PER_MB, processes, outputBytes: outputKb * BYTES_PER_KB };
  }

  #tried(): Promise<SandboxMode> {
    this.#trial ??= this.#try().catch((error: unknown) => {
      // What took too long may go well the next time.
      if (this.#problem === undefined) this.#trial = undefined;
      throw error;
    });
    return this.#trial;
  }

  /** NOT_CONFIGURED with what bubblewrap says, until the next start of the hub; SERVICE_UNAVAILABLE where it took too long to say. */
  async #try(): Promise<SandboxMode> {
    const reasons: string[] = [];
    for (const way of process.geteuid?.() === 0 ? [...MODES.map((one) => ({ ...one, isRoot: true })), ...MODES] : MODES) {
      const { exitCode, stderr } = await this.#tryWith(way);
      if (exitCode === 0) return way;
      reasons.push(stderr.replaceAll(/\s+/g, ' ').trim().slice(0, 200));
    }
    this.#problem = this.#bubblewrap() ? `${ALLOW_NAMESPACES} (${reasons[0]})` : INSTALL;
    throw notConfigured('sandbox', this.#problem);
  }

  async #tryWith(way: SandboxMode): Promise<Pick<ProgramResult, 'exitCode' | 'stderr'>> {
    const bubblewrap = this.#bubblewrap();
    if (!bubblewrap) return { exitCode: 1, stderr: '' };
    const view = { read: [], write: [], env: {}, hasNetwork: false, ...way, cwd: HOME, tempBytes: BYTES_PER_MB };
    const bounds = this.#boundsOf({});
    const command = withProcessLimits({ processes: 1, cpuSeconds: 5, fileBytes: BYTES_PER_MB, together: 100 }, way, ['/usr/bin/true']);
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
    const folders = [...(this.#with.env.PATH ?? '').split(delimiter), '/usr/bin', '/usr/local/bin'];
    return folders.map((folder) => join(folder, 'bwrap')).find(isExecutable);
  }
}

/** NOT_CONFIGURED for a program that is not installed where the sandbox shows it. */
function pathOf(program: string, { read, write }: SandboxView): string {
  const places = program.startsWith('/') ? [program] : PROGRAM_PATH.map((folder) => join(folder, program));
  const isShown = (path: string) => [...PROGRAM_PATH, '/usr', ...read, ...write].some((folder) => isWithin(path, folder));
  const found = places.find((path) => isShown(path) && isExecutable(path));
  if (found !== undefined) return found;
  throw new AtmoError(
    'NOT_CONFIGURED',
    `The program ${program} is not there for sandboxed tools; install it, or give a power that reads its folder`,
  );
}

/** Asked for every tool of a list: an error for each folder without it would cost more than the look. */
function isExecutable(path: string): boolean {
  if (!existsSync(path)) return false;
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** The sandbox of the configuration; nothing runs before the first program does. CONFIG_INVALID for a power that cannot be. */
export function openProgramSandbox(
  config: SandboxConfig,
  { stateDir, env }: { readonly stateDir: string; readonly env: NodeJS.ProcessEnv },
): ProgramSandbox {
  const rules = new SafetyRules([...(config.defaultSafetyRules ? DEFAULT_SAFETY_RULES : []), ...config.safetyRules]);
  const powers = new GrantedPowers(config.powers, { stateDir, env });
  const engine = openEngine(config, env);
  return new BubblewrapSandbox({ powers, rules, env, ...(engine && { engine }) }, config);
}

/** Undefined where the owner has configured none. */
export function openEngine({ containerEngine }: SandboxConfig, env: NodeJS.ProcessEnv): ContainerEngine | undefined {
  return containerEngine === undefined ? undefined : new ContainerEngine(containerEngine, { env });
}
