import type { Service } from '../core/service.ts';
import type { SensorsConfig } from './sensor-config.ts';
import { SensorFeed, type SensorFeedPorts } from './sensor-feed.ts';
import type { SensorSource } from './sensor-source.ts';
import { SourcePoll } from './source-poll.ts';

interface BoardSensorsPorts extends SensorFeedPorts {
  readonly sources: readonly SensorSource[];
  /** From 0 to 1, for the jitter of polling. */
  readonly random?: () => number;
}

/** Makes readings, history and events of the board's own sensors; those that come later are there within a poll interval. */
export class BoardSensors implements Service {
  readonly #polls: readonly SourcePoll[];
  readonly #feed: SensorFeed;
  readonly #areas: SensorFeedPorts['areas'];
  #stopHearing: () => void = () => {};

  constructor(ports: BoardSensorsPorts, settings: SensorsConfig) {
    const feed = new SensorFeed(ports);
    this.#feed = feed;
    this.#areas = ports.areas;
    const { clock, logger, random = Math.random } = ports;
    this.#polls = ports.sources.map((source) => new SourcePoll({ clock, logger, random, feed, source }, settings));
  }

  /** Resolves when what is there is listed; the first values follow. */
  async start(): Promise<void> {
    this.#stopHearing = this.#areas.onAreaRenamed(() => this.#feed.relocate());
    await Promise.all(this.#polls.map((poll) => poll.start()));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopHearing();
    await Promise.all(this.#polls.map((poll) => poll[Symbol.asyncDispose]()));
  }
}
