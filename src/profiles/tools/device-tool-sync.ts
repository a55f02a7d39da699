import type { HubContext } from '../../core/context.ts';
import type { DeviceAccess, DeviceChange, DeviceDirectory } from '../../core/devices/device-directory.ts';
import type { AttributeReading, Device, DeviceDescription, DeviceEvent } from '../../core/devices/device-model.ts';
import type { ReadingStore } from '../../core/devices/sensor-readings.ts';
import { toAtmoError } from '../../core/errors.ts';
import { attemptWrite } from '../../core/files/file-system.ts';
import type { DeviceId, SensorId } from '../../core/ids.ts';
import type { JsonObject, JsonSchema } from '../../core/json.ts';
import type { Service } from '../../core/lifecycle.ts';
import type { RegisteredTool } from '../../tools/definition/tool-definition.ts';
import { toolId } from '../../tools/definition/tool-names.ts';
import type { ToolRegistry } from '../../tools/registry/tool-registry.ts';
import { compileDevice } from '../compile/compile-device.ts';
import type { CompiledDevice, CompiledDevices, DeviceEventRule, DeviceTool } from '../compile/compiled-device.ts';
import type { ProfileSet } from '../files/profile-set.ts';
import type { DeviceNameRegistry, NamedTool, ToolToName } from '../home/device-name-registry.ts';
import { byRightToName, plainPrefix, unclaimedPrefixes, unclaimedSecondPrefix, unclaimedToolName } from '../home/device-tool-names.ts';
import { memberOf } from '../values/converters.ts';
import { createdContent, deviceToolDefinition } from './device-tool-definition.ts';
import { ReadingRecorder } from './reading-recorder.ts';
import { runDeviceTool, toolEffects } from './run-device-tool.ts';

// Delay before a device is compiled again. The first reports of a device come in a burst, and one compilation after it is enough.
const SETTLE_MS = 250;

/** The services that the synchronisation uses. */
export interface DeviceToolPorts extends Pick<HubContext, 'clock' | 'logger' | 'events'> {
  readonly directory: DeviceDirectory;
  readonly access: DeviceAccess;
  readonly registry: ToolRegistry;
  readonly readings: ReadingStore;
  readonly profiles: ProfileSet;
  readonly names: DeviceNameRegistry;
}

interface Entry {
  readonly compiled: CompiledDevice;
  /** Key of a tool → its registered tool. */
  readonly tools: ReadonlyMap<string, RegisteredTool>;
}

/**
 * Keeps the registered tools and sensors up to date when a device is added, changes or is removed. The tools of an unreachable device stay
 * registered, and every former tool name is an alias.
 */
export class DeviceToolSync implements Service, CompiledDevices {
  readonly #ports: DeviceToolPorts;
  readonly #recorder: ReadingRecorder;
  readonly #entries = new Map<DeviceId, Entry>();
  readonly #pending = new Map<DeviceId, () => void>();
  #stops: readonly (() => void)[] = [];
  #isOpen = false;

  constructor(ports: DeviceToolPorts) {
    this.#ports = ports;
    this.#recorder = new ReadingRecorder(ports);
  }

