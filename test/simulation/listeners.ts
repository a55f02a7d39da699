import { SimulatedClient } from './client.ts';
import type { Draw } from './draw.ts';
import { EventOrder, StreamCheck, type StreamMessage } from './invariants/stream-invariants.ts';
import type { SimulatedMachine } from './simulated-machine.ts';
import type { SimulatedProcess } from './simulated-process.ts';
import type { World } from './world.ts';

/** Mean times, in milliseconds: until a listener comes back, between two messages that it reads, and for which it reads nothing. */
const AWAY_MS = 60_000;
const READS_EVERY_MS = 2_000;
const STANDS_MS = 15 * 60_000;
/** A hub writes something every 15 seconds. Who gets nothing for so long leaves, in milliseconds. */
const SILENT_MS = 45_000;
/** Share of its messages after which a listener leaves, and after which it reads nothing for a time. */
const LEAVES = 0.01;
const STANDS = 0.01;
/** So many calls make events of more bytes than a hub keeps for who does not read: 300 of 4 KiB. */
const CALLS_OF_A_BURST = 300;
const BURST_PARAMS = { config: { note: 'x'.repeat(4_000) } };

type EventReader = ReadableStreamDefaultReader<Uint8Array>;

/** A page of the owner that reads the events of a hub slowly, stops to read, leaves, and comes back with the last event that it has. */
export class SimulatedListener {
  readonly #world: World;
  readonly #machine: SimulatedMachine;
  readonly #client: SimulatedClient;
  readonly #draw: Draw;
  /** The process of the hub whose events are known, and these in their order. */
  #known: { readonly process: SimulatedProcess; readonly order: EventOrder } | undefined;
  #last: string | undefined;
  #hasBurst = false;

  constructor(world: World, machine: SimulatedMachine, seed: number) {
    this.#world = world;
    this.#machine = machine;
    this.#client = new SimulatedClient(world.queue, { name: `listener-${machine.name}`, seed });
    this.#draw = this.#client.draw;
  }

  start(): void {
    this.#client.process.run(() => void this.#live());
  }

  async #live(): Promise<void> {
    for (;;) {
      await this.#client.pause(this.#draw.pause(this.#world.paced(AWAY_MS)));
      if (this.#world.isEnding) return;
      const { isRunning, process } = this.#machine;
      if (isRunning && process.standsUntilMs <= this.#world.queue.nowMs) await this.#listen(process);
    }
  }

  async #listen(process: SimulatedProcess): Promise<void> {
    const order = await this.#orderOf(process);
    const last = this.#last;
    const reader = order && (await this.#open(last));
    if (!reader) return;
    const check = new StreamCheck(order, { listener: this.#client.process.name, last });
    this.#world.note(this.#client.process.name, `listens after ${last ?? 'nothing'}`);
    for (let message = await this.#read(reader); message; message = await this.#read(reader)) {
      const taken = message;
      this.#world.guard(() => check.take(taken));
      this.#last = taken.id ?? this.#last;
      // Who is behind reads all that waits, at once.
      if (check.isCatchingUp) continue;
      if (this.#draw.chance(LEAVES)) break;
      const isStanding = this.#draw.chance(STANDS);
      if (isStanding) await this.#makeBurst();
      await this.#client.pause(this.#draw.pause(this.#world.paced(isStanding ? STANDS_MS : READS_EVERY_MS)));
      if (isStanding) check.readsAgain();
    }
    process.after(0, () => void reader.cancel().catch(() => undefined), 'leave');
  }

  /** Once, much happens while the listener does not read: a program of the owner makes one call after the other. */
  async #makeBurst(): Promise<void> {
    if (this.#hasBurst) return;
    this.#hasBurst = true;
    const call = { path: '/api/v1/tools/convert_automation/invoke', body: BURST_PARAMS };
    for (let calls = 0; calls < CALLS_OF_A_BURST; calls++) if (!(await this.#client.ask(this.#machine, call))) return;
  }

  /** The next message; undefined if the stream has ended, or nothing comes for so long that the hub has. */
  async #read(reader: EventReader): Promise<StreamMessage | undefined> {
    const { promise, resolve } = Promise.withResolvers<StreamMessage | undefined>();
    const stay = this.#client.process.after(SILENT_MS, () => resolve(undefined));
    reader.read().then(
      ({ value }) => resolve(value && messageOf(value)),
      () => resolve(undefined),
    );
    const message = await promise;
    stay();
    return message;
  }

  /** The events of a process, from those on that it still has. Another listener, which reads all at once, notes them. */
  async #orderOf(process: SimulatedProcess): Promise<EventOrder | undefined> {
    if (this.#known?.process === process) return this.#known.order;
    const reader = await this.#open('none');
    if (!reader) return undefined;
    const order = new EventOrder();
    this.#known = { process, order };
    void process.run(async () => {
      for (let next = await reader.read(); !next.done; next = await reader.read()) order.add(messageOf(next.value));
      // Who reads at once hears the hub to its end. Without that, nothing is known.
      if (this.#known?.order === order) this.#known = undefined;
    });
    return order;
  }

  async #open(last: string | undefined): Promise<EventReader | undefined> {
    const headers = last === undefined ? {} : { 'last-event-id': last };
    const response = await this.#machine.open({ path: '/api/v1/events', token: this.#machine.ownerToken, headers });
    return response.status === 200 ? response.body?.getReader() : undefined;
  }
}

function messageOf(piece: Uint8Array): StreamMessage {
  const text = textOf(piece);
  const [, id] = /^id: (.*)$/m.exec(text) ?? [];
  const [, type] = /^event: (.*)$/m.exec(text) ?? [];
  return { bytes: piece.length, ...(id !== undefined && { id }), ...(type !== undefined && { type }) };
}

/** The begin of a message, each of which is a piece of the stream. It has the id and the type. */
function textOf(message: Uint8Array): string {
  return Buffer.from(message.subarray(0, 200)).toString();
}
