import { ForksPoolWorker, type PoolOptions, type WorkerRequest } from 'vitest/node';

type Listener = (message: unknown) => void;

/** Where the tests of vitest run: a process that stays for the next run, so that it starts and loads the program once for many. */
export class KeptProcesses {
  readonly name = 'kept';
  /** By the mutant that is active from the start of the process. */
  readonly #kept = new Map<string | undefined, KeptProcess>();
  #mutant: string | undefined;

  readonly createPoolWorker = (options: PoolOptions): ForksPoolWorker => {
    const kept = this.#kept.get(this.#mutant);
    if (kept && !kept.hasExited) return kept;
    const env = this.#mutant === undefined ? options.env : { ...options.env, ATMO_MUTANT: this.#mutant };
    const made = new KeptProcess({ ...options, env });
    this.#kept.set(this.#mutant, made);
    return made;
  };

  /** Whether the next run starts a process. */
  get startsNext(): boolean {
    return this.#kept.get(this.#mutant)?.hasExited ?? true;
  }

  get mutant(): string | undefined {
    return this.#mutant;
  }

  /**
   * From now on, runs are in the process in which this mutant is active from the start. The one without any ('') stays beside it.
   * Undefined stands for one that records what is reached.
   */
  async use(mutant: string | undefined): Promise<void> {
    if (mutant === this.#mutant) return;
    if (this.#mutant !== '') await this.renew();
    this.#mutant = mutant;
  }

  /** After a run: ends the process in use. The next run gets a new one. */
  async renew(): Promise<void> {
    const kept = this.#kept.get(this.#mutant);
    this.#kept.delete(this.#mutant);
    await kept?.released;
    await kept?.end();
  }

  /** During a run: ends the process in use, even where it is busy, so that the run fails. */
  async kill(): Promise<void> {
    const kept = this.#kept.get(this.#mutant);
    this.#kept.delete(this.#mutant);
    await kept?.end();
  }

  async end(): Promise<void> {
    for (const kept of this.#kept.values()) await kept.end();
  }
}

class KeptProcess extends ForksPoolWorker {
  override readonly name = 'kept';
  readonly #listeners = new Map<string, Set<Listener>>();
  #state: 'new' | 'starting' | 'started' | 'exited' = 'new';
  #run = Promise.withResolvers<void>();

  get hasExited(): boolean {
    return this.#state === 'exited';
  }

  /** Settled when no run uses the process. */
  get released(): Promise<void> {
    return this.#run.promise;
  }

  override async start(): Promise<void> {
    this.#run = Promise.withResolvers();
    if (this.#state !== 'new') return;
    this.#state = 'starting';
    await super.start();
    for (const event of ['message', 'error', 'exit']) super.on(event, (...given) => this.#emit(event, ...given));
    super.on('exit', () => {
      this.#state = 'exited';
      this.#run.resolve();
    });
  }

  override on(event: string, listener: Listener): void {
    this.#listeners.set(event, (this.#listeners.get(event) ?? new Set()).add(listener));
  }

  override off(event: string, listener: Listener): void {
    this.#listeners.get(event)?.delete(listener);
  }

  override send(message: WorkerRequest): void {
    if (this.#state === 'exited') return;
    if (message.type === 'stop') this.#emit('message', { type: 'stopped', __vitest_worker_response__: true });
    else if (message.type === 'start' && this.#state === 'started')
      this.#emit('message', { type: 'started', __vitest_worker_response__: true });
    else super.send(message);
    this.#state = 'started';
  }

  /** Vitest stops a process after each run; this one stays. */
  override async stop(): Promise<void> {
    this.#listeners.clear();
    this.#run.resolve();
  }

  async end(): Promise<void> {
    if (this.#state === 'starting' || this.#state === 'started') await super.stop();
    this.#state = 'exited';
  }

  #emit(event: string, ...given: readonly unknown[]): void {
    for (const listener of [...(this.#listeners.get(event) ?? [])]) Reflect.apply(listener, undefined, given);
  }
}
