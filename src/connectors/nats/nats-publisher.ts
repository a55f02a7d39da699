import { readSecret } from '../../core/config/config-section.ts';
import type { EventBus, HubEvent } from '../../core/events.ts';
import type { Service } from '../../core/lifecycle.ts';
import type { Logger } from '../../core/logger.ts';
import { INVOCATION_POLICY } from '../../tools/definition/invocation-policy.ts';
import type { Connector, ConnectorContext } from '../connector.ts';
import type { ConnectorsConfig } from '../connectors-config.ts';

/** Events over NATS, where the owner configured a server. CONFIG_INVALID for a secret that is not there. */
export function openNats({ env, nodeId, ...ground }: ConnectorContext, { nats }: ConnectorsConfig): Connector {
  if (!nats) return { tools: [] };
  const { servers, user, password, token, ...what } = nats;
  const target = {
    servers,
    name: `atmosphere-edge ${nodeId}`,
    ...(user !== undefined && { user }),
    ...(password !== undefined && { pass: readSecret(password, env) }),
    ...(token !== undefined && { token: readSecret(token, env) }),
  };
  return {
    tools: [],
    service: new NatsPublisher({ events: ground.events, logger: ground.logger, open: connectNats }, { ...what, target }),
  };
}

interface PublisherCollaborators {
  readonly events: EventBus;
  readonly logger: Logger;
  readonly open: ConnectNats;
}

interface PublisherOptions {
  readonly target: NatsTarget;
  readonly subjectPrefix: string;
  readonly types: readonly string[];
}

const MAX_PENDING = 1_000;

/**
 * Publishes events under their type as the subject (such as `agi.tool.created`), each as a CloudEvents 1.0 JSON document. Core NATS
 * delivers at most once; while the server is away the newest thousand wait, and what is dropped before them is told in the log.
 */
export class NatsPublisher implements Service {
  readonly #with: PublisherCollaborators;
  readonly #options: PublisherOptions;
  #link: NatsConnection | undefined;
  #stop = () => {};
  #isReady = false;
  #waiting: HubEvent[] = [];
  #dropped = 0;
  #lastProblem = '';

  constructor(parts: PublisherCollaborators, options: PublisherOptions) {
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
    if (this.#waiting.length > MAX_PENDING) {
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

/** A connection to NATS that mends itself. */
interface NatsConnection extends AsyncDisposable {
  /** Sends, or throws while there is no connection. */
  publish(subject: string, text: string): void;
}

/** Who connects, and where. */
interface NatsTarget {
  readonly servers: readonly string[];
  readonly name: string;
  readonly user?: string;
  readonly pass?: string;
  readonly token?: string;
}

/** What is told about a connection. */
export interface NatsConnectionEvents {
  /** Now, and again after every break. */
  readonly onReady: () => void;
  readonly onDown: (reason: string) => void;
}

/** Opens a link; answers before there is a connection. */
type ConnectNats = (target: NatsTarget, events: NatsConnectionEvents) => Promise<NatsConnection>;

const RETRY_MS = 2_000;

/** The link over `@nats-io/transport-node`, which is loaded here and nowhere else. */
export const connectNats: ConnectNats = async ({ servers, ...who }, { onReady, onDown }) => {
  // A CommonJS package: its names are members of `default`, in the bundle there alone.
  const { default: nats } = await import('@nats-io/transport-node');
  const options = {
    ...who,
    servers: [...servers],
    maxReconnectAttempts: -1,
    reconnectTimeWait: RETRY_MS,
    timeout: INVOCATION_POLICY.connectTimeoutMs,
  };
  let isOpen = true;
  let connection: Awaited<ReturnType<typeof nats.connect>> | undefined;
  let timer: NodeJS.Timeout | undefined;
  const watch = async (made: NonNullable<typeof connection>) => {
    for await (const { type } of made.status()) {
      if (type === 'disconnect') onDown('the server broke off the connection');
      else if (type === 'reconnect') onReady();
    }
  };
  const open = async (): Promise<void> => {
    try {
      const made = await nats.connect({ ...options, reconnect: true });
      if (!isOpen) return await made.close();
      connection = made;
      void watch(made);
      // Only what no new try can mend ends it, such as a password that was changed: then we try from the beginning.
      void made.closed().then((error) => isOpen && again(error instanceof Error ? error.message : 'closed'));
      onReady();
    } catch (error) {
      again(error instanceof Error ? error.message : String(error));
    }
  };
  const again = (reason: string): void => {
    connection = undefined;
    onDown(reason);
    timer = setTimeout(() => void open(), RETRY_MS).unref();
  };
  void open();
  return {
    publish(subject, text) {
      connection?.publish(subject, text);
    },
    async [Symbol.asyncDispose]() {
      isOpen = false;
      clearTimeout(timer);
      // What was published goes out, unless there is nowhere to.
      await connection?.drain().catch(() => connection?.close());
    },
  };
};
