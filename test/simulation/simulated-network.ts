import { frameCodec } from '../../src/codec/messages/connection.ts';
import { REQUEST_KINDS } from '../../src/mesh/rpc/peer-link.ts';
import { type MemoryListener, MemoryNetwork, type PipeEnd, type WireMessage } from '../mesh/memory-network.ts';
import { Draw } from './draw.ts';
import type { EventQueue } from './event-queue.ts';
import { currentProcess, type SimulatedProcess } from './simulated-process.ts';

/** What one machine sends to another one. `bytes` is its length, 0 for what only opens or ends something. */
export interface SentMessage {
  readonly from: string;
  readonly to: string;
  readonly type: string;
  readonly bytes: number;
  /** Returns what it is, for people. */
  readonly words: () => string;
}

/** A connection's end, with the process that has it. */
interface OwnedEnd {
  readonly end: PipeEnd;
  readonly process: SimulatedProcess;
}

type SaidMessage = Extract<WireMessage, { readonly type: 'gossip' | 'frame' }>;

/** Share of the messages of a liar that are lies, and how many earlier ones it may repeat. */
const LIES = 0.03;
const REMEMBERED_LIES = 500;

const KINDS = new Map<number, string>(Object.entries(REQUEST_KINDS).map(([name, number]) => [number, name]));

export interface SimulatedNetworkParts {
  readonly queue: EventQueue;
  readonly random: () => number;
  readonly onMessage: (message: SentMessage) => void;
  /** Called with each frame that is sent to an older member. */
  readonly onFrameToOlder: (to: string, bytes: Uint8Array) => void;
}

/**
 * The network between the machines of a world, on the world's events: addresses are `<machine>:<port>`. A connection delivers in order and
 * loses nothing, as TCP does; gossip may be lost. What is sent over a way that is cut waits until it is whole again.
 */
export class SimulatedNetwork extends MemoryNetwork {
  /** Milliseconds one way, least and most. */
  delayMs: readonly [number, number] = [0.3, 8];
  /** Share of gossip messages that are lost. */
  gossipLoss = 0;
  readonly #parts: SimulatedNetworkParts;
  readonly #processes = new Map<string, SimulatedProcess>();
  readonly #cut = new Set<string>();
  readonly #ends = new Map<string, OwnedEnd[]>();
  readonly #listening = new Map<string, (() => void)[]>();
  /** Machines whose connections nobody closed, since their power was cut. */
  readonly #dark = new Set<string>();
  /** Machines that lie, with what they have sent. */
  readonly #liars = new Map<string, SaidMessage[]>();
  #dialler: SimulatedProcess | undefined;

  constructor(parts: SimulatedNetworkParts) {
    super({ clock: dispatchingClock(parts.queue), random: parts.random });
    this.#parts = parts;
  }

  /** A machine runs this process from now on. The network of the machine tells others that it has no connections from before. */
  attach(machine: string, process: SimulatedProcess): void {
    this.#closeEnds(machine);
    this.#dark.delete(machine);
    this.#processes.set(machine, process);
  }

