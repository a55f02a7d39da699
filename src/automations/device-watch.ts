import { parseDeviceId } from '../core/devices/device-names.ts';
import type { Json, JsonObject } from '../core/json.ts';
import type { DeviceEventTrigger, ReachabilityTrigger } from './automation-schema.ts';
import { MAX_REPORT_AGE_MS, Watch } from './trigger-watch.ts';

/** Fires when a device sends the event; one that it repeats from the past does not count. */
export class DeviceEventWatch extends Watch<DeviceEventTrigger> {
  override start(): void {
    this.cancel = this.ports.index.on('device.event', this.trigger.device_id, ({ data }) => this.#onEvent(data));
  }

  #onEvent({ event, cluster, data, at_ms: atMs }: JsonObject): void {
    const { trigger } = this;
    if (event !== trigger.event || (trigger.cluster !== undefined && cluster !== trigger.cluster)) return;
    if (typeof atMs === 'number' && this.ports.clock.now() - atMs > MAX_REPORT_AGE_MS) return;
    this.fire({ device_id: trigger.device_id, event, cluster: cluster ?? null, data: data ?? null });
  }
}

/** Fires when a device is lost or back. Its state at the start of the hub is no change. */
export class ReachabilityWatch extends Watch<ReachabilityTrigger> {
  #state: Json | undefined;

  override start(): void {
    const { index, devices } = this.ports;
    this.#setState(devices.get(parseDeviceId(this.trigger.device_id))?.reachability);
    this.cancel = index.on('device.reachability', this.trigger.device_id, ({ data }) => this.#onReachability(data.reachability));
  }

  #onReachability(reachability: Json | undefined): void {
    const before = this.#state;
    this.#setState(reachability);
    if (before === undefined || before === this.#state || this.#state !== this.trigger.becomes) return;
    this.fire({ device_id: this.trigger.device_id, reachability: this.#state }, () => this.#state === this.trigger.becomes);
  }

  #setState(reachability: Json | undefined): void {
    if (reachability === 'reachable' || reachability === 'unreachable') this.#state = reachability;
  }
}
