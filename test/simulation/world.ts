import { crc32 } from 'node:zlib';
import { AtmoError, type ErrorCode } from '../../src/core/errors.ts';
import type { JsonObject } from '../../src/core/json.ts';
import type { Logger } from '../../src/core/logger.ts';
import { seededRandom } from '../seeded-random.ts';
import { AGENT_MANNERS, SimulatedAgent } from './agents.ts';
import { SimulatedAdult } from './approvers.ts';
import { SimulatedAutomation } from './automations.ts';
import { BrokenInvariant } from './broken-invariant.ts';
import type { Damage } from './damage.ts';
import { deviceTool, GUARDED } from './device-kinds.ts';
import { LampsOfMachine, SimulatedHousehold } from './devices/household.ts';
import { Draw } from './draw.ts';
import { EventQueue } from './event-queue.ts';
import { breakThings } from './faults.ts';
import { checkAudit } from './invariants/audit-invariants.ts';
import { checkAutomationCall, forgetChanges } from './invariants/automation-invariants.ts';
import { EFFECT_INVARIANTS } from './invariants/effect-invariants.ts';
import { checkGrowth, checkIdle, watchCalls } from './invariants/growth-invariants.ts';
import { checkMesh, checkReadable } from './invariants/mesh-invariants.ts';
import { ToldNotices } from './invariants/notice-invariants.ts';
import { checkProposedCall, forgetEnds } from './invariants/proposal-invariants.ts';
import { type Effect, Ledger } from './ledger.ts';
import { SimulatedListener } from './listeners.ts';
import { SimulatedMaker } from './makers.ts';
import { SimulatedMessenger } from './messengers.ts';
import { NotificationProvider } from './notification-provider.ts';
import { installOlderMembers } from './older-member.ts';
import { SimulatedOwner } from './people.ts';
import { countPipelineCalls, type PipelineCalls, pipelineCalls } from './pipeline-calls.ts';
import { SimulatedProposer } from './proposers.ts';
import { changeRules, rulesText } from './rules.ts';
import { type DeviceMood, deviceTools } from './simulated-devices.ts';
import { SimulatedMachine } from './simulated-machine.ts';
import { SimulatedNetwork } from './simulated-network.ts';
import { SimulatedProcess } from './simulated-process.ts';
import { Trace } from './trace.ts';
import type { ShownPlan } from './world-plan.ts';

export interface WorldPlan extends ShownPlan {
  /** Folder for the disks of all machines, preferably in memory. */
  readonly folder: string;
  /** File for all lines of the trace. */
  readonly traceFile?: string;
}

/** What a world was like. */
export interface WorldFigures {
  readonly hash: string;
  readonly events: number;
  readonly attempts: number;
  readonly effects: number;
  readonly outcomes: Readonly<Record<string, number>>;
  /** All calls that the pipelines of the hubs took, with those of `attempts`. */
  readonly pipelineCalls: PipelineCalls;
}

const PASSPHRASE = 'correct horse battery staple';
const AGENTS_OF_A_HUB = 3;
/** Share of the worlds in which the last hub is an older member of the mesh, until it is upgraded. */
const OLDER_SHARE = 0.3;
const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;
/** Longest time of what must succeed, such as a start of a hub. */
const PATIENCE_MS = 600_000;
/** After the last fault, everything has to be well again within this time. */
const HEALING_MS = 900_000;

/** Several hubs, their devices, their people and agents, the network between them, and what goes wrong: all from one seed. */
export class World {
  readonly queue: EventQueue;
  readonly network: SimulatedNetwork;
  readonly ledger = new Ledger();
  readonly told = new ToldNotices();
  readonly provider: NotificationProvider;
  readonly machines: readonly SimulatedMachine[];
  readonly trace: Trace;
  /** Names of what can be left out, and was there. */
  readonly parts = new Set<string>();
  /** After this, people and agents begin nothing new. */
  isEnding = false;
  /** The first invariant that did not hold. */
  broken: BrokenInvariant | undefined;
  readonly #plan: WorldPlan;
  /** Runs what belongs to the world itself, such as faults. */
  readonly #process: SimulatedProcess;
  readonly #draw: Draw;
  readonly #homes = new Map<string, LampsOfMachine>();
  #effectListeners: { readonly name: string; readonly resolve: () => void }[] = [];
  #faults = 0;
  #calmSinceMs: number | undefined = 0;

