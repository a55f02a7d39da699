import { isoTime, repeat } from '../../core/clock.ts';
import type { HubEvent } from '../../core/events.ts';
import { type JsonObject, present } from '../../core/json.ts';
import type { Service } from '../../core/lifecycle.ts';
import { INVOCATION_POLICY } from '../../tools/definition/invocation-policy.ts';
import type { RegisteredTool } from '../../tools/definition/tool-definition.ts';
import { toHdnRecord } from '../../tools/formats/hdn-record.ts';
import type { ToolRegistry } from '../../tools/registry/tool-registry.ts';
import { type ConnectionEvents, type Connector, type ConnectorContext, optionalSecret } from '../connector.ts';
import type { ConnectorsConfig } from '../connectors-config.ts';
import type { RedisConfig } from './redis-config.ts';

/** Returns a service that mirrors tools and calls to Redis, if configured. Throws CONFIG_INVALID if the password cannot be read. */
export function openRedis({ env, nodeId, clock, logger, events, registry }: ConnectorContext, { redis }: ConnectorsConfig): Connector {
  if (!redis) return { tools: [] };
  const keys = new RegistryCommands(redis.prefix, nodeId);
  const config = { ...redis, ...present({ secret: optionalSecret(redis.password, env) }) };
  return { tools: [], service: new RedisMirror({ clock, logger, events, registry, keys, open: connectRedis }, config) };
}

interface MirrorCollaborators extends Pick<ConnectorContext, 'clock' | 'logger' | 'events'> {
  readonly registry: Pick<ToolRegistry, 'all' | 'onChange'>;
  readonly keys: RegistryCommands;
  readonly open: typeof connectRedis;
}

type MirrorConfig = RedisConfig & { readonly secret?: string };

/** Changes within this many milliseconds are collected into one transaction, since changes come in bursts. */
const DEBOUNCE_MS = 250;
/** Interval in milliseconds at which all tools are written again, in case Redis was emptied. */
const REFRESH_MS = 600_000;
/** Pause in milliseconds before a new attempt if Redis has refused a transaction, for example for lack of memory. */
const RETRY_MS = 5_000;
const MAX_PENDING_CALLS = 1_000;
/** Maximum number of commands in a transaction; enough for two hundred tools. */
const COMMANDS_PER_TRANSACTION = 600;

/**
 * Writes the tools and the newest calls of this hub to Redis, where monitors of the HTTP tool service read them. The hub takes no tools
 * from Redis. While Redis is unreachable, the newest thousand calls wait and older calls are dropped.
 */
export class RedisMirror implements Service {
  readonly #parts: MirrorCollaborators;
  readonly #config: MirrorConfig;
  readonly #stops: (() => void)[] = [];
  #link: RedisConnection | undefined;
  #isReady = false;
  #isWriting = false;
  #areToolsChanged = true;
  #calls: UsageEntry[] = [];
  /** Time at which this process first saw each tool. */
  readonly #seenMs = new Map<string, number>();
  #cancelWrite: (() => void) | undefined;
  #lastProblem = '';

  constructor(parts: MirrorCollaborators, config: MirrorConfig) {
    this.#parts = parts;
    this.#config = config;
  }

  /** Starts the connection without waiting for Redis. */
  async start(): Promise<void> {
    const { clock, events, registry, open, logger } = this.#parts;
    const onToolsChanged = () => {
      this.#areToolsChanged = true;
      this.#scheduleWrite();
    };
    this.#stops.push(registry.onChange(onToolsChanged), repeat(clock, REFRESH_MS, onToolsChanged));
    if (this.#config.usage) this.#stops.push(events.listen((event) => this.#onEvent(event)));
    const onReady = () => {
      this.#isReady = true;
      this.#lastProblem = '';
      logger.info('redis.connected');
      onToolsChanged();
    };
    const onDown = (reason: string) => {
      this.#isReady = false;
      this.#warn(reason);
    };
    this.#link = await open(this.#config, { onReady, onDown });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const stop of this.#stops.splice(0)) stop();
    this.#cancelWrite?.();
    this.#isReady = false;
    await this.#link?.[Symbol.asyncDispose]();
  }

  /** Logs a problem only once, although each attempt to reconnect reports it again. */
  #warn(reason: string): void {
    if (reason === this.#lastProblem) return;
    this.#lastProblem = reason;
    this.#parts.logger.warn('redis.disconnected', { problem: reason });
  }

  #onEvent({ type, data }: HubEvent): void {
    const call = usageOf(type, data, this.#parts.clock.now());
    if (!call) return;
    this.#calls.push(call);
    if (this.#calls.length > MAX_PENDING_CALLS) this.#calls.shift();
    this.#scheduleWrite();
  }

  #scheduleWrite(delayMs = DEBOUNCE_MS): void {
    if (!this.#isReady || this.#cancelWrite) return;
    this.#cancelWrite = this.#parts.clock.after(delayMs, () => {
      this.#cancelWrite = undefined;
      void this.#write();
    });
  }

