import type { EventBus, HubEvent } from '../../core/events.ts';
import type { Logger } from '../../core/logger.ts';
import type { Service } from '../../core/service.ts';
import type { Clock } from '../../core/time/clock.ts';
import { repeat } from '../../core/time/repeat.ts';
import type { ToolRegistry } from '../../tools/tool-registry.ts';
import type { RedisConfig } from './redis-config.ts';
import type { OpenRedisLink, RedisCommand, RedisLink } from './redis-link.ts';
import { type RegistryKeys, type UsageEntry, usageOf } from './registry-keys.ts';

interface MirrorParts {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly events: EventBus;
  readonly registry: Pick<ToolRegistry, 'all' | 'onChange'>;
  readonly keys: RegistryKeys;
  readonly open: OpenRedisLink;
}

/** Changes come in bursts: one transaction takes what gathered meanwhile. */
const GATHER_MS = 250;
/** A Redis that was wiped is filled again (source 003, operational tips). */
const REFRESH_MS = 600_000;
/** After Redis refused something, such as for want of memory. */
const RETRY_MS = 5_000;
const MAX_WAITING_CALLS = 1_000;
const TOOLS_AT_ONCE = 200;

/**
 * Keeps the tools of this hub and its newest calls in Redis, for the monitors of source 003. Only outward: nothing that stands
 * in Redis becomes a tool. Redis may be away for as long as it likes; calls beyond the newest thousand are then not pushed.
 */
export class RedisMirror implements Service {
  readonly #with: MirrorParts;
  readonly #config: RedisConfig & { readonly secret?: string };
  readonly #stops: (() => void)[] = [];
  #link: RedisLink | undefined;
  #isReady = false;
  #isWriting = false;
  #hasToolsToTell = true;
  #calls: UsageEntry[] = [];
  /** When a tool came, in this run. */
  readonly #seenMs = new Map<string, number>();
  #cancelGather: (() => void) | undefined;
  #lastProblem = '';

  constructor(parts: MirrorParts, config: RedisConfig & { readonly secret?: string }) {
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
    if (this.#calls.length > MAX_WAITING_CALLS) this.#calls.shift();
    this.#gather();
  }

  #gather(delayMs = GATHER_MS): void {
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
    let delayMs = GATHER_MS;
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

  async #writeTools(link: RedisLink): Promise<void> {
    const { registry, keys, clock } = this.#with;
    this.#hasToolsToTell = false;
    try {
      const tools = registry.all();
      const present = new Set<string>(tools.map(({ id }) => id));
      const gone = (await link.members(keys.own)).filter((id) => !present.has(id));
      for (const id of this.#seenMs.keys()) if (!present.has(id)) this.#seenMs.delete(id);
      for (const id of present) if (!this.#seenMs.has(id)) this.#seenMs.set(id, clock.now());
      const commands = [...gone.flatMap((id) => keys.drop(id)), ...tools.flatMap((tool) => keys.put(tool, this.#seenMs.get(tool.id) ?? 0))];
      for (const some of chunks(commands)) await link.transact(some);
    } catch (error) {
      this.#hasToolsToTell = true;
      throw error;
    }
  }

  async #writeCalls(link: RedisLink): Promise<void> {
    const calls = this.#calls;
    if (calls.length === 0) return;
    this.#calls = [];
    try {
      await link.transact(calls.flatMap((call) => this.#with.keys.usage(call)));
    } catch (error) {
      this.#calls = [...calls, ...this.#calls].slice(-MAX_WAITING_CALLS);
      throw error;
    }
  }
}

function* chunks(commands: readonly RedisCommand[]): Generator<readonly RedisCommand[]> {
  for (let at = 0; at < commands.length; at += TOOLS_AT_ONCE * 3) yield commands.slice(at, at + TOOLS_AT_ONCE * 3);
}
