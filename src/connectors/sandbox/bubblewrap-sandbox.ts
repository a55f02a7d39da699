import { accessSync, constants, existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { AtmoError, toAtmoError } from '../../core/errors.ts';
import { isWithin } from '../../core/is-within.ts';
import { CallerGates } from '../../tools/calls/bounds/caller-gates.ts';
import { notConfigured } from '../../tools/definition/missing-setting.ts';
import type { ProgramKind, ProgramOrder, ProgramPower, ProgramResult, ProgramSandbox } from '../../tools/programs/program-sandbox.ts';
import { bubblewrapOptions, limitedCommand, PROGRAM_PATH, type SandboxView } from './bubblewrap-arguments.ts';
import { type RunBounds, runBubblewrap } from './bubblewrap-run.ts';
import type { ContainerEngine } from './container-engine.ts';
import type { Granted, GrantedPowers } from './granted-powers.ts';
import type { SafetyRules } from './safety-rules.ts';
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
type Way = Pick<SandboxView, 'hasProc' | 'isRoot'>;
type Bounds = Omit<SandboxConfig, 'powers' | 'commands' | 'safetyRules' | 'defaultSafetyRules' | 'containerEngine'>;

const BYTES_PER_MB = 1_048_576;
const BYTES_PER_KB = 1_024;
const TRIAL_MS = 5_000;
/** The best first. */
const WAYS: readonly Way[] = [
  { hasProc: true, isRoot: false },
  { hasProc: false, isRoot: false },
];
const HOME = '/tmp';
const INSTALL = 'install bubblewrap (apt install bubblewrap)';
const ALLOW = 'allow user namespaces for the hub: docs/sandbox.md says how, for its unit, for containers and for the kernel';

/** Programs in namespaces of their own, made by bubblewrap for each run. */
export class BubblewrapSandbox implements ProgramSandbox {
  readonly #with: SandboxCollaborators;
  readonly #bounds: Bounds;
  readonly #turns: CallerGates;
  /** What became of the trial; the first program makes it. */
  #trial: Promise<Way> | undefined;
  #problem: string | undefined;

  constructor(collaborators: SandboxCollaborators, bounds: Bounds) {
    this.#with = collaborators;
    this.#bounds = bounds;
    const maxRunningPerCaller = Math.max(1, Math.floor(bounds.maxConcurrent / 2));
    this.#turns = new CallerGates({
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

  outlook(order: Parameters<ProgramSandbox['outlook']>[0]): ReturnType<ProgramSandbox['outlook']> {
    return this.#with.powers.outlook(order, HOME);
  }

  requireSafe(argv: readonly string[], cwd = HOME, stdin?: string): void {
    this.#with.rules.require(argv, cwd, stdin);
  }

  async run(order: ProgramOrder): Promise<ProgramResult> {
    const granted = this.#with.powers.together(order.powers);
    if (order.kind === 'image') return this.#inTurn(order, () => this.#runImage(order, granted));
    this.requireSafe([order.program, ...order.args], order.cwd, order.stdin);
    const view = { ...this.#viewOf(order, granted), ...(await this.#tried()) };
    const command = [pathOf(order.program, view), ...order.args];
    return this.#inTurn(order, () => this.#runCommand(order, view, command));
  }

  /** Files and rules may have changed while the program waited: nothing may come between the question and its start. */
  async #inTurn({ caller, signal, confirm }: ProgramOrder, work: () => Promise<ProgramResult>): Promise<ProgramResult> {
    const leave = await this.#turns.enter(caller, signal);
    try {
      confirm();
      return await work();
    } finally {
      leave();
    }
  }

  #runCommand(order: ProgramOrder, view: SandboxView, command: readonly string[]): Promise<ProgramResult> {
    const { processes, cpuSeconds, tempMb, maxConcurrent } = this.#bounds;
    const bounds = this.#boundsOf(order);
    const limits = { processes, cpuSeconds, fileBytes: tempMb * BYTES_PER_MB, together: view.isRoot ? maxConcurrent : 1 };
    // The watch counts what is really taken; this holds what comes between two looks.
    const data = order.isRuntime ? {} : { dataBytes: 2 * bounds.memoryBytes };
    return runBubblewrap({
      bubblewrap: this.#bubblewrap() ?? 'bwrap',
      options: bubblewrapOptions(view),
      command: limitedCommand({ ...limits, ...data }, view, command),
      hasNetwork: view.hasNetwork,
      ...(order.stdin !== undefined && { stdin: order.stdin }),
      bounds,
      signal: order.signal,
    });
  }

  #runImage({ program: image, args, stdin, signal, ...order }: ProgramOrder, granted: Granted): Promise<ProgramResult> {
    const { engine } = this.#with;
    if (!engine) throw notConfigured(image, this.missingSetting('image') ?? '');
    const input = stdin === undefined ? {} : { stdin };
    const bounds = this.#boundsOf(order);
    return engine.run({ image, args, ...input, ...granted, bounds, tempBytes: this.#bounds.tempMb * BYTES_PER_MB, signal });
  }

  #viewOf({ visible = [], cwd = HOME }: ProgramOrder, { read, write, env, hasNetwork }: Granted): Omit<SandboxView, keyof Way> {
    this.#with.powers.requireCodeApart(visible);
    const gone = [...read, ...write, ...visible].find((path) => !existsSync(path));
    if (gone !== undefined) throw new AtmoError('NOT_CONFIGURED', `There is no ${gone}, which a power of the sandbox names; create it`);
    return { read: [...visible, ...read], write, env, hasNetwork, cwd, tempBytes: this.#bounds.tempMb * BYTES_PER_MB };
  }

  #boundsOf({ maxMemoryBytes }: Pick<ProgramOrder, 'maxMemoryBytes'>): RunBounds {
    const { memoryMb, processes, outputKb } = this.#bounds;
    return { memoryBytes: maxMemoryBytes ?? memoryMb * BYTES_PER_MB, processes, outputBytes: outputKb * BYTES_PER_KB };
  }

  #tried(): Promise<Way> {
    this.#trial ??= this.#try().catch((error: unknown) => {
      // What took too long may go well the next time.
      if (this.#problem === undefined) this.#trial = undefined;
      throw error;
    });
    return this.#trial;
  }

  /** NOT_CONFIGURED with what bubblewrap says, until the next start of the hub; SERVICE_UNAVAILABLE where it took too long to say. */
  async #try(): Promise<Way> {
    const reasons: string[] = [];
    for (const way of process.geteuid?.() === 0 ? [...WAYS.map((one) => ({ ...one, isRoot: true })), ...WAYS] : WAYS) {
      const { exitCode, stderr } = await this.#tryWith(way);
      if (exitCode === 0) return way;
      reasons.push(stderr.replaceAll(/\s+/g, ' ').trim().slice(0, 200));
    }
    this.#problem = this.#bubblewrap() ? `${ALLOW} (${reasons[0]})` : INSTALL;
    throw notConfigured('sandbox', this.#problem);
  }

  async #tryWith(way: Way): Promise<Pick<ProgramResult, 'exitCode' | 'stderr'>> {
    const bubblewrap = this.#bubblewrap();
    if (!bubblewrap) return { exitCode: 1, stderr: '' };
    const view = { read: [], write: [], env: {}, hasNetwork: false, ...way, cwd: HOME, tempBytes: BYTES_PER_MB };
    const bounds = this.#boundsOf({});
    const command = limitedCommand({ processes: 1, cpuSeconds: 5, fileBytes: BYTES_PER_MB, together: 100 }, way, ['/usr/bin/true']);
    const signal = AbortSignal.timeout(TRIAL_MS);
    try {
      return await runBubblewrap({ bubblewrap, options: bubblewrapOptions(view), command, hasNetwork: false, bounds, signal });
    } catch (error) {
      if (signal.aborted) throw new AtmoError('SERVICE_UNAVAILABLE', `bubblewrap made no sandbox within ${TRIAL_MS} ms; try again later`);
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
