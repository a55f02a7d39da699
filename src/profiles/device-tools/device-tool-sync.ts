import type { DeviceAccess, DeviceChange, DeviceDirectory } from '../../core/devices/device-directory.ts';
import type { AttributeReading, DeviceDescription, DeviceEvent } from '../../core/devices/device-model.ts';
import type { ReadingStore } from '../../core/devices/reading-store.ts';
import type { EventBus } from '../../core/events.ts';
import type { DeviceId } from '../../core/ids.ts';
import type { Logger } from '../../core/logger.ts';
import type { Service } from '../../core/service.ts';
import type { Clock } from '../../core/time/clock.ts';
import type { RegisteredTool } from '../../tools/definition/tool-definition.ts';
import { toolId } from '../../tools/definition/tool-name.ts';
import type { ToolRegistry } from '../../tools/tool-registry.ts';
import { compileDevice } from '../compile/compile-device.ts';
import type { CompiledDevice, DeviceTool } from '../compile/compiled-device.ts';
import type { CompiledDevices } from '../compile/compiled-devices.ts';
import type { ProfileSet } from '../files/profile-set.ts';
import { deviceSlugs, distinctSlug, toolName } from '../home/device-names.ts';
import { runDeviceTool, toolEffects } from './device-tool.ts';
import { deviceToolDefinition } from './device-tool-definition.ts';
import { ReadingFeed } from './reading-feed.ts';

// The first reports of a device come in a burst; its limits are looked at once they are all there.
const SETTLE_MS = 250;

/** What the synchronisation works with. */
export interface DeviceToolPorts {
  readonly directory: DeviceDirectory;
  readonly access: DeviceAccess;
  readonly registry: ToolRegistry;
  readonly readings: ReadingStore;
  readonly events: EventBus;
  readonly profiles: ProfileSet;
  readonly clock: Clock;
  readonly logger: Logger;
}

interface Entry {
  readonly compiled: CompiledDevice;
  /** The device's part of the names. */
  readonly slug: string;
  /** Endpoint and action → what is registered for it. */
  readonly tools: ReadonlyMap<string, RegisteredTool>;
  /** Endpoint and action → names that it had since the hub started. */
  readonly formerNames: ReadonlyMap<string, readonly string[]>;
}

/**
 * Keeps the registry and the reading store in step with the devices: tools come, change and go with them, stay while a
 * device is away, and keep their old names as aliases after a rename until the hub restarts.
 */
export class DeviceToolSync implements Service, CompiledDevices {
  readonly #ports: DeviceToolPorts;
  readonly #feed: ReadingFeed;
  readonly #entries = new Map<DeviceId, Entry>();
  readonly #pending = new Map<DeviceId, () => void>();
  #stops: readonly (() => void)[] = [];

  constructor(ports: DeviceToolPorts) {
    this.#ports = ports;
    this.#feed = new ReadingFeed(ports);
  }

