import { type Clock, isoTime, repeat } from '../../core/clock.ts';
import { readSecret } from '../../core/config/config-section.ts';
import type { EventBus, HubEvent } from '../../core/events.ts';
import type { Json, JsonObject } from '../../core/json.ts';
import type { Service } from '../../core/lifecycle.ts';
import type { Logger } from '../../core/logger.ts';
import { INVOCATION_POLICY } from '../../tools/definition/invocation-policy.ts';
import type { RegisteredTool } from '../../tools/definition/tool-definition.ts';
import { toHdnRecord } from '../../tools/formats/hdn-record.ts';
import type { ToolRegistry } from '../../tools/registry/tool-registry.ts';
import type { Connector, ConnectorContext } from '../connector.ts';
import type { ConnectorsConfig } from '../connectors-config.ts';
import type { RedisConfig } from './redis-config.ts';

/** The mirror of tools and calls in Redis, where the owner configured one. CONFIG_INVALID for a password that is not there. */
export function openRedis({ env, nodeId, ...ground }: ConnectorContext, { redis }: ConnectorsConfig): Connector {
  if (!redis) return { tools: [] };
  const secret = redis.password === undefined ? {} : { secret: readSecret(redis.password, env) };
  const keys = new RegistryCommands(redis.prefix, nodeId);
  return {
    tools: [],
    service: new RedisMirror(
      { clock: ground.clock, logger: ground.logger, events: ground.events, registry: ground.registry, keys, open: connectRedis },
      { ...redis, ...secret },
    ),
  };
}

interface MirrorCollaborators {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly events: EventBus;
  readonly registry: Pick<ToolRegistry, 'all' | 'onChange'>;
  readonly keys: RegistryCommands;
  readonly open: ConnectRedis;
}

/** Changes come in bursts: one transaction takes what gathered meanwhile. */
const DEBOUNCE_MS = 250;
/** A Redis that was wiped is filled again after at most this time. */
const REFRESH_MS = 600_000;
/** After Redis refused something, such as for want of memory. */
const RETRY_MS = 5_000;
const MAX_PENDING_CALLS = 1_000;
const TOOLS_PER_TRANSACTION = 200;

/**
 * Keeps the tools of this hub and its newest calls in Redis, for the monitors of the HTTP tool service. Only outward: nothing that stands
 * in Redis becomes a tool. Redis may be away for as long as it likes; calls beyond the newest thousand are then not pushed.
 */
export class RedisMirror implements Service {
  readonly #with: MirrorCollaborators;
  readonly #config: RedisConfig & { readonly secret?: string };
  readonly #stops: (() => void)[] = [];
  #link: RedisConnection | undefined;
  #isReady = false;
  #isWriting = false;
  #hasToolsToTell = true;
  #calls: UsageEntry[] = [];
  /** When a tool came, in this run. */
  readonly #seenMs = new Map<string, number>();
  #cancelGather: (() => void) | undefined;
  #lastProblem = '';

  constructor(parts: MirrorCollaborators, config: RedisConfig & { readonly secret?: string }) {
    this.#with = parts;
    this.#config = config;
  }

  /** Answers at once: a Redis that is away does not hold the hub up. */
  async start(): Promise<void> {
    const { clock, events, registry, open } = this.#with;
    const toolsChanged = () => {
      this.#hasToolsToTell = true;
      this.#gather();
    };
    this.#stops.push(registry.onChange(toolsChanged), repeat(clock, REFRESH_MS, toolsChanged));
    if (this.#config.usage) this.#stops.push(events.listen((event) => this.#hear(event)));
    const onReady = () => {
      this.#isReady = true;
      this.#lastProblem = '';
      this.#with.logger.info('redis.connected');
      toolsChanged();
    };
    this.#link = await open(this.#config, { onReady, onDown: (reason) => this.#down(reason) });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const stop of this.#stops.splice(0)) stop();
    this.#cancelGather?.();
    this.#isReady = false;
    await this.#link?.[Symbol.asyncDispose]();
  }

  #down(reason: string): void {
    this.#isReady = false;
    this.#tell(reason);
  }

  /** A Redis that is away says so every half second, and once is enough. */
  #tell(reason: string): void {
    if (reason === this.#lastProblem) return;
    this.#lastProblem = reason;
    this.#with.logger.warn('redis.away', { problem: reason });
  }

