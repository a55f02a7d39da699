import { ASKED_MS, SimulatedClient } from './client.ts';
import type { Draw } from './draw.ts';
import type { Absence, SentMessage } from './invariants/notice-invariants.ts';
import type { SimulatedMachine } from './simulated-machine.ts';
import type { World } from './world.ts';

/** Mean time between two messages, in milliseconds. A hub takes twelve of one agent within an hour. */
const MESSAGE_EVERY_MS = 6 * 60_000;
/** Share of its turns in which a person is removed. */
const REMOVED = 0.15;
const PERMISSIONS = ['notice:send:owner', 'notice:send:anna', 'notice:send:household'];
/** To whom a message may be sent, and who gets it then. */
const AUDIENCES: Readonly<Record<string, readonly string[]>> = { owner: ['owner'], anna: ['anna'], household: ['owner', 'anna'] };

/** Errors which say that an earlier try, whose answer was lost, has done it. */
const DONE_BEFORE = new Set(['CONFLICT', 'NOT_FOUND']);

/** An agent that sends messages to the people of a household: to its owner, to Anna who is an adult of it, and to both. */
export class SimulatedMessenger {
  readonly #world: World;
  readonly #machine: SimulatedMachine;
  readonly #client: SimulatedClient;
  readonly #draw: Draw;
  #sent = 0;

  constructor(world: World, machine: SimulatedMachine, seed: number) {
    this.#world = world;
    this.#machine = machine;
    this.#client = new SimulatedClient(world.queue, { name: `messenger-${machine.name}`, seed });
    this.#draw = this.#client.draw;
  }

  start(): void {
    this.#client.process.run(() => void this.#live());
  }

  async #live(): Promise<void> {
    await this.#add();
    const asked = { agent_id: this.#client.process.name, permissions: PERMISSIONS, ttl_seconds: 7 * 86_400 };
    const { token } = await this.#untilDone('mint_token', asked);
    for (;;) {
      await this.#client.pause(this.#draw.pause(this.#world.paced(MESSAGE_EVERY_MS)));
      if (this.#world.isEnding) return;
      if (this.#draw.chance(REMOVED)) await this.#removeForAWhile();
      else await this.#send(token);
    }
  }

  async #add(): Promise<void> {
    await this.#untilDone('add_person', { name: 'anna', title: 'Anna', role: 'adult' });
  }

  /** Anna leaves the household, and comes back later. */
  async #removeForAWhile(): Promise<void> {
    const { told, queue, ledger } = this.#world;
    const absence: Absence = { machine: this.#machine.name, person: 'anna', begunMs: queue.nowMs };
    told.absences.push(absence);
    // What lets a key of hers approve is over by then.
    await this.#client.pause(2 * ASKED_MS);
    await this.#untilDone('remove_person', { name: 'anna' });
    this.#world.note(this.#client.process.name, 'has removed anna');
    absence.fromMs = queue.nowMs;
    ledger.endApprovals({ machine: this.#machine.name, person: 'anna', endedMs: queue.nowMs });
    told.approvers.delete(`${this.#machine.name} anna`);
    await this.#client.pause(this.#draw.pause(this.#world.paced(MESSAGE_EVERY_MS)));
    absence.untilMs = queue.nowMs;
    await this.#add();
  }

  /** The result of a call of the owner, who repeats it until it succeeds or was done before. */
  async #untilDone(tool: string, params: object): Promise<ReturnType<typeof JSON.parse>> {
    for (;;) {
      const answer = await this.#client.ask(this.#machine, { path: `/api/v1/tools/${tool}/invoke`, body: params });
      if (answer?.status === 'success' || DONE_BEFORE.has(answer?.error?.code)) return answer.result;
      await this.#client.pause(ASKED_MS);
    }
  }

  async #send(token: string): Promise<void> {
    const { name } = this.#machine;
    const [person, persons] = this.#draw.pick(Object.entries(AUDIENCES));
    this.#sent += 1;
    const text = `Message ${this.#sent} of ${name}`;
    const message: SentMessage = { machine: name, text, persons };
    this.#world.told.messages.set(text, message);
    const body = { message: text, person, urgency: this.#draw.pick(['low', 'medium', 'high']) };
    const answer = await this.#client.ask(this.#machine, { path: '/api/v1/tools/send_notice/invoke', body, token });
    this.#world.note(this.#client.process.name, `sends “${text}” to ${person}: ${answer?.status} ${answer?.error?.message ?? ''}`);
    if (answer?.status === 'success') message.sentMs ??= this.#world.queue.nowMs;
  }
}
