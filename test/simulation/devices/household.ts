import type { OpenMatter } from '../../../src/hub/infrastructure.ts';
import { SimulatedClient } from '../client.ts';
import { Draw } from '../draw.ts';
import { checkBrightness, checkCommand, checkUndo, type LampCall, type Undo } from '../invariants/lamp-invariants.ts';
import type { SimulatedAnswer, SimulatedMachine } from '../simulated-machine.ts';
import { SimulatedProcess } from '../simulated-process.ts';
import type { World } from '../world.ts';
import { type LampMood, SimulatedDeviceSource } from './simulated-device-source.ts';
import { type LampCommand, SimulatedLamp } from './simulated-lamp.ts';

/** The lamps of a machine, which outlive its hub. */
export class LampsOfMachine {
  readonly lamps: readonly SimulatedLamp[];
  readonly process: SimulatedProcess;
  /** Called with each command that the hub sends to a lamp. */
  onCommand: ((command: LampCommand) => void) | undefined;
  readonly #world: World;
  readonly #draw: Draw;

  constructor(world: World, machine: string, seed: number) {
    this.#world = world;
    this.process = new SimulatedProcess(world.queue, { name: `lamps of ${machine}`, seed });
    this.#draw = new Draw(this.process.random);
    this.lamps = ['desk', 'hall'].map((place) => new SimulatedLamp(`${place}-lamp-${machine}`, () => world.queue.nowMs));
  }

  /** Stands for Matter in the hub of a process. */
  openMatter(hub: SimulatedProcess): OpenMatter {
    const within = (owner: SimulatedProcess) => (delayMs: number, work: () => void) =>
      void this.#world.queue.schedule({ dueMs: this.#world.queue.nowMs + delayMs, owner, kind: 'lamp' }, () => owner.run(work));
    return async ({ clock }) =>
      new SimulatedDeviceSource({
        clock,
        lamps: this.lamps,
        mood: () => this.#mood(),
        toLamp: within(this.process),
        toHub: within(hub),
        onCommand: (command) => this.#sent(hub, command),
      });
  }

  #sent({ name: hub }: SimulatedProcess, command: LampCommand): void {
    this.#world.note(hub, `sends ${command.device} ${command.name} ${JSON.stringify(command.fields)}`);
    this.onCommand?.(command);
  }

  #mood(): LampMood {
    const draw = this.#draw;
    return { travelMs: draw.chance(0.1) ? draw.pause(300) : draw.between(2, 15), isLost: draw.chance(0.02), isSilent: draw.chance(0.02) };
  }
}

const BETWEEN_CALLS_MS = 120_000;
const BETWEEN_HANDS_MS = 600_000;
const BETWEEN_POWER_CUTS_MS = 3_600_000;
const UNPLUGGED_MS = 120_000;
const TIMEOUT_MS = 20_000;
/** Calls that people may still want to undo. */
const REMEMBERED_CALLS = 4;
/** Calls and undos for which a command may come, also too late. */
const WATCHED_CALLS = 20;

/** The people of a home, who dim its lamps with their hub and by hand, and undo what they did. */
export class SimulatedHousehold {
  readonly #world: World;
  readonly #machine: SimulatedMachine;
  readonly #home: LampsOfMachine;
  readonly #client: SimulatedClient;
  readonly #draw: Draw;
  readonly #calls: LampCall[] = [];
  readonly #asked: (LampCall | Undo)[] = [];

  constructor(world: World, machine: SimulatedMachine, { home, seed }: { readonly home: LampsOfMachine; readonly seed: number }) {
    this.#world = world;
    this.#machine = machine;
    this.#home = home;
    this.#client = new SimulatedClient(world.queue, { name: `household of ${machine.name}`, seed });
    this.#draw = this.#client.draw;
  }