  #hear({ type, data }: HubEvent): void {
    const call = usageOf(type, data, this.#with.clock.now());
    if (!call) return;
    this.#calls.push(call);
    if (this.#calls.length > MAX_PENDING_CALLS) this.#calls.shift();
    this.#gather();
  }

  #gather(delayMs = DEBOUNCE_MS): void {
    if (!this.#isReady || this.#cancelGather) return;
    this.#cancelGather = this.#with.clock.after(delayMs, () => {
      this.#cancelGather = undefined;
      void this.#write();
    });
  }

  async #write(): Promise<void> {
    const link = this.#link;
    if (!link || this.#isWriting) return;
    this.#isWriting = true;
    let delayMs = DEBOUNCE_MS;
    try {
      if (this.#hasToolsToTell) await this.#writeTools(link);
      await this.#writeCalls(link);
      this.#lastProblem = '';
    } catch (error) {
      this.#tell(error instanceof Error ? error.message : String(error));
      delayMs = RETRY_MS;
    } finally {
      this.#isWriting = false;
    }
    if (this.#hasToolsToTell || this.#calls.length > 0) this.#gather(delayMs);
  }

  async #writeTools(link: RedisConnection): Promise<void> {
    const { registry, keys, clock } = this.#with;
    this.#hasToolsToTell = false;
    try {
      const tools = registry.all();
      const present = new Set<string>(tools.map(({ id }) => id));
      const gone = (await link.members(keys.own)).filter((id) => !present.has(id));
      for (const id of this.#seenMs.keys()) if (!present.has(id)) this.#seenMs.delete(id);
      for (const id of present) if (!this.#seenMs.has(id)) this.#seenMs.set(id, clock.now());
      const commands = [...gone.flatMap((id) => keys.drop(id)), ...tools.flatMap((tool) => keys.put(tool, this.#seenMs.get(tool.id) ?? 0))];
      for (const some of batches(commands)) await link.transact(some);
    } catch (error) {
      this.#hasToolsToTell = true;
      throw error;
    }
  }

  async #writeCalls(link: RedisConnection): Promise<void> {
    const calls = this.#calls;
    if (calls.length === 0) return;
    this.#calls = [];
    try {
      await link.transact(calls.flatMap((call) => this.#with.keys.usage(call)));
    } catch (error) {
      this.#calls = [...calls, ...this.#calls].slice(-MAX_PENDING_CALLS);
      throw error;
    }
  }
}

function* batches(commands: readonly RedisCommand[]): Generator<readonly RedisCommand[]> {
  for (let at = 0; at < commands.length; at += TOOLS_PER_TRANSACTION * 3) yield commands.slice(at, at + TOOLS_PER_TRANSACTION * 3);
}

const HISTORY_LENGTH = 500;

/** A finished call. */
interface UsageEntry {
  readonly agent: string;
  readonly entry: JsonObject;
}

/**
 * The keys of the HTTP tool service: `tools:registry`, `tool:<id>`, `tools:<agent>:usage_history`,
 * `tools:global:usage_history`; beside them `tools:node:<hub>`, the ids that this hub put there.
 */
export class RegistryCommands {
  readonly #prefix: string;
  readonly #node: string;

  constructor(prefix: string, node: string) {
    this.#prefix = prefix;
    this.#node = node;
  }

  /** Set of the ids that this hub put there. */
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

/** A finished call as its event tells it; undefined for other events. */
function usageOf(type: string, data: JsonObject, atMs: number): UsageEntry | undefined {
  const isFailed = type === 'agi.tool.failed';
  if (type !== 'agi.tool.result' && !isFailed) return undefined;
  const agent = typeof data.agent_id === 'string' ? data.agent_id : 'unknown';
  const told: readonly [string, Json | undefined][] = [
    ['duration_ms', data.duration_ms],
    ['error', data.code],
    ['trace_id', data.trace_id],
  ];
  const known = told.filter((pair): pair is [string, Json] => pair[1] !== undefined);
  const entry = { ts: isoTime(atMs), type: isFailed ? 'failed' : 'result', tool: data.tool ?? null, agent, ...Object.fromEntries(known) };
  return { agent, entry };
}

/** One change of Redis, as the command with its arguments. */
export type RedisCommand = readonly [name: string, ...args: string[]];

/** A connection to Redis that mends itself. */
interface RedisConnection extends AsyncDisposable {
  /** Runs the commands as one transaction (MULTI), or none of them. Rejects while there is no connection. */
  transact(commands: readonly RedisCommand[]): Promise<void>;
  /** Members of a set. */
  members(key: string): Promise<readonly string[]>;
}

/** What is told about a connection. */
export interface RedisConnectionEvents {
  /** Now, and again after every break. */
  readonly onReady: () => void;
  readonly onDown: (reason: string) => void;
}

/** Opens a link; answers before there is a connection. */
type ConnectRedis = (config: RedisConfig & { readonly secret?: string }, events: RedisConnectionEvents) => Promise<RedisConnection>;

const MIN_DELAY_MS = 500;
const MAX_DELAY_MS = 30_000;

/** The link over `@redis/client`, which is loaded here and nowhere else. */
export const connectRedis: ConnectRedis = async ({ url, user, secret }, { onReady, onDown }) => {
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
