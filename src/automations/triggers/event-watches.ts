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
import { type Delivery, MAX_REPORT_AGE_MS, type Miss, Watch } from './watch.ts';

/** Fires when a device sends the event. An event that is more than a minute old does not count. */
export class DeviceEventWatch extends Watch<DeviceEventTrigger> {
  override start(): void {
    this.cancel = this.ports.index.on('device.event', this.trigger.device_id, ({ data }) => this.#onEvent(data));
  }

  #onEvent({ event, cluster, data, at_ms: atMs }: JsonObject): void {
    const { trigger } = this;
    if (event !== trigger.event || (trigger.cluster !== undefined && cluster !== trigger.cluster)) {
      this.miss('other_event', { event: event ?? null, cluster: cluster ?? null });
      return;
    }
    const ageMs = typeof atMs === 'number' ? this.ports.clock.now() - atMs : 0;
    if (ageMs > MAX_REPORT_AGE_MS) this.miss('event_too_old', { age_seconds: Math.round(ageMs / 1000) });
    else this.fire({ device_id: trigger.device_id, event, cluster: cluster ?? null, data: data ?? null });
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
    if (before === this.#state || this.#state !== this.trigger.becomes) return;
    if (before === undefined) this.miss('first_state', { reachability: this.#state });
    else this.fire({ device_id: this.trigger.device_id, reachability: this.#state }, () => this.#state === this.trigger.becomes);
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
    if (trigger.agent_id !== undefined && agent !== trigger.agent_id) return;
    if (state !== trigger.decision) this.#missOther(state);
    else this.fire({ agent_id: agent ?? null, decision: state, approval_id: approvalId });
  }

  #missOther(decision: Json | undefined): void {
    if (decision === 'approved' || decision === 'denied') this.miss('other_decision', { decision });
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
    this.#isRunning = this.ports.agents.get(this.trigger.agent_id)?.running !== undefined;
    this.cancel = this.ports.index.on('agent.changed', this.trigger.agent_id, ({ data }) => this.#onChange(data));
  }

  #onChange({ is_running: isRunning, last_outcome: outcome }: JsonObject): void {
    const hasEnded = this.#isRunning && isRunning === false;
    this.#isRunning = isRunning === true;
    const { agent_id, outcome: wanted } = this.trigger;
    if (!hasEnded) return;
    if (wanted !== undefined && outcome !== wanted) this.miss('other_outcome', { outcome: outcome ?? null });
    else this.fire({ agent_id, outcome: outcome ?? null });
  }
}

/** Fires when a person comes home or leaves. Without a person, fires when the first one comes or the last one leaves. */
export class PresenceWatch extends Watch<PresenceTrigger> {
  override start(): void {
    this.cancel = this.ports.index.on('house.changed', 'presence', ({ data }) => this.#onPresence(data));
  }

  #onPresence({ person, presence, before }: JsonObject): void {
    const { trigger } = this;
    if (typeof person !== 'string' || presence === undefined || presence === before || presence !== trigger.becomes) return;
    const cause = this.#reasonAgainst(person, before);
    if (cause) this.miss(cause, { person, presence });
    else this.fire({ person, presence }, () => this.ports.house.presenceOf(person) === presence);
  }

  #reasonAgainst(person: string, before: Json | undefined): Miss['cause'] | undefined {
    const wanted = this.trigger.person;
    if (wanted !== undefined && wanted !== person) return 'other_person';
    if (before === null) return 'first_state';
    return wanted === undefined && !this.#areOthersAway(person) ? 'others_home' : undefined;
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
    if (delivery.type !== 'webhook') return false;
    if (delivery.name !== this.trigger.name) {
      this.miss('other_webhook', { name: delivery.name });
      return false;
    }
    this.fire({ name: delivery.name, body: delivery.body });
    return true;
  }
}
