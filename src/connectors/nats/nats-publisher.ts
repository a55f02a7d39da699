import type { EventBus, HubEvent } from '../../core/events.ts';
import type { Logger } from '../../core/logger.ts';
import type { Service } from '../../core/service.ts';
import type { NatsLink, NatsTarget, OpenNatsLink } from './nats-link.ts';

interface PublisherParts {
  readonly events: EventBus;
  readonly logger: Logger;
  readonly open: OpenNatsLink;
}

interface PublisherOptions {
  readonly target: NatsTarget;
  readonly subjectPrefix: string;
  readonly types: readonly string[];
}

const MAX_WAITING = 1_000;

/**
 * Publishes events under their type as the subject (source 003, `agi.tool.*`), each as a CloudEvents 1.0 JSON document. Core NATS
 * delivers at most once; while the server is away the newest thousand wait, and what is dropped before them is told in the log.
 */
export class NatsPublisher implements Service {
  readonly #with: PublisherParts;
  readonly #options: PublisherOptions;
  #link: NatsLink | undefined;
  #stop = () => {};
  #isReady = false;
  #waiting: HubEvent[] = [];
  #dropped = 0;
  #lastProblem = '';

  constructor(parts: PublisherParts, options: PublisherOptions) {
    this.#with = parts;
    this.#options = options;
  }

  /** Answers at once: a server that is away does not hold the hub up. */
  async start(): Promise<void> {
    const { events, open } = this.#with;
    const matches = this.#options.types.map((type) => (type.endsWith('*') ? type.slice(0, -1) : `${type}\0`));
    this.#stop = events.listen((event) => {
      if (matches.some((start) => `${event.type}\0`.startsWith(start))) this.#take(event);
    });
    this.#link = await open(this.#options.target, { onReady: () => this.#ready(), onDown: (reason) => this.#down(reason) });
    if (this.#isReady) this.#flush();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop();
    await this.#link?.[Symbol.asyncDispose]();
  }

  #ready(): void {
    this.#isReady = true;
    this.#lastProblem = '';
    this.#with.logger.info('nats.connected', { dropped: this.#dropped });
    this.#dropped = 0;
    this.#flush();
  }

  #down(reason: string): void {
    this.#isReady = false;
    if (reason === this.#lastProblem) return;
    this.#lastProblem = reason;
    this.#with.logger.warn('nats.away', { problem: reason });
  }

  #take(event: HubEvent): void {
    this.#waiting.push(event);
    if (this.#waiting.length > MAX_WAITING) {
      this.#waiting.shift();
      this.#dropped += 1;
    }
    this.#flush();
  }

  #flush(): void {
    const link = this.#link;
    if (!link || !this.#isReady) return;
    const events = this.#waiting;
    this.#waiting = [];
    for (const event of events) link.publish(`${this.#options.subjectPrefix}${event.type}`, JSON.stringify(event));
  }
}
