import { INVOCATION_POLICY } from '../../tools/calls/bounds/invocation-policy.ts';

/** A connection to NATS that mends itself. */
export interface NatsLink extends AsyncDisposable {
  /** Sends, or throws while there is no connection. */
  publish(subject: string, text: string): void;
}

/** Who connects, and where. */
export interface NatsTarget {
  readonly servers: readonly string[];
  readonly name: string;
  readonly user?: string;
  readonly pass?: string;
  readonly token?: string;
}

/** What is told about a connection. */
export interface NatsLinkEvents {
  /** Now, and again after every break. */
  readonly onReady: () => void;
  readonly onDown: (reason: string) => void;
}

/** Opens a link; answers before there is a connection. */
export type OpenNatsLink = (target: NatsTarget, events: NatsLinkEvents) => Promise<NatsLink>;

const RETRY_MS = 2_000;

/** The link over `@nats-io/transport-node`, which is loaded here and nowhere else. */
export const openNatsLink: OpenNatsLink = async ({ servers, ...who }, { onReady, onDown }) => {
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
