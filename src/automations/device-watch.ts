import { isoTime } from '../core/clock.ts';
import { parseDeviceId } from '../core/ids.ts';
import type { Json, JsonObject } from '../core/json.ts';
import type { DeviceEventTrigger, ReachabilityTrigger, Trigger } from './automation-config.ts';
import { type Fire, MAX_REPORT_AGE_MS, type Watch, type WatchPorts } from './trigger-watch.ts';

/** Fires when a device sends the event; one that it repeats from the past does not count. */
export class DeviceEventWatch implements Watch {
  readonly #ports: WatchPorts;
  readonly #trigger: DeviceEventTrigger;
  readonly #fire: Fire;
  #stop: (() => void) | undefined;

  constructor(ports: WatchPorts, trigger: DeviceEventTrigger, fire: Fire) {
    this.#ports = ports;
    this.#trigger = trigger;
    this.#fire = fire;
  }

  start(): void {
    this.#stop = this.#ports.index.on('device.event', this.#trigger.device_id, ({ data }) => this.#take(data));
  }

  /** Device and event are written out in the configuration and never change. */
  update(): void {}

  stop(): void {
    this.#stop?.();
  }

  #take({ event, cluster, data, at_ms: atMs }: JsonObject): void {
    const trigger = this.#trigger;
    const { clock } = this.#ports;
    if (event !== trigger.event || (trigger.cluster !== undefined && cluster !== trigger.cluster)) return;
    if (typeof atMs === 'number' && clock.now() - atMs > MAX_REPORT_AGE_MS) return;
    const facts = { type: trigger.type, device_id: trigger.device_id, event, cluster: cluster ?? null, data: data ?? null };
    this.#fire({ trigger, facts: { ...facts, at: isoTime(clock.now()) }, atMs: clock.monotonic(), holds: () => true });
  }
}

/** Fires when a device is lost or back. What a start of the hub finds is where it begins, not a change. */
export class ReachabilityWatch implements Watch {
  readonly #ports: WatchPorts;
  readonly #fire: Fire;
  #trigger: ReachabilityTrigger;
  #known: Json | undefined;
  #stop: (() => void) | undefined;

  constructor(ports: WatchPorts, trigger: ReachabilityTrigger, fire: Fire) {
    this.#ports = ports;
    this.#trigger = trigger;
    this.#fire = fire;
  }

  start(): void {
    const { index, devices } = this.#ports;
    this.#know(devices.get(parseDeviceId(this.#trigger.device_id))?.reachability);
    this.#stop = index.on('device.reachability', this.#trigger.device_id, ({ data }) => this.#take(data.reachability));
  }

  update(trigger: Trigger): void {
    if (trigger.type === 'reachability') this.#trigger = trigger;
  }

  stop(): void {
    this.#stop?.();
  }

  #take(reachability: Json | undefined): void {
    const before = this.#known;
    this.#know(reachability);
    if (before === undefined || before === this.#known || this.#known !== this.#trigger.becomes) return;
    const { clock } = this.#ports;
    const facts = { type: 'reachability', at: isoTime(clock.now()), device_id: this.#trigger.device_id, reachability: this.#known };
    this.#fire({ trigger: this.#trigger, facts, atMs: clock.monotonic(), holds: () => this.#known === this.#trigger.becomes });
  }

  #know(reachability: Json | undefined): void {
    if (reachability === 'reachable' || reachability === 'unreachable') this.#known = reachability;
  }
}