  async start(): Promise<void> {
    const { directory, access } = this.#ports;
    this.#stops = [
      directory.onChange((change) => this.#onChange(change)),
      access.onReport((report) => this.#onReport(report)),
      access.onEvent((event) => this.#onEvent(event)),
    ];
    this.#refresh(directory.list().map((device) => device.id));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const stop of [...this.#stops, ...this.#pending.values()]) stop();
    this.#stops = [];
    this.#pending.clear();
  }

  get(id: DeviceId): CompiledDevice | undefined {
    return this.#entries.get(id)?.compiled;
  }

  list(): readonly CompiledDevice[] {
    return [...this.#entries.values()].map((entry) => entry.compiled);
  }

  describe(id: DeviceId): DeviceDescription | undefined {
    return this.#ports.directory.describe(id);
  }

  #onChange(change: DeviceChange): void {
    const { device } = change;
    const { events } = this.#ports;
    if (change.kind === 'reachability') {
      this.#ports.readings.setReachability(device.id, device.reachability);
      events.emit('device.reachability', device.id, { reachability: device.reachability });
      return;
    }
    if (change.kind === 'removed') this.#remove(device.id);
    else this.#refresh([device.id]);
    events.emit(`device.${change.kind}`, device.id, { name: device.name, device_types: device.deviceTypes });
  }

  #onReport(report: AttributeReading): void {
    this.#feed.take(report);
    const { device, endpoint, cluster, attribute } = report.path;
    const isLimit = this.#entries.get(device)?.compiled.dependsOn.has(`${endpoint}/${cluster}/${attribute}`) ?? false;
    if (!isLimit || this.#pending.has(device)) return;
    this.#pending.set(
      device,
      this.#ports.clock.after(SETTLE_MS, () => {
        this.#pending.delete(device);
        this.#refresh([device]);
      }),
    );
  }

  #onEvent(event: DeviceEvent): void {
    const rules = this.#entries.get(event.device)?.compiled.events ?? [];
    const rule = rules.find((one) => one.endpoint === event.endpoint && one.cluster === event.cluster && one.event === event.event);
    if (!rule) return;
    const { endpoint, cluster, data, atMs } = event;
    this.#ports.events.emit('device.event', event.device, {
      event: event.event,
      title: rule.title,
      kind: rule.kind,
      endpoint,
      cluster,
      data,
      at_ms: atMs,
    });
  }

  /** Compiles devices again, and those whose part of the names moved because of them. */
  #refresh(ids: readonly DeviceId[]): void {
    const slugs = deviceSlugs(this.#ports.directory.list());
    const moved = [...this.#entries].filter(([id, entry]) => !ids.includes(id) && slugs.get(id) !== entry.slug).map(([id]) => id);
    for (const id of [...ids, ...moved]) this.#update(id, slugs.get(id));
  }

  #update(id: DeviceId, slug: string | undefined): void {
    const { access, directory, profiles } = this.#ports;
    const description = directory.describe(id);
    if (!description || slug === undefined) return;
    const known = attributesOf(description);
    const compiled = compileDevice(description, profiles, (endpoint, cluster, attribute) => {
      // What a device has not got is no live value; asking for it is NOT_SUPPORTED.
      if (!known.has(`${endpoint}/${cluster}/${attribute}`)) return undefined;
      return access.cached({ device: id, endpoint, cluster, attribute })?.value;
    });
    const before = this.#entries.get(id);
    const tools = new Map(compiled.tools.map((tool) => [keyOf(tool), this.#registered(compiled, tool, slug)]));
    this.#entries.set(id, { compiled, slug, tools, formerNames: formerNames(before) });
    this.#replace(id, before);
    for (const tool of compiled.tools) this.#addAliases(tool, slug, id);
    this.#feed.set(compiled);
  }

  #replace(id: DeviceId, before: Entry | undefined): void {
    const after = this.#entries.get(id)?.tools ?? new Map<string, RegisteredTool>();
    for (const [key, tool] of before?.tools ?? []) if (after.get(key)?.id !== tool.id) this.#ports.registry.unregister(tool.id);
    for (const [key, tool] of after) this.#register(tool, before?.tools.get(key));
  }

  #register(tool: RegisteredTool, old: RegisteredTool | undefined): void {
    const isSame = old?.id === tool.id && JSON.stringify(old.definition) === JSON.stringify(tool.definition);
    if (isSame && this.#ports.registry.get(tool.id)) return;
    try {
      this.#ports.registry.register(tool, { replace: true });
    } catch (error) {
      // One tool that a device's odd description makes impossible must not take the others away.
      this.#ports.logger.error('device tool refused', { tool: tool.id, reason: error instanceof Error ? error.message : 'unknown' });
    }
  }

  /** The short form of the action, and the names from before a rename. */
  #addAliases(tool: DeviceTool, slug: string, id: DeviceId): void {
    const entry = this.#entries.get(id);
    const name = entry?.tools.get(keyOf(tool))?.definition.name;
    if (name === undefined) return;
    const short = tool.alias === undefined ? [] : [toolName(slug, tool.alias)];
    for (const from of [...short, ...(entry?.formerNames.get(keyOf(tool)) ?? [])]) {
      if (from !== name) this.#ports.registry.alias(from, `matter:${name}`);
    }
  }

  #remove(id: DeviceId): void {
    for (const tool of this.#entries.get(id)?.tools.values() ?? []) this.#ports.registry.unregister(tool.id);
    this.#pending.get(id)?.();
    this.#pending.delete(id);
    this.#entries.delete(id);
    this.#feed.remove(id);
    this.#refresh([]);
  }

  #registered(compiled: CompiledDevice, tool: DeviceTool, slug: string): RegisteredTool {
    const { device } = compiled;
    const definition = deviceToolDefinition(device, tool, this.#freeName(device.id, tool.action, slug));
    const { access, directory } = this.#ports;
    return {
      id: toolId(definition),
      definition,
      handler: (params, context) =>
        runDeviceTool(device, tool, { params, call: { access, signal: context.signal, nowMs: context.clock.now() } }),
      effects: (params) => toolEffects(this.get(device.id) ?? compiled, tool, params),
      isAvailable: () => directory.get(device.id)?.reachability !== 'unreachable',
    };
  }

  /** Names of different devices may run into each other (`hall` + `light_…`, `hall light` + …): a tool is never taken over. */
  #freeName(device: DeviceId, action: string, slug: string): string {
    const name = toolName(slug, action);
    const owner = this.#ports.registry.get(toolId({ namespace: 'matter', name, version: '1.0.0' }));
    const isTaken = owner !== undefined && owner.definition.metadata.device !== device;
    return isTaken ? toolName(distinctSlug(slug, device), action) : name;
  }
}

function keyOf(tool: DeviceTool): string {
  return `${tool.endpoint}/${tool.action}`;
}

function formerNames(entry: Entry | undefined): ReadonlyMap<string, readonly string[]> {
  const keys = [...(entry?.tools ?? [])];
  return new Map(keys.map(([key, tool]) => [key, [...new Set([...(entry?.formerNames.get(key) ?? []), tool.definition.name])]]));
}

/** `<endpoint>/<cluster>/<attribute>` of all that a device has. */
function attributesOf({ endpoints }: DeviceDescription): ReadonlySet<string> {
  const paths = endpoints.flatMap(({ endpoint, clusters }) =>
    clusters.flatMap(({ name, attributes }) => attributes.map((attribute) => `${endpoint}/${name}/${attribute.name}`)),
  );
  return new Set(paths);
}