  async #write(): Promise<void> {
    const link = this.#link;
    if (!link || this.#isWriting) return;
    this.#isWriting = true;
    let delayMs = DEBOUNCE_MS;
    try {
      if (this.#areToolsChanged) await this.#writeTools(link);
      await this.#writeCalls(link);
      this.#lastProblem = '';
    } catch (error) {
      this.#warn(error instanceof Error ? error.message : String(error));
      delayMs = RETRY_MS;
    } finally {
      this.#isWriting = false;
    }
    if (this.#areToolsChanged || this.#calls.length > 0) this.#scheduleWrite(delayMs);
  }

  async #writeTools(link: RedisConnection): Promise<void> {
    const { registry, keys, clock } = this.#parts;
    this.#areToolsChanged = false;
    try {
      const tools = registry.all();
      const present = new Set<string>(tools.map(({ id }) => id));
      const gone = (await link.members(keys.own)).filter((id) => !present.has(id));
      for (const id of this.#seenMs.keys()) if (!present.has(id)) this.#seenMs.delete(id);
      for (const id of present) if (!this.#seenMs.has(id)) this.#seenMs.set(id, clock.now());
      const commands = [...gone.flatMap((id) => keys.drop(id)), ...tools.flatMap((tool) => keys.put(tool, this.#seenMs.get(tool.id) ?? 0))];
      while (commands.length > 0) await link.transact(commands.splice(0, COMMANDS_PER_TRANSACTION));
    } catch (error) {
      this.#areToolsChanged = true;
      throw error;
    }
  }

  async #writeCalls(link: RedisConnection): Promise<void> {
    const calls = this.#calls.splice(0);
    if (calls.length === 0) return;
    try {
      await link.transact(calls.flatMap((call) => this.#parts.keys.usage(call)));
    } catch (error) {
      this.#calls = [...calls, ...this.#calls].slice(-MAX_PENDING_CALLS);
      throw error;
    }
  }
}

const HISTORY_LENGTH = 500;

/** A finished call, as an entry for the usage histories. */
interface UsageEntry {
  readonly agent: string;
  readonly entry: JsonObject;
}

/**
 * Creates Redis commands. Their keys are those of the HTTP tool service (`tools:registry`, `tool:<id>`, `tools:<agent>:usage_history`,
 * `tools:global:usage_history`), and `tools:node:<hub>` for the set of this hub's tool ids.
 */
export class RegistryCommands {
  readonly #prefix: string;
  readonly #node: string;

  constructor(prefix: string, node: string) {
    this.#prefix = prefix;
    this.#node = node;
  }

  /** Returns the key of the set that contains this hub's tool ids. */
  get own(): string {
    return `${this.#prefix}tools:node:${this.#node}`;
  }

  put(tool: RegisteredTool, createdAtMs: number): readonly RedisCommand[] {
    const record = { ...toHdnRecord(tool.definition, createdAtMs), node: this.#node };
    return [
      ['SET', `${this.#prefix}tool:${tool.id}`, JSON.stringify(record)],
      ['SADD', `${this.#prefix}tools:registry`, tool.id],
      ['SADD', this.own, tool.id],
    ];
  }

  drop(id: string): readonly RedisCommand[] {
    return [
      ['DEL', `${this.#prefix}tool:${id}`],
      ['SREM', `${this.#prefix}tools:registry`, id],
      ['SREM', this.own, id],
    ];
  }

  usage({ agent, entry }: UsageEntry): readonly RedisCommand[] {
    const text = JSON.stringify(entry);
    return [`${this.#prefix}tools:global:usage_history`, `${this.#prefix}tools:${agent}:usage_history`].flatMap((key): RedisCommand[] => [
      ['LPUSH', key, text],
      ['LTRIM', key, '0', String(HISTORY_LENGTH - 1)],
    ]);
  }
}

/** Returns the usage entry for the event of a finished call; undefined for other events. */
function usageOf(type: string, data: JsonObject, atMs: number): UsageEntry | undefined {
  const isFailed = type === 'agi.tool.failed';
  if (type !== 'agi.tool.result' && !isFailed) return undefined;
  const agent = typeof data.agent_id === 'string' ? data.agent_id : 'unknown';
  const call = { ts: isoTime(atMs), type: isFailed ? 'failed' : 'result', tool: data.tool ?? null, agent };
  return { agent, entry: { ...call, ...present({ duration_ms: data.duration_ms, error: data.code, trace_id: data.trace_id }) } };
}

/** A command with its arguments. */
export type RedisCommand = readonly [name: string, ...args: string[]];

interface RedisConnection extends AsyncDisposable {
  /** Runs the commands as one transaction (MULTI). Without a connection, runs none of them and rejects. */
  transact(commands: readonly RedisCommand[]): Promise<void>;
  members(key: string): Promise<readonly string[]>;
}

const MIN_DELAY_MS = 500;
const MAX_DELAY_MS = 30_000;

/** Starts a connection with the package `@redis/client`, which only this function loads. Does not wait for the connection. */
export async function connectRedis(
  { url, user, secret }: Pick<MirrorConfig, 'url' | 'user' | 'secret'>,
  { onReady, onDown }: ConnectionEvents,
): Promise<RedisConnection> {
  // `@redis/client` is a CommonJS package: in the bundle its exports exist only on `default`.
  const { default: redis } = await import('@redis/client');
  const client = redis.createClient({
    url,
    ...present({ username: user, password: secret }),
    // Without a connection, commands fail instead of waiting in a queue: the mirror writes all tools again after a reconnection.
    disableOfflineQueue: true,
    socket: {
      connectTimeout: INVOCATION_POLICY.connectTimeoutMs,
      reconnectStrategy: (retries: number) => Math.min(MIN_DELAY_MS * 2 ** retries, MAX_DELAY_MS),
    },
  });
  client.on('ready', onReady);
  client.on('error', (error: Error) => onDown(error.message));
  // Nothing waits for this promise: it resolves at the first connection, which may never be established.
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
}
