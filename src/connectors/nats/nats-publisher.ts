import type { HubEvent } from '../../core/events.ts';
import { present } from '../../core/json.ts';
import type { Service } from '../../core/lifecycle.ts';
import { INVOCATION_POLICY } from '../../tools/definition/invocation-policy.ts';
import { type ConnectionEvents, type Connector, type ConnectorContext, optionalSecret } from '../connector.ts';
import type { ConnectorsConfig } from '../connectors-config.ts';

/** Returns a service that publishes events over NATS, if a server is configured. Throws CONFIG_INVALID if a secret cannot be read. */
export function openNats({ env, nodeId, events, logger }: ConnectorContext, { nats }: ConnectorsConfig): Connector {
  if (!nats) return { tools: [] };
  const { servers, user, password, token, subjectPrefix, types } = nats;
  const pass = optionalSecret(password, env);
  const target = present({ servers, name: `atmosphere-edge ${nodeId}`, user, pass, token: optionalSecret(token, env) });
  return { tools: [], service: new NatsPublisher({ events, logger, open: connectNats }, { subjectPrefix, types, target }) };
}

interface PublisherCollaborators extends Pick<ConnectorContext, 'events' | 'logger'> {
  readonly open: typeof connectNats;
}

interface PublisherOptions {
  readonly target: NatsTarget;
  readonly subjectPrefix: string;
  readonly types: readonly string[];
}

const MAX_PENDING = 1_000;

/**
 * Publishes each event as a CloudEvents 1.0 JSON document, on a NATS subject with the event's type, such as `agi.tool.created`. Core NATS
 * delivers at most once. While the server is unreachable, the newest thousand events wait; the number of dropped events is logged.
 */
export class NatsPublisher implements Service {
  readonly #parts: PublisherCollaborators;
  readonly #options: PublisherOptions;
  #link: NatsConnection | undefined;
  #stop = () => {};
  #isReady = false;
  #waiting: HubEvent[] = [];
  #dropped = 0;
  #lastProblem = '';

  constructor(parts: PublisherCollaborators, options: PublisherOptions) {
    this.#parts = parts;
    this.#options = options;
  }

  /** Starts the connection without waiting for the server. */
  async start(): Promise<void> {
    const { events, open } = this.#parts;
    const matches = this.#options.types.map((type) => (type.endsWith('*') ? type.slice(0, -1) : `${type}\0`));
    this.#stop = events.listen((event) => {
      if (matches.some((start) => `${event.type}\0`.startsWith(start))) this.#onEvent(event);
    });
    this.#link = await open(this.#options.target, { onReady: () => this.#onReady(), onDown: (reason) => this.#onDown(reason) });
    if (this.#isReady) this.#flush();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop();
    await this.#link?.[Symbol.asyncDispose]();
  }

  #onReady(): void {
    this.#isReady = true;
    this.#lastProblem = '';
    this.#parts.logger.info('nats.connected', { dropped: this.#dropped });
    this.#dropped = 0;
    this.#flush();
  }

  #onDown(reason: string): void {
    this.#isReady = false;
    if (reason === this.#lastProblem) return;
    this.#lastProblem = reason;
    this.#parts.logger.warn('nats.disconnected', { problem: reason });
  }

  #onEvent(event: HubEvent): void {
    this.#waiting.push(event);
    if (this.#waiting.length > MAX_PENDING) {
      this.#waiting.shift();
      this.#dropped += 1;
    }
    this.#flush();
  }

  #flush(): void {
    if (!this.#link || !this.#isReady) return;
    const { subjectPrefix } = this.#options;
    for (const event of this.#waiting.splice(0)) this.#link.publish(`${subjectPrefix}${event.type}`, JSON.stringify(event));
  }
}

interface NatsConnection extends AsyncDisposable {
  /** Sends a message. Does nothing without a connection. */
  publish(subject: string, text: string): void;
}

/** The servers, and the hub's credentials. */
interface NatsTarget {
  readonly servers: readonly string[];
  readonly name: string;
  readonly user?: string;
  readonly pass?: string;
  readonly token?: string;
}

const RETRY_MS = 2_000;

/** Starts a connection with the package `@nats-io/transport-node`, which only this function loads. Does not wait for the connection. */
export async function connectNats({ servers, ...who }: NatsTarget, { onReady, onDown }: ConnectionEvents): Promise<NatsConnection> {
  // `@nats-io/transport-node` is a CommonJS package: in the bundle its exports exist only on `default`.
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
      // The package closes a connection only for a permanent cause, such as a changed password. Then the hub opens a new connection.
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
      // `drain` sends all published events before it closes. If the server is unreachable, the connection is closed without this.
      await connection?.drain().catch(() => connection?.close());
    },
  };
}