  constructor(plan: WorldPlan) {
    this.#plan = plan;
    this.trace = new Trace(plan.traceFile);
    this.queue = new EventQueue(({ dueMs, owner, kind }) => this.trace.event(dueMs, owner.name, kind));
    this.#process = new SimulatedProcess(this.queue, { name: 'world', seed: this.#seedOf('world') });
    this.#draw = new Draw(this.#process.random);
    this.network = new SimulatedNetwork({
      queue: this.queue,
      random: this.#process.random,
      onMessage: (message) => this.trace.message(this.queue.nowMs, message),
      onFrameToOlder: (to, bytes) => this.guard(() => checkReadable(to, bytes)),
    });
    this.provider = new NotificationProvider({
      process: this.#process,
      draw: this.#drawFor('messages'),
      told: this.told,
      nowMs: () => this.queue.nowMs,
      note: (what) => this.note('messages', what),
      guard: (check) => this.guard(check),
    });
    this.machines = Array.from({ length: plan.hubs }, (_, index) => this.#machine(`hub-${index}`));
    installOlderMembers();
    watchCalls();
    countPipelineCalls();
    const older = this.machines.slice(1).at(-1);
    const isMixed = this.#drawFor('older member').chance(OLDER_SHARE);
    if (older && isMixed && this.has(`older-${older.name}`)) older.olderUntilMs = Number.POSITIVE_INFINITY;
  }

  /** Lives for the hours of the plan, then heals and checks everything. Throws BrokenInvariant. */
  async run(): Promise<WorldFigures> {
    await this.#until(this.#form(), PATIENCE_MS);
    this.#populate();
    await this.#advance(this.#plan.hours * HOUR_MS);
    this.isEnding = true;
    // The last fault may go on for a while, and healing begins after it.
    while (this.#faults > 0) await this.#advance(MINUTE_MS);
    await this.#advance(HEALING_MS);
    await this.#until(this.#checkAll(), PATIENCE_MS);
    return this.#figures();
  }

  /** Since when all hubs run and reach each other, milliseconds of the world; undefined while a fault lasts. */
  get calmSinceMs(): number | undefined {
    return this.#calmSinceMs;
  }

  note(who: string, what: string): void {
    this.trace.line({ atMs: this.queue.nowMs, who, what: what.replaceAll(this.#plan.folder, '/disk') });
  }

  /** Mean time between two deeds of a person or an agent, which is this time at home, in milliseconds. */
  paced(ms: number): number {
    return ms / this.#plan.pace;
  }

  /** Waits for the time of a fault that lasts. Where faults come more often, they are shorter, so that there is calm between them. */
  lasts(ms: number): Promise<void> {
    return this.pause(ms / this.#plan.faults);
  }

  /** Returns whether something of this name, such as an agent or a fault, is in this world. */
  has(name: string): boolean {
    const { only } = this.#plan;
    const isThere = only === undefined || only.includes(name);
    if (isThere) this.parts.add(name);
    return isThere;
  }

  pause(ms: number): Promise<void> {
    return new Promise((resolve) => this.#process.after(ms, resolve, 'pause'));
  }

  /** Resolves when a device of the machine has done something. */
  nextEffect({ name }: SimulatedMachine): Promise<void> {
    return new Promise((resolve) => this.#effectListeners.push({ name, resolve }));
  }

  /** Runs something that disturbs the world, and a machine most of all. */
  async during(machine: SimulatedMachine, fault: () => Promise<void>): Promise<void> {
    this.#faults += 1;
    this.#calmSinceMs = undefined;
    machine.calmSinceMs = Number.POSITIVE_INFINITY;
    try {
      await fault();
    } finally {
      this.#faults -= 1;
      machine.calmSinceMs = this.queue.nowMs;
      if (this.#faults === 0) this.#calmSinceMs = this.queue.nowMs;
    }
  }

  /** Starts a machine that is down. It must come up, whatever happened to it. */
  async startMachine(machine: SimulatedMachine): Promise<void> {
    try {
      await machine.start();
    } catch (error) {
      this.fail(startFailure(machine, error));
    }
  }

  /** Stops a hub. It must not fail, whatever its disk refuses. */
  async stopMachine(machine: SimulatedMachine): Promise<void> {
    try {
      await machine.stop();
    } catch (error) {
      this.fail(new BrokenInvariant('a hub stops', `${machine.name} does not: ${String(error)}`, [machine.name]));
      machine.kill();
    }
  }

  /** Starts a machine that may refuse to start because of what was done to its disk. Returns whether it runs. */
  async tryMachine(machine: SimulatedMachine, code: ErrorCode = 'STORAGE_FAILED'): Promise<boolean> {
    try {
      await machine.start();
      return true;
    } catch (error) {
      if (!(error instanceof AtmoError && error.code === code)) this.fail(startFailure(machine, error));
      this.note(machine.name, `does not start: ${String(error)}`);
      machine.kill();
      return false;
    }
  }

  /** Files of a machine that is down were damaged. What may be lost with them (docs/backup.md) is not held against the hub. */
  damaged(machine: SimulatedMachine, { what, files }: Damage): void {
    const { nowMs } = this.queue;
    const isAny = (form: RegExp) => files.some((name) => form.test(name));
    if (isAny(/^audit/)) machine.lostRowsMs = nowMs;
    if (isAny(/^state/)) {
      machine.lostStateMs = nowMs;
      this.ledger.forgetKeys(machine.name);
      for (const history of this.ledger.automationsOf(machine.name)) forgetChanges(history);
      forgetEnds(this.ledger.proposed.values(), machine.name);
      this.told.forget(machine.name);
      if (isAny(/^trust/)) this.#forgetTrust(machine);
    }
    this.note('fault', `${what}: ${machine.name}`);
  }

  #forgetTrust({ name }: SimulatedMachine): void {
    this.ledger.forgetTrust(name, this.queue.nowMs);
    this.told.forgetAbsences(name);
  }

  fail(broken: BrokenInvariant): void {
    this.broken ??= broken;
    this.note('invariant', broken.message);
  }

  /** Forms the mesh. */
  async #form(): Promise<void> {
    for (const machine of this.machines) await machine.start();
    const [founder, ...others] = this.machines;
    if (!founder || others.length === 0) return;
    await founder.asOwner('mesh_create', { passphrase: PASSPHRASE, name: 'home' });
    for (const machine of others) {
      const { invite } = await founder.asOwner('mesh_invite');
      await machine.asOwner('mesh_join', { invite });
    }
  }

  #populate(): void {
    for (const machine of this.machines) this.#populateMachine(machine);
    const { faults: frequency, kinds, seed } = this.#plan;
    this.#process.run(() => void breakThings(this, { draw: this.#drawFor('faults'), frequency, seed, kinds }));
  }

  #populateMachine(machine: SimulatedMachine): void {
    const { name } = machine;
    const all = Array.from({ length: AGENTS_OF_A_HUB }, (_, index) => this.#agent(machine, index));
    const agents = all.filter((agent) => this.has(agent.plan.name));
    for (const agent of agents) agent.start();
    if (this.has(`owner-${name}`)) new SimulatedOwner(this, machine, { seed: this.#seedOf(`owner of ${name}`), agents }).start();
    if (this.has(`automation-${name}`)) new SimulatedAutomation(this, machine, this.#seedOf(`automation of ${name}`)).start();
    const home = this.#homes.get(name);
    if (home && this.has(`household-${name}`))
      new SimulatedHousehold(this, machine, { home, seed: this.#seedOf(`household of ${name}`) }).start();
    if (this.has(`listener-${name}`)) new SimulatedListener(this, machine, this.#seedOf(`listener of ${name}`)).start();
    if (this.has(`proposer-${name}`)) new SimulatedProposer(this, machine, this.#seedOf(`proposer of ${name}`)).start();
    if (this.has(`adult-${name}`)) new SimulatedAdult(this, machine, this.#seedOf(`adult of ${name}`)).start();
    if (this.has(`messenger-${name}`)) new SimulatedMessenger(this, machine, this.#seedOf(`messenger of ${name}`)).start();
    if (this.has(`maker-${name}`)) new SimulatedMaker(this, machine, this.#seedOf(`maker of ${name}`)).start();
    if (this.has(`rules-${name}`))
      this.#process.run(() => void changeRules(this, machine, { draw: this.#drawFor(`rules of ${name}`), always: this.#lockRules(name) }));
  }

  /** Draws of its own, which what is left out of the world does not shift. */
  #drawFor(name: string): Draw {
    return new Draw(seededRandom(this.#seedOf(name)));
  }

  #agent(home: SimulatedMachine, index: number): SimulatedAgent {
    const manner = AGENT_MANNERS[index % AGENT_MANNERS.length] ?? 'honest';
    const name = `${manner}-${index}-${home.name}`;
    return new SimulatedAgent(this, { name, seed: this.#seedOf(name), manner, home });
  }

  #machine(name: string): SimulatedMachine {
    const seed = this.#seedOf(name);
    const tools = deviceTools({
      machine: name,
      mood: () => this.#mood(),
      onCommand: (command) => this.#onCommand(command),
      onEffect: (effect) => this.#onEffect(effect),
    });
    const { queue, network, provider } = this;
    const logger = (machine: string) => this.#logger(machine);
    const home = new LampsOfMachine(this, name, this.#seedOf(`lamps of ${name}`));
    this.#homes.set(name, home);
    const openMatter = (process: SimulatedProcess) => home.openMatter(process);
    return new SimulatedMachine(
      { queue, network, logger, tools, provider, openMatter },
      { name, seed, folder: this.#plan.folder, rules: rulesText(this.#lockRules(name)) },
    );
  }

  /** The rules that a machine always has: at some, two persons have to approve each call of the lock. */
  #lockRules(name: string): readonly string[] {
    if (!this.#drawFor(`persons at ${name}`).chance(0.4) || !this.has(`two-persons-${name}`)) return [];
    this.ledger.twoPersons.add(name);
    return [`{ name: two persons, effect: approve, persons: 2, when: { tool: '${deviceTool(GUARDED, name)}' } }`];
  }

  #mood(): DeviceMood {
    const draw = this.#draw;
    return { answersAfterMs: draw.pause(300), isSilent: draw.chance(0.03), isOff: draw.chance(0.02) };
  }

  #onCommand(call: Omit<Effect, 'atMs'>): void {
    const proposed = this.ledger.proposed.get(`${call.machine} ${call.agent}`);
    if (proposed) this.guard(() => checkProposedCall(proposed, call, this.queue.nowMs));
    const history = this.ledger.automations.get(`${call.machine} ${call.agent}`);
    const machine = this.#machineOf(call.machine);
    if (!history || !machine) return;
    this.guard(() => checkAutomationCall(history, { call, nowMs: this.queue.nowMs, wallMs: machine.process.wallMs() }));
  }

  #onEffect(given: Omit<Effect, 'atMs'>): void {
    const effect = { ...given, atMs: this.queue.nowMs };
    const { ledger } = this;
    ledger.add(effect);
    for (const { name, resolve } of this.#effectListeners) if (name === effect.machine) resolve();
    this.#effectListeners = this.#effectListeners.filter(({ name }) => name !== effect.machine);
    this.note(effect.machine, `does ${effect.tool} ${effect.params} for trace ${effect.trace}`);
    const agent = `${effect.machine} ${effect.agent}`;
    if (ledger.automations.has(agent) || ledger.proposed.has(agent)) return;
    const attempt = ledger.attempts.get(effect.trace);
    if (!attempt) {
      this.fail(new BrokenInvariant('an effect has a call', `${effect.trace} has none`, [effect.trace]));
      return;
    }
    const wallMs = this.#machineOf(effect.machine)?.process.wallMs() ?? 0;
    const hubIdOf = (machine: string) => this.#machineOf(machine)?.hubId ?? '';
    const olderUntilMs = Math.max(...this.machines.map((machine) => machine.olderUntilMs));
    const facts = { ledger, effect, attempt, hubIdOf, wallMs, calmSinceMs: this.#calmSinceMs, olderUntilMs };
    this.guard(() => {
      for (const check of Object.values(EFFECT_INVARIANTS)) check(facts);
    });
  }

  #machineOf(wanted: string): SimulatedMachine | undefined {
    return this.machines.find(({ name }) => name === wanted);
  }

  /** Runs a check. What is broken ends the world. */
  guard(check: () => void): void {
    try {
      check();
    } catch (error) {
      if (!(error instanceof BrokenInvariant)) throw error;
      this.fail(error);
    }
  }

  async #checkAll(): Promise<void> {
    checkIdle(this.machines, this.queue);
    for (const machine of this.machines) {
      await checkAudit(machine, this.ledger);
      checkGrowth(machine, this.ledger, this.queue.nowMs);
    }
    this.told.requireAllTold();
    await checkMesh(this.machines);
  }

  async #advance(ms: number): Promise<void> {
    await this.queue.run(this.queue.nowMs + ms, () => this.broken !== undefined);
    if (this.broken) throw this.broken;
  }

  /** Lets the world go on until the work is done. Throws if it takes too long. */
  async #until<Result>(work: Promise<Result>, ms: number): Promise<Result> {
    let isDone = false;
    const done = () => {
      isDone = true;
    };
    work.then(done, done);
    await this.queue.run(this.queue.nowMs + ms, () => isDone);
    if (!isDone) throw new BrokenInvariant('what must succeed ends', `it has not ended after ${ms} ms`, []);
    return await work;
  }

  #figures(): WorldFigures {
    const { attempts, effects } = this.ledger;
    const outcomes: Record<string, number> = {};
    for (const { outcome = 'lost' } of attempts.values()) outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
    const counts = { events: this.queue.eventCount, attempts: attempts.size, effects: effects.length };
    return { hash: this.trace.end(), ...counts, outcomes, pipelineCalls: pipelineCalls() };
  }

  #logger(machine: string): Logger {
    const line = (level: string) => (event: string, fields?: JsonObject) =>
      this.note(machine, `${level} ${event}${fields ? ` ${JSON.stringify(fields)}` : ''}`);
    const logger: Logger = { debug: () => {}, info: line('info'), warn: line('warn'), error: line('error'), child: () => logger };
    return logger;
  }

  #seedOf(name: string): number {
    return crc32(`${this.#plan.seed} ${name}`);
  }
}

function startFailure({ name }: SimulatedMachine, error: unknown): BrokenInvariant {
  if (error instanceof BrokenInvariant) return error;
  return new BrokenInvariant('a hub starts', `${name} does not: ${String(error)}`, [name]);
}