  async start(): Promise<void> {
    const { directory, access } = this.#ports;
    this.#stops = [
      directory.onChange((change) => this.#onChange(change)),
      access.onReport((report) => this.#onReport(report)),
      access.onEvent((event) => this.#onEvent(event)),
    ];
  }

  /** Makes the tools of all devices. Call it after all are loaded: otherwise the load order would decide which device gets a name. */
  open(): void {
    const { directory, names, logger } = this.#ports;
    this.#isOpen = true;
    const devices = byRightToName(directory.list());
    if (!names.isOpen) this.#adoptUnclaimedNames(devices);
    if (!names.hasReadings) this.#adoptReadings(devices);
    const compiled = new Map(devices.map(({ id }) => [id, this.#compile(id)]));
    for (const one of compiled.values()) if (one) this.#nameTools(one);
    for (const { id } of directory.list()) this.#enter(compiled.get(id));
    // A failed write is only logged. The next start then repeats the assignment, with the same names.
    attemptWrite(
      () => names.open(),
      (problem) => logger.error('device.names_not_kept', { problem }),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const stop of [...this.#stops, ...this.#pending.values()]) stop();
    this.#stops = [];
    this.#pending.clear();
  }

  /** Makes the tools of a device again; also called after the owner changed the device's names. */
  refresh(id: DeviceId): void {
    if (this.#isOpen) this.#enter(this.#compile(id));
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

  /** Returns the endpoint, name and schema of the value that a sensor shows; undefined for a sensor that is not of a compiled device. */
  shownBy(sensor: SensorId): { readonly endpoint: number; readonly name: string; readonly schema: JsonSchema } | undefined {
    const reading = this.#recorder.readingOf(sensor);
    // A reading may have another name than its value, because two readings of a device must differ. Its key ends with that of the value.
    return reading && { endpoint: reading.endpoint, name: reading.key.split('/').at(-1) ?? reading.name, schema: reading.schema };
  }

  /** Returns the unit of a value of a device, such as `%`; undefined if the value is not known. */
  unitOf({ device, endpoint, name }: { readonly device: DeviceId; readonly endpoint: number; readonly name: string }): string | undefined {
    return this.get(device)?.values.find((value) => value.endpoint === endpoint && value.name === name)?.unit;
  }

  /** Returns the events that the hub passes on from a device, each as `Cluster/Event`; undefined for an unknown device. */
  eventsOf(device: DeviceId): readonly string[] | undefined {
    return this.get(device)?.events.map(({ cluster, event }) => `${cluster}/${event}`);
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
    else this.refresh(device.id);
    events.emit(`device.${change.kind}`, device.id, { name: device.name, device_types: device.deviceTypes });
  }

  #onReport(report: AttributeReading): void {
    this.#recorder.take(report);
    const { device, endpoint, cluster, attribute } = report.path;
    const isLimit = this.#entries.get(device)?.compiled.dependsOn.has(`${endpoint}/${cluster}/${attribute}`) ?? false;
    if (!isLimit || this.#pending.has(device)) return;
    this.#pending.set(
      device,
      this.#ports.clock.after(SETTLE_MS, () => {
        this.#pending.delete(device);
        this.refresh(device);
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
      title: eventTitle(rule, data),
      kind: rule.kind,
      endpoint,
      cluster,
      data,
      at_ms: atMs,
    });
  }

  #enter(compiled: CompiledDevice | undefined): void {
    if (!compiled) return;
    const { id } = compiled.device;
    const before = this.#entries.get(id);
    const names = this.#nameTools(compiled);
    const nameOf = (tool: DeviceTool) => names.get(tool.key) ?? { name: tool.action, aliases: [] };
    const registered = (tool: DeviceTool) => this.#registered(compiled, tool, nameOf);
    const entry = { compiled, tools: new Map(compiled.tools.map((tool) => [tool.key, registered(tool)])) };
    this.#entries.set(id, entry);
    this.#replace(before, entry);
    const readings = this.#ports.names.nameReadings(id, compiled.readings);
    this.#save(id);
    this.#recorder.set(compiled, readings);
  }

  #compile(id: DeviceId): CompiledDevice | undefined {
    const { access, directory, profiles } = this.#ports;
    const description = directory.describe(id);
    if (!description) return undefined;
    const known = attributesOf(description);
    return compileDevice(description, profiles, (endpoint, cluster, attribute) => {
      // `cached` throws NOT_SUPPORTED for an attribute that the device lacks.
      if (!known.has(`${endpoint}/${cluster}/${attribute}`)) return undefined;
      return access.cached({ device: id, endpoint, cluster, attribute })?.value;
    });
  }

  #nameTools({ device, tools }: CompiledDevice): ReadonlyMap<string, NamedTool> {
    const { names, directory, logger } = this.#ports;
    const isNew = names.prefixOf(device.id) === undefined;
    const others = directory.list().map(plainPrefix);
    const named = names.name(device, tools.map(toolToName), others);
    const prefix = names.prefixOf(device.id) ?? '';
    const holder = names.holderOfWanted(device);
    if (isNew && holder !== undefined) logger.warn('device.name_taken', { device: device.id, holder, tools_begin_with: prefix });
    this.#save(device.id);
    return named;
  }

  #save(device: DeviceId): void {
    try {
      this.#ports.names.save(device);
    } catch (thrown) {
      this.#ports.logger.error('device.names_not_kept', { device, problem: toAtmoError(thrown).message });
    }
  }

  /** Stores the reading ids that an older hub version used but did not store. */
  #adoptReadings(devices: readonly Device[]): void {
    for (const { id } of devices) {
      const readings = this.#compile(id)?.readings ?? [];
      const former = readings.map(({ key, endpoint, formerPath }) => ({ key, endpoint, path: formerPath }));
      this.#ports.names.nameReadings(id, former);
    }
  }

  /** Stores the tool names that an older hub version used but did not store. */
  #adoptUnclaimedNames(devices: readonly Device[]): void {
    const prefixes = unclaimedPrefixes(devices);
    const { names } = this.#ports;
    for (const device of devices) {
      const prefix = prefixes.get(device.id) ?? plainPrefix(device);
      const second = unclaimedSecondPrefix(device);
      const isAlone = devices.filter((other) => plainPrefix(other) === plainPrefix(device)).length === 1;
      const tools = this.#compile(device.id)?.tools ?? [];
      const named = tools.map((tool): [string, readonly string[]] => {
        const forms = [tool.formerAction ?? tool.numbered ?? tool.action, tool.alias ?? []].flat();
        const plain = forms.map((form) => unclaimedToolName(prefix, form));
        // If another device already holds a name in `plain`, an older hub version may have used the second prefix for this device's tools.
        const isTaken = plain.some((name) => names.holderOf(name) !== undefined);
        return [tool.key, isAlone && !isTaken ? plain : [...plain, ...forms.map((form) => unclaimedToolName(second, form))]];
      });
      names.adopt(device, prefix, new Map(named));
    }
  }

  #replace(before: Entry | undefined, { tools }: Entry): void {
    for (const [key, tool] of before?.tools ?? []) if (tools.get(key)?.id !== tool.id) this.#ports.registry.unregister(tool.id);
    for (const [key, tool] of tools) this.#register(tool, before?.tools.get(key));
  }

