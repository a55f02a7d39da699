import type { DeviceAttention } from '../core/devices/device-attention.ts';
import type { EventBus } from '../core/events.ts';
import type { JsonObject } from '../core/json.ts';
import type { Service } from '../core/lifecycle.ts';
import { type AgentRecord, isLiving } from './agent-store.ts';
import type { AgentQueries, CheckPorts } from './automation-ports.ts';
import { devicesOf, stepsOf } from './check/acts.ts';

interface Changing {
  /** Calls `listener` after each change; the returned function unsubscribes. */
  onChange(listener: () => void): () => void;
}

interface UsedDevicesParts {
  readonly agents: Pick<AgentQueries, 'records' | 'planOf'>;
  readonly check: CheckPorts;
  readonly events: Pick<EventBus, 'listen'>;
  readonly scenes: Changing;
  /** The names of rooms and floors, and the aliases of rooms and devices. */
  readonly names: Changing;
  readonly attention: Pick<DeviceAttention, 'noteUse'>;
}

/** Changes that come together, such as those of a bridge with all its devices, are taken in at once after this time in milliseconds. */
const SETTLE_MS = 1_000;
/** What steps act on is also found out again after this time, since the groups of other hubs change without an event. */
const RENEWED_MS = 3_600_000;
/** What may begin with a letter or a digit and be an id in the text of an automation. */
const MAYBE_ID = /[a-z0-9][a-z0-9_-]*/g;

/**
 * Knows which devices the automations use: those that they name by id or by a sensor, and those on which their steps act, be it by room, type,
 * name or scene. It finds that out once after each change, since it is asked for each device of a node at each answer of that node.
 */
export class UsedDevices implements Service {
  readonly #parts: UsedDevicesParts;
  /** A changed configuration is a new object. */
  readonly #named = new WeakMap<JsonObject, readonly string[]>();
  #acted = new WeakMap<JsonObject, readonly string[]>();
  #devices: ReadonlySet<string> = new Set();
  #cancel: (() => void) | undefined;
  #dueMs = Number.POSITIVE_INFINITY;
  readonly #stops: (() => void)[] = [];

  constructor(parts: UsedDevicesParts) {
    this.#parts = parts;
  }

  async start(): Promise<void> {
    const { events, scenes, names } = this.#parts;
    const changed = () => this.#renewWithin(SETTLE_MS);
    const forget = () => {
      this.#acted = new WeakMap();
      changed();
    };
    this.#stops.push(
      events.listen(changed, ['agent.changed']),
      events.listen(forget, ['device.added', 'device.changed', 'device.removed', 'agi.tool.created', 'agi.tool.removed']),
      scenes.onChange(forget),
      names.onChange(forget),
    );
    this.#renew();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const stop of this.#stops.splice(0)) stop();
    this.#cancel?.();
  }

  has(device: string): boolean {
    return this.#devices.has(device);
  }

  #renewWithin(ms: number): void {
    const { clock } = this.#parts.check;
    const dueMs = clock.monotonic() + ms;
    if (dueMs >= this.#dueMs) return;
    this.#cancel?.();
    this.#dueMs = dueMs;
    this.#cancel = clock.after(ms, () => {
      if (ms === RENEWED_MS) this.#acted = new WeakMap();
      this.#renew();
    });
  }

  #renew(): void {
    const before = this.#devices;
    const running = this.#parts.agents.records().filter((record) => record.type === 'automation' && isLiving(record) && !record.disabled);
    this.#devices = new Set(running.flatMap((record) => [...this.#namedBy(record), ...this.#actedOnBy(record)]));
    this.#dueMs = Number.POSITIVE_INFINITY;
    this.#renewWithin(RENEWED_MS);
    if (!this.#devices.isSubsetOf(before)) this.#parts.attention.noteUse();
  }

  #namedBy({ config }: AgentRecord): readonly string[] {
    const named = this.#named.get(config) ?? [...new Set(JSON.stringify(config).match(MAYBE_ID))];
    this.#named.set(config, named);
    return named;
  }

  #actedOnBy(record: AgentRecord): readonly string[] {
    const { config, id, permissions } = record;
    const known = this.#acted.get(config);
    if (known) return known;
    const plan = this.#parts.agents.planOf(record);
    const acted = plan ? stepsOf(plan, { id, kind: 'agent', permissions }, this.#parts.check).flatMap(devicesOf) : [];
    this.#acted.set(config, acted);
    return acted;
  }
}
