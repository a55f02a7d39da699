import { canonicalJson } from '../../src/codec/canonical-json.ts';
import { ASKED_MS, SimulatedClient } from './client.ts';
import { deviceTool } from './device-kinds.ts';
import type { Draw } from './draw.ts';
import { type AutomationHistory, CRON_MS, requireRun } from './invariants/automation-invariants.ts';
import type { SimulatedMachine } from './simulated-machine.ts';
import type { World } from './world.ts';

/** Mean time between two changes of an automation, in milliseconds. */
const CHANGED_EVERY_MS = 25 * 60_000;
/** A run that is due is looked for after this time, in milliseconds. */
const LOOKED_FOR_AFTER_MS = 60_000;

/** An automation of a hub, which feeds every five minutes, and its owner, who edits, disables, enables and ends it. */
export class SimulatedAutomation {
  readonly history: AutomationHistory;
  readonly #world: World;
  readonly #machine: SimulatedMachine;
  readonly #client: SimulatedClient;
  readonly #draw: Draw;
  #value = 0;

  constructor(world: World, machine: SimulatedMachine, seed: number) {
    this.#world = world;
    this.#machine = machine;
    const agent = `feeds-${machine.name}`;
    this.history = { machine: machine.name, agent, versions: [], pauses: [], runs: new Map(), isUnsure: false, changedMs: 0 };
    this.#client = new SimulatedClient(world.queue, { name: `owner of ${agent}`, seed });
    this.#draw = this.#client.draw;
    world.ledger.automations.set(`${machine.name} ${agent}`, this.history);
  }

  start(): void {
    this.#client.process.run(() => {
      void this.#change();
      void this.#look();
    });
  }

  /** Makes the automation, then changes it until the world ends. */
  async #change(): Promise<void> {
    while (!(await this.#spawn())) await this.#client.pause(ASKED_MS);
    for (;;) {
      await this.#client.pause(this.#draw.pause(this.#world.paced(CHANGED_EVERY_MS)));
      if (this.#world.isEnding) return;
      await this.#draw.pick([() => this.#edit(), () => this.#rest()])();
    }
  }

  async #spawn(): Promise<boolean> {
    const { agent, versions } = this.history;
    const params = this.#newParams();
    versions.push({ params });
    const permissions = ['feeder:use'];
    const spawned = { agent_type: 'automation', name: agent, config: this.#config(params), permissions };
    return await this.#call('spawn_agent', spawned);
  }

  async #edit(): Promise<void> {
    const { agent, versions } = this.history;
    const before = versions.filter(({ endedMs }) => endedMs === undefined);
    const params = this.#newParams();
    versions.push({ params });
    if (!(await this.#call('edit_automation', { agent_id: agent, config: this.#config(params) }))) return;
    for (const version of before) version.endedMs = this.#world.queue.nowMs;
  }

  /** Disables the automation, and enables it again later. */
  async #rest(): Promise<void> {
    const { agent, pauses } = this.history;
    if (!(await this.#call('set_agent_enabled', { agent_id: agent, enabled: false }))) return;
    const pause: AutomationHistory['pauses'][number] = { fromMs: this.#world.queue.nowMs };
    pauses.push(pause);
    await this.#client.pause(this.#draw.pause(this.#world.paced(CHANGED_EVERY_MS)));
    // It may run from the moment at which the call is made, since the answer may be lost.
    pause.untilMs = this.#world.queue.nowMs;
    while (!(await this.#call('set_agent_enabled', { agent_id: agent, enabled: true }))) await this.#client.pause(ASKED_MS);
  }

  /** Looks after each due time whether the automation has run, also while all heals and nobody changes it any more. */
  async #look(): Promise<void> {
    for (;;) {
      const { process } = this.#machine;
      const isRight = process.clockErrorMs === 0;
      const untilDueMs = CRON_MS - (process.wallMs() % CRON_MS);
      const [dueMs, wallMs] = [this.#world.queue.nowMs + untilDueMs, Math.round(process.wallMs() + untilDueMs)];
      await this.#client.pause(untilDueMs + LOOKED_FOR_AFTER_MS);
      if (isRight && process === this.#machine.process)
        this.#world.guard(() => requireRun(this.history, { dueMs, wallMs, calmSinceMs: this.#machine.calmSinceMs }));
    }
  }

  async #call(tool: string, params: object): Promise<boolean> {
    const { history } = this;
    history.changedMs = Number.POSITIVE_INFINITY;
    this.#world.note(this.#client.process.name, `${tool} ${canonicalJson(params as never)}`);
    const answer = await this.#client.ask(this.#machine, { path: `/api/v1/tools/${tool}/invoke`, body: params });
    this.#world.note(this.#client.process.name, `${tool}: ${answer?.status ?? 'no answer'} ${answer?.error?.message ?? ''}`);
    history.changedMs = this.#world.queue.nowMs;
    return answer?.status === 'success';
  }

  /** Parameters that no version had before. */
  #newParams(): string {
    this.#value += 1;
    return canonicalJson({ value: 1_000_000 + this.#value });
  }

  #config(params: string): object {
    const tool = deviceTool('feeder', this.#machine.name);
    return {
      trigger: { type: 'time', cron: '*/5 * * * *', time_zone: 'UTC' },
      actions: [{ tool, params: JSON.parse(params), on_error: 'continue' }],
    };
  }
}
