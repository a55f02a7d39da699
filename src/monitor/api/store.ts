import type { Connection } from './event-stream.ts';
import { type HomeState, NO_HOME, type Refresh, refreshAfter, waiting, withDevices, withEvent } from './home-state.ts';
import type { HubClient } from './hub-client.ts';
import { messageOf } from './hub-error.ts';
import type { ApprovalView, DeviceView, EventView } from './hub-types.ts';
import { Observable } from './observable.ts';

/** Hears every event, in order. */
export type EventHearer = (event: EventView) => void;

/** The home as the hub tells it: loaded once, then kept by the events. */
export class HomeStore extends Observable {
  readonly #hub: HubClient;
  readonly #hearers = new Set<EventHearer>();
  readonly #stale = new Set<Refresh>();
  #state: HomeState = NO_HOME;
  #connection: Connection = 'connecting';
  #isLoaded = false;
  #problem: string | undefined;
  #refreshing: Promise<void> | undefined;
  #hubProblems: readonly string[] = [];

  constructor(hub: HubClient) {
    super();
    this.#hub = hub;
  }

  get state(): HomeState {
    return this.#state;
  }

  get connection(): Connection {
    return this.#connection;
  }

  /** False until the hub has told the home for the first time. */
  get isLoaded(): boolean {
    return this.#isLoaded;
  }

  /** Why the home could not be asked for, for people; undefined when it could. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** What is wrong with the hub itself, one line each. */
  get hubProblems(): readonly string[] {
    return this.#hubProblems;
  }

  /** Asks the hub how it is; what cannot be asked changes nothing, since the connection tells of it. */
  async lookAtHealth(): Promise<void> {
    try {
      const { problems } = await this.#hub.get('/healthz');
      this.#hubProblems = Array.isArray(problems) ? problems.map(String) : [];
      this.changed();
    } catch {
      // A hub that starts or stops answers with an error.
    }
  }

  /** Requests that wait for a person now. */
  waiting(): readonly ApprovalView[] {
    return waiting(this.#state.approvals, Date.now());
  }

  /** Hears events as they come, as `EventStream` tells them; the answer stops it. */
  onEvent(hearer: EventHearer): () => void {
    this.#hearers.add(hearer);
    return () => this.#hearers.delete(hearer);
  }

  setConnection(connection: Connection): void {
    this.#connection = connection;
    this.changed();
  }

  take(event: EventView): void {
    const refresh = refreshAfter(event, this.#state);
    this.#state = withEvent(this.#state, event);
    this.changed();
    for (const hearer of this.#hearers) hearer(event);
    if (refresh) void this.refresh(refresh);
  }

  /** Asks for everything anew: at the beginning and when events were lost. */
  reload(): Promise<void> {
    return this.refresh('devices', 'approvals');
  }

  /** Asks for these parts anew; what is asked for while an answer is on its way is fetched once after it. */
  async refresh(...parts: readonly Refresh[]): Promise<void> {
    for (const part of parts) this.#stale.add(part);
    this.#refreshing ??= this.#drain().finally(() => {
      this.#refreshing = undefined;
    });
    await this.#refreshing;
  }

  /** Forgets the home, when somebody signs out. */
  clear(): void {
    this.#state = NO_HOME;
    this.#isLoaded = false;
    this.#problem = undefined;
    this.changed();
  }

  async #drain(): Promise<void> {
    while (this.#stale.size > 0) {
      const parts = [...this.#stale];
      this.#stale.clear();
      const results = await Promise.allSettled(parts.map((part) => this.#fetch(part)));
      const devices = results[parts.indexOf('devices')];
      if (devices) this.#problem = devices.status === 'rejected' ? messageOf(devices.reason) : undefined;
      this.#isLoaded ||= devices?.status === 'fulfilled';
      this.changed();
    }
  }

  async #fetch(part: Refresh): Promise<void> {
    if (part === 'devices') {
      const { devices } = await this.#hub.get<{ devices: readonly DeviceView[] }>('/api/v1/devices');
      this.#state = withDevices(this.#state, devices);
    } else {
      // Whoever may not see requests sees none.
      const { approvals } = await this.#hub.get<{ approvals: readonly ApprovalView[] }>('/api/v1/approvals');
      this.#state = { ...this.#state, approvals };
    }
  }
}
