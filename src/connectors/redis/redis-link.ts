import { INVOCATION_POLICY } from '../../tools/calls/bounds/invocation-policy.ts';
import type { RedisConfig } from './redis-config.ts';

/** One change of Redis, as the command with its arguments. */
export type RedisCommand = readonly [name: string, ...args: string[]];

/** A connection to Redis that mends itself. */
export interface RedisLink extends AsyncDisposable {
  /** Runs the commands as one transaction (MULTI), or none of them. Rejects while there is no connection. */
  transact(commands: readonly RedisCommand[]): Promise<void>;
  /** Members of a set. */
  members(key: string): Promise<readonly string[]>;
}

/** What is told about a connection. */
export interface RedisLinkEvents {
  /** Now, and again after every break. */
  readonly onReady: () => void;
  readonly onDown: (reason: string) => void;
}

/** Opens a link; answers before there is a connection. */
export type OpenRedisLink = (config: RedisConfig & { readonly secret?: string }, events: RedisLinkEvents) => Promise<RedisLink>;

const MIN_DELAY_MS = 500;
const MAX_DELAY_MS = 30_000;

/** The link over `@redis/client`, which is loaded here and nowhere else. */
export const openRedisLink: OpenRedisLink = async ({ url, user, secret }, { onReady, onDown }) => {
  // A CommonJS package: its names are members of `default`, in the bundle there alone.
  const { default: redis } = await import('@redis/client');
  const client = redis.createClient({
    url,
    ...(user !== undefined && { username: user }),
    ...(secret !== undefined && { password: secret }),
    // What cannot be sent now is sent as a whole when the connection is back; a queue of it would only grow.
    disableOfflineQueue: true,
    socket: {
      connectTimeout: INVOCATION_POLICY.connectTimeoutMs,
      reconnectStrategy: (retries: number) => Math.min(MIN_DELAY_MS * 2 ** retries, MAX_DELAY_MS),
    },
  });
  client.on('ready', onReady);
  client.on('error', (error: Error) => onDown(error.message));
  // Resolves with the first connection, which may never come.
  void client.connect().catch((error: Error) => onDown(error.message));
  return {
    async transact(commands) {
      const multi = client.multi();
      for (const command of commands) multi.addCommand([...command]);
      await multi.exec();
    },
    members: (key) => client.sMembers(key),
    async [Symbol.asyncDispose]() {
      client.destroy();
    },
  };
};
