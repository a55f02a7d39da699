import { parseDeviceId } from '../../core/devices/device-names.ts';
import type { Json, JsonObject } from '../../core/json.ts';
import type {
  AutomationEndedTrigger,
  DecisionTrigger,
  DeviceEventTrigger,
  HubStartTrigger,
  PresenceTrigger,
  ReachabilityTrigger,
  SceneTrigger,
  WebhookTrigger,
} from '../plan/trigger-schema.ts';
import { type Delivery, MAX_REPORT_AGE_MS, Watch } from './watch.ts';

/** Fires when a device sends the event. An event that is more than a minute old does not count. */
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

/** Fires when a device becomes unreachable or reachable. The first state after the start of the hub is not a change. */
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

/** Fires when a person has approved or denied a call of an agent. An approval that needs further persons does not count yet. */
export class DecisionWatch extends Watch<DecisionTrigger> {
  override start(): void {
    this.cancel = this.ports.index.onAny('approval.decided', ({ subject, data }) => this.#onDecision(subject, data));
  }

  #onDecision(approvalId: string, { state, agent_id: agent }: JsonObject): void {
    const { trigger } = this;
    if (state !== trigger.decision || (trigger.agent_id !== undefined && agent !== trigger.agent_id)) return;
    this.fire({ agent_id: agent ?? null, decision: state, approval_id: approvalId });
  }
}

/** Fires when a scene was run, by whomever. */
export class SceneWatch extends Watch<SceneTrigger> {
  override start(): void {
    const { scene_id } = this.trigger;
    this.cancel = this.ports.index.on('scene.run', scene_id, () => this.fire({ scene_id }));
  }
}

/** Fires when a run of another automation has ended. */
export class AutomationEndedWatch extends Watch<AutomationEndedTrigger> {
  #isRunning = false;

  override start(): void {
    this.cancel = this.ports.index.on('agent.changed', this.trigger.agent_id, ({ data }) => this.#onChange(data));
  }

  #onChange({ is_running: isRunning, last_outcome: outcome }: JsonObject): void {
    const hasEnded = this.#isRunning && isRunning === false;
    this.#isRunning = isRunning === true;
    const { agent_id, outcome: wanted } = this.trigger;
    if (!hasEnded || (wanted !== undefined && outcome !== wanted)) return;
    this.fire({ agent_id, outcome: outcome ?? null });
  }
}

/** Fires when a person comes home or leaves. Without a person, fires when the first one comes or the last one leaves. */
export class PresenceWatch extends Watch<PresenceTrigger> {
  override start(): void {
    this.cancel = this.ports.index.on('house.changed', 'presence', ({ data }) => this.#onPresence(data));
  }

  #onPresence({ person, presence, before }: JsonObject): void {
    const { trigger } = this;
    if (typeof person !== 'string' || before === null || presence === before || presence !== trigger.becomes) return;
    if (trigger.person === undefined ? !this.#areOthersAway(person) : trigger.person !== person) return;
    this.fire({ person, presence }, () => this.ports.house.presenceOf(person) === presence);
  }

  #areOthersAway(person: string): boolean {
    const { house } = this.ports;
    return house.persons().every((other) => other === person || house.presenceOf(other) !== 'home');
  }
}

/** Fires after a start of the hub. */
export class HubStartWatch extends Watch<HubStartTrigger> {
  override start(): void {
    // The automation delivers the start.
  }

  override deliver({ type }: Delivery): boolean {
    if (type === 'hub_start') this.fire();
    return type === 'hub_start';
  }
}

/** Fires when somebody posts to the webhook. */
export class WebhookWatch extends Watch<WebhookTrigger> {
  override start(): void {
    // The automation delivers what was posted.
  }

  override deliver(delivery: Delivery): boolean {
    if (delivery.type !== 'webhook' || delivery.name !== this.trigger.name) return false;
    this.fire({ name: delivery.name, body: delivery.body });
    return true;
  }
}
