import { Draw } from './draw.ts';
import type { EventQueue } from './event-queue.ts';
import type { SimulatedAnswer, SimulatedMachine, SimulatedRequest } from './simulated-machine.ts';
import { SimulatedProcess } from './simulated-process.ts';

/** What a client waits for at most beyond the deadline of its call, in milliseconds. */
const PATIENCE_MS = 5_000;
/** Time of a request that has none of its own, in milliseconds. */
export const ASKED_MS = 10_000;

export interface Sending extends Omit<SimulatedRequest, 'signal'> {
  readonly timeoutMs: number;
  /** The client leaves after so many milliseconds, if there is no answer yet. */
  readonly leavesAfterMs?: number;
  readonly onArrival?: () => void;
  readonly onLeft?: () => void;
}

type Question = Pick<SimulatedRequest, 'path' | 'body' | 'method'> & { readonly token?: string };

/** The program of a person or an agent, which reaches hubs over a network with delays. */
export class SimulatedClient {
  readonly process: SimulatedProcess;
  /** What the person or agent leaves to chance, which is drawn from the seed of the process. */
  readonly draw: Draw;
  readonly #queue: EventQueue;

  constructor(queue: EventQueue, identity: { readonly name: string; readonly seed: number }) {
    this.process = new SimulatedProcess(queue, identity);
    this.draw = new Draw(this.process.random);
    this.#queue = queue;
  }

  /** The answer of a hub; undefined if none comes, because the hub or the client ended before. */
  send(
    machine: SimulatedMachine,
    { timeoutMs, leavesAfterMs, onArrival, onLeft, ...request }: Sending,
  ): Promise<SimulatedAnswer | undefined> {
    const { promise, resolve } = Promise.withResolvers<SimulatedAnswer | undefined>();
    const left = new AbortController();
    const stay = this.process.after(leavesAfterMs ?? timeoutMs + PATIENCE_MS, () => {
      resolve(undefined);
      this.#at(machine, () => {
        onLeft?.();
        left.abort();
      });
    });
    const arrive = (answer: SimulatedAnswer) => {
      stay();
      resolve(answer);
    };
    this.#at(machine, () => {
      onArrival?.();
      const { process } = machine;
      void machine.ask({ ...request, signal: left.signal }).then(
        (answer) => process.isAlive && this.#deliver(() => arrive(answer)),
        () => undefined,
      );
    });
    return promise;
  }

  /** The body of an answer; undefined if none comes. Without a token, the owner of the hub asks. */
  async ask(machine: SimulatedMachine, { token, ...request }: Question): Promise<SimulatedAnswer['body'] | undefined> {
    if (!machine.isRunning) return undefined;
    const answer = await this.send(machine, { ...request, token: token ?? machine.ownerToken, timeoutMs: ASKED_MS });
    return answer?.body;
  }

  /** Waits in the client. */
  pause(ms: number): Promise<void> {
    return new Promise((resolve) => this.process.after(ms, resolve, 'pause'));
  }

  /** Does something in the process of a hub, after the delay of the network, if the hub still runs. */
  #at(machine: SimulatedMachine, work: () => void): void {
    if (!machine.isRunning) return;
    const owner = machine.process;
    this.#queue.schedule({ dueMs: this.#arrivalMs(), owner, kind: `${this.process.name}>` }, () => machine.isRunning && owner.run(work));
  }

  #deliver(work: () => void): void {
    const owner = this.process;
    this.#queue.schedule({ dueMs: this.#arrivalMs(), owner, kind: 'answer' }, () => owner.run(work));
  }

  #arrivalMs(): number {
    return this.#queue.nowMs + this.draw.between(0.3, 12);
  }
}