  start(): void {
    this.#home.onCommand = (command) => this.#world.guard(() => checkCommand({ command, atMs: this.#world.queue.nowMs }, this.#asked));
    this.#client.process.run(() => {
      void this.#useHub();
      void this.#useHands();
      void this.#cutPower();
    });
  }

  async #useHub(): Promise<void> {
    for (;;) {
      await this.#client.pause(this.#draw.pause(this.#world.paced(BETWEEN_CALLS_MS)));
      if (this.#world.isEnding || !this.#machine.isRunning) continue;
      const before = this.#calls.length > 0 && this.#draw.chance(0.35) ? this.#draw.pick(this.#calls) : undefined;
      if (before) await this.#undo(before);
      else await this.#dim(this.#draw.pick(this.#home.lamps));
    }
  }

  async #useHands(): Promise<void> {
    for (;;) {
      await this.#client.pause(this.#draw.pause(this.#world.paced(BETWEEN_HANDS_MS)));
      const lamp = this.#draw.pick(this.#home.lamps);
      if (!lamp.isPowered) continue;
      this.#note(`turns ${lamp.device.id} by hand`);
      lamp.turn({ 'OnOff/OnOff': true, 'LevelControl/CurrentLevel': 1 + this.#draw.index(254) });
    }
  }

  async #cutPower(): Promise<void> {
    for (;;) {
      await this.#client.pause(this.#draw.pause(this.#world.paced(BETWEEN_POWER_CUTS_MS)));
      const lamp = this.#draw.pick(this.#home.lamps);
      this.#note(`unplugs ${lamp.device.id}`);
      lamp.power(false);
      await this.#client.pause(this.#draw.pause(this.#world.paced(UNPLUGGED_MS)));
      lamp.power(true);
    }
  }

  /** Sets the brightness of a lamp, to a value that no call of the last minutes had. */
  async #dim(lamp: SimulatedLamp): Promise<void> {
    const used = new Set(this.#calls.map(({ percent }) => percent));
    let percent = 1 + this.#draw.index(100);
    while (used.has(percent)) percent = 1 + this.#draw.index(100);
    const call: LampCall = { lamp, percent, trace: this.#draw.hex(16), timeoutMs: TIMEOUT_MS, sent: new Set() };
    this.#calls.push(call);
    if (this.#calls.length > REMEMBERED_CALLS) this.#calls.shift();
    const tool = `matter:${lamp.device.id.replaceAll('-', '_')}_set_brightness`;
    const answer = await this.#ask(call, tool, { brightness: percent });
    call.answer = answer?.body;
    call.answeredMs = this.#world.queue.nowMs;
    this.#world.guard(() => checkBrightness(call));
  }

  async #undo(call: LampCall): Promise<void> {
    const undo: Undo = { call, trace: this.#draw.hex(16), timeoutMs: TIMEOUT_MS, sent: new Set() };
    const answer = await this.#ask(undo, 'hub:undo', { trace_id: call.trace });
    undo.answer = answer?.body;
    undo.answeredMs = this.#world.queue.nowMs;
    this.#world.guard(() => checkUndo(undo));
  }

  /** Calls a tool, and notes when the hub has the call. */
  async #ask(call: LampCall | Undo, tool: string, params: object): Promise<SimulatedAnswer | undefined> {
    this.#asked.push(call);
    if (this.#asked.length > WATCHED_CALLS) this.#asked.shift();
    this.#note(`calls ${tool} ${JSON.stringify(params)}, trace ${call.trace}`);
    const answer = await this.#client.send(this.#machine, {
      path: `/api/v1/tools/${encodeURIComponent(tool)}/invoke`,
      token: this.#machine.ownerToken,
      body: params,
      headers: { traceparent: `00-${call.trace}-${this.#draw.hex(8)}-01`, 'x-timeout-ms': String(call.timeoutMs) },
      timeoutMs: call.timeoutMs,
      onArrival: () => {
        call.arrivedMs = this.#world.queue.nowMs;
      },
    });
    this.#note(`gets ${JSON.stringify(answer?.body ?? 'nothing')} for trace ${call.trace}`);
    return answer;
  }

  #note(what: string): void {
    this.#world.note(this.#client.process.name, what);
  }
}