  /** The process of a machine has ended. Its machine closes the connections at once, or not at all if it has no power. */
  detach(machine: string, { isDark }: { readonly isDark: boolean }): void {
    for (const stop of this.#listening.get(machine)?.splice(0) ?? []) stop();
    if (isDark) this.#dark.add(machine);
    else this.#closeEnds(machine);
  }

  /** From now on nothing that one machine sends arrives at the other one. */
  cut(from: string, to: string): void {
    this.#cut.add(`${from}>${to}`);
  }

  /** Makes all ways whole. What waited is sent. */
  override heal(): void {
    this.#cut.clear();
    super.heal();
  }

  /** From now on a machine lies: it sends some of its messages twice, cut or altered, and earlier ones of them again. */
  lies(machine: string): void {
    this.#liars.set(machine, []);
  }

  /** From now on all machines are honest. */
  allHonest(): void {
    this.#liars.clear();
  }

  override alters(from: string, _to: string, message: WireMessage): readonly WireMessage[] {
    const said = this.#liars.get(machineOf(from));
    if (!said || (message.type !== 'gossip' && message.type !== 'frame')) return [message];
    said.push(message);
    if (said.length > REMEMBERED_LIES) said.shift();
    return this.#parts.random() < LIES ? this.#lie(message, said) : [message];
  }

  #lie(message: SaidMessage, said: readonly SaidMessage[]): readonly WireMessage[] {
    const draw = new Draw(this.#parts.random);
    const bytes = Uint8Array.from(message.bytes);
    const at = draw.index(bytes.length);
    bytes[at] = (bytes[at] ?? 0) ^ (1 << draw.index(8));
    return draw.pick([
      [message, message],
      [message, { ...message, bytes: draw.pick(said).bytes }],
      [{ ...message, bytes: message.bytes.subarray(0, at) }],
      [{ ...message, bytes }],
    ]);
  }

  override isCut(from: string, to: string): boolean {
    return this.#cut.size > 0 && this.#cut.has(`${machineOf(from)}>${machineOf(to)}`);
  }

  override confirmsArrivals(address: string): boolean {
    return !this.#dark.has(machineOf(address));
  }

  override isGossipLost(): boolean {
    return this.gossipLoss > 0 && this.#parts.random() < this.gossipLoss;
  }

  override sends(from: string, to: string, message: WireMessage): void {
    const bytes = 'bytes' in message ? message.bytes.length : 0;
    this.#parts.onMessage({ from, to, type: message.type, bytes, words: () => messageWords(message) });
    if (message.type === 'frame' && this.#processes.get(machineOf(to))?.isOlder) this.#parts.onFrameToOlder(machineOf(to), message.bytes);
  }

  override listen(address: string, listener: MemoryListener): () => void {
    const machine = machineOf(address);
    const accept = (end: PipeEnd) => {
      this.#remember(machine, end);
      listener.accept(end);
    };
    const stop = super.listen(address, { accept });
    this.#listening.set(machine, [...(this.#listening.get(machine) ?? []), stop]);
    return stop;
  }

  override async dial(from: string, to: string, signal: AbortSignal): Promise<PipeEnd> {
    this.#dialler = currentProcess();
    const dialled = super.dial(from, to, signal);
    this.#dialler = undefined;
    const end = await dialled;
    this.#remember(machineOf(from), end);
    return end;
  }

  override carry({ to, notBeforeMs }: Parameters<MemoryNetwork['carry']>[0], deliver: () => void): number {
    const { queue, random } = this.#parts;
    const [leastMs, mostMs] = this.delayMs;
    const dueMs = Math.max(notBeforeMs, queue.nowMs + leastMs + random() * (mostMs - leastMs));
    const owner = this.#receiverOf(to);
    if (owner) queue.schedule({ dueMs, owner, kind: 'message' }, () => owner.run(deliver));
    return dueMs;
  }

  /** The process to which something that is sent now is delivered. Who dials a machine on which nothing listens gets a refusal itself. */
  #receiverOf(to: string): SimulatedProcess | undefined {
    const process = this.#processes.get(machineOf(to));
    if (process?.isAlive || this.#dark.has(machineOf(to))) return process;
    return this.#dialler;
  }

  #remember(machine: string, end: PipeEnd): void {
    const process = currentProcess();
    if (process) this.#ends.set(machine, [...(this.#ends.get(machine) ?? []), { end, process }]);
  }

  #closeEnds(machine: string): void {
    for (const { end, process } of this.#ends.get(machine)?.splice(0) ?? []) process.run(() => end.close());
  }
}

export function machineOf(address: string): string {
  return address.slice(0, address.lastIndexOf(':'));
}

/** A clock of which the timers belong to the process that asks. */
function dispatchingClock(queue: EventQueue) {
  const requireProcess = () => {
    const process = currentProcess();
    if (!process) throw new Error('The simulation itself has no timers');
    return process;
  };
  return {
    now: () => requireProcess().clock.now(),
    monotonic: () => queue.nowMs,
    after: (delayMs: number, callback: () => void) => requireProcess().clock.after(delayMs, callback),
  };
}

/** What a message between two hubs is, for people who read a trace. */
function messageWords(message: WireMessage): string {
  if (message.type !== 'frame') return message.type;
  try {
    const frame = frameCodec.decode(message.bytes);
    const kind = frame.type === 'request' ? ` ${KINDS.get(frame.kind) ?? frame.kind}` : '';
    return `${frame.type}${kind}${'id' in frame ? ` ${frame.id}` : ''}`;
  } catch {
    return 'unreadable frame';
  }
}