  #register(tool: RegisteredTool, old: RegisteredTool | undefined): void {
    const facts = ({ id, aliases, definition }: RegisteredTool) => JSON.stringify([id, aliases, definition]);
    const isSame = old !== undefined && facts(old) === facts(tool);
    if (isSame && this.#ports.registry.get(tool.id)) return;
    try {
      this.#ports.registry.register(tool, { replace: true });
    } catch (error) {
      // The error is only logged, so that one tool does not prevent the registration of the others.
      this.#ports.logger.error('device.tool_refused', { tool: tool.id, reason: error instanceof Error ? error.message : 'unknown' });
    }
  }

  #remove(id: DeviceId): void {
    for (const tool of this.#entries.get(id)?.tools.values() ?? []) this.#ports.registry.unregister(tool.id);
    this.#pending.get(id)?.();
    this.#pending.delete(id);
    this.#entries.delete(id);
    this.#recorder.remove(id);
  }

  #registered(compiled: CompiledDevice, tool: DeviceTool, nameOf: (tool: DeviceTool) => NamedTool): RegisteredTool {
    const { device } = compiled;
    const { name, aliases } = nameOf(tool);
    const definition = deviceToolDefinition(device, tool, name);
    const { access, directory } = this.#ports;
    return {
      id: toolId(definition),
      definition,
      aliases,
      handler: (params, context) =>
        runDeviceTool(this.get(device.id) ?? compiled, tool, {
          params,
          call: { access, signal: context.signal, nowMs: context.clock.now() },
        }),
      effects: (params) => toolEffects(this.get(device.id) ?? compiled, tool, params),
      restorable: (params) =>
        createdContent({
          compiled: this.get(device.id) ?? compiled,
          tool,
          params,
          isCurrent: () => access.isCurrent(device.id),
          nameOf: (other) => `matter:${nameOf(other).name}`,
        }),
      isAvailable: () => directory.get(device.id)?.reachability !== 'unreachable',
    };
  }
}

/** Returns the title of an event. `titleBy` can select it by a number in the event's data, such as how often a button was pressed. */
function eventTitle({ title, titleBy }: DeviceEventRule, data: JsonObject): string {
  const number = titleBy && memberOf(data, titleBy.member);
  return titleBy?.titles[String(number)] ?? title;
}

function toolToName({ key, action, alias, numbered }: DeviceTool): ToolToName {
  return { key, action, shortForms: [alias, numbered].filter((form) => form !== undefined && form !== action) as readonly string[] };
}

/** Returns all attributes of a device as `<endpoint>/<cluster>/<attribute>`. */
function attributesOf({ endpoints }: DeviceDescription): ReadonlySet<string> {
  const paths = endpoints.flatMap(({ endpoint, clusters }) =>
    clusters.flatMap(({ name, attributes }) => attributes.map((attribute) => `${endpoint}/${name}/${attribute.name}`)),
  );
  return new Set(paths);
}
