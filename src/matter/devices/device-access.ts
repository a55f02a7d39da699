import type { Clock } from '../../core/clock.ts';
import type { DeviceAccess, DeviceCallOptions, ExpectedValue, ReadBack } from '../../core/devices/device-directory.ts';
import type { AttributePath, AttributeReading, CommandPath } from '../../core/devices/device-model.ts';
import { AtmoError } from '../../core/errors.ts';
import type { DeviceId } from '../../core/ids.ts';
import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts';
import type { AttributeShape } from '../model/data-model.ts';
import { fromJson, refuseOutsideLimits, toJson } from '../model/value-json.ts';
import type { DeviceInteractions, FabricEntries, InteractionCall } from './device-interactions.ts';
import type { ReportTimes } from './device-reports.ts';
import type { KnownDevice, NodeDevices } from './node-devices.ts';
import { clustersOf, type PeerCluster } from './peer-structure.ts';
import type { AwaitedAttribute, CommandReports } from './read-back.ts';

interface DeviceAccessCollaborators {
  readonly interactions: DeviceInteractions;
  readonly times: ReportTimes;
  readonly reports: CommandReports;
  readonly clock: Clock;
  readonly scope: PathScope;
  /** Returns a device and its node. Throws DEVICE_NOT_FOUND if there is no such device. */
  find(id: DeviceId): { readonly node: NodeDevices; readonly known: KnownDevice };
  /** Called after each call. `isAlive` tells whether the node responded. */
  onOutcome(node: NodeDevices, isAlive: boolean): void;
}

interface ReadItem {
  readonly path: AttributePath;
  readonly resolved: ResolvedCluster;
  readonly attribute: AttributeShape;
}

/** Reads and writes attributes and invokes commands, by name and with JSON values. Throws the errors that DeviceAccess lists. */
export class MatterDeviceAccess implements Pick<DeviceAccess, 'cached' | 'read' | 'awaitReports' | 'write' | 'invoke'> {
  readonly #parts: DeviceAccessCollaborators;

  constructor(parts: DeviceAccessCollaborators) {
    this.#parts = parts;
  }

  cached(path: AttributePath): AttributeReading | undefined {
    const item = this.#item(path);
    const value = item.resolved.cluster.state[item.attribute.property];
    return value === undefined ? undefined : this.#reading(item, value, this.#parts.times.of(item.resolved.node, path, item.attribute));
  }

  read(paths: readonly AttributePath[], options: DeviceCallOptions): Promise<readonly AttributeReading[]> {
    return this.#read(paths, options, 'ours');
  }

  /** Reads attributes like `read`, but a fabric-scoped list contains the entries of all fabrics, as far as the device shows them to us. */
  readOfAllFabrics(paths: readonly AttributePath[], options: DeviceCallOptions): Promise<readonly AttributeReading[]> {
    return this.#read(paths, options, 'of-all-fabrics');
  }

  async #read(paths: readonly AttributePath[], options: DeviceCallOptions, entries: FabricEntries): Promise<readonly AttributeReading[]> {
    const items = paths.map((path) => this.#item(path));
    const byNode = Map.groupBy(items, ({ resolved }) => resolved.node);
    const readings = await Promise.all([...byNode].map(([node, group]) => this.#readNode(node, group, { ...options, entries })));
    const byItem = new Map(readings.flat());
    return items.flatMap((item) => byItem.get(item) ?? []);
  }

  awaitReports(values: readonly ExpectedValue[]): ReadBack {
    const items = values.map(({ path }) => this.#item(path));
    const node = items[0]?.resolved.node;
    const awaited =
      node &&
      this.#parts.reports.awaitReport(
        node.link,
        items.map((item, index) => awaitedAttribute(item, values[index])),
      );
    return {
      read: async ({ signal }) => {
        const answer = node && this.#parts.interactions.answerOf(node.node);
        const reported = answer && (await awaited?.values(answer, signal));
        return reported === undefined
          ? this.#timedRead(values, { node, signal })
          : items.map((item, index) => this.#reportedReading(item, reported[index]));
      },
      [Symbol.dispose]: () => awaited?.[Symbol.dispose](),
    };
  }

  /** Returns what a report says; a value that it leaves out is the one of before, since a report has all that has changed (Core §8.5). */
  #reportedReading(item: ReadItem, value: unknown): AttributeReading {
    const { cluster, node } = item.resolved;
    const told = value === undefined ? cluster.state[item.attribute.property] : value;
    return this.#reading(item, told, this.#parts.times.note(node, item.path));
  }

  async #timedRead(
    values: readonly ExpectedValue[],
    { node, signal }: DeviceCallOptions & { readonly node: NodeDevices | undefined },
  ): Promise<readonly AttributeReading[]> {
    const { clock, reports } = this.#parts;
    const startedMs = clock.monotonic();
    const readings = await this.read(
      values.map(({ path }) => path),
      { signal },
    );
    if (node !== undefined) reports.timingOf(node.link).noteRead(clock.monotonic() - startedMs);
    return readings;
  }

  async write(path: AttributePath, value: Json, options: DeviceCallOptions): Promise<void> {
    const { resolved, attribute } = this.#item(path);
    // The hub must check this, because matter.js 0.17.9 would write a read-only attribute to its own cache and send nothing.
    if (!attribute.facts.writable)
      throw new AtmoError('NOT_SUPPORTED', `${path.cluster}.${path.attribute} of ${path.device} cannot be written`);
    const converted = fromJson(attribute.shape, value);
    refuseOutsideLimits(attribute.shape, converted, { state: resolved.cluster.state, pointer: '' });
    const request = {
      endpoint: path.endpoint,
      cluster: resolved.cluster.type,
      attribute: attribute.property,
      value: converted,
      isTimed: attribute.isWriteTimed,
    };
    const call = this.#call(resolved, `Writing ${path.cluster}.${path.attribute} of ${path.device}`, options);
    await this.#reported(resolved.node, this.#parts.interactions.write(call, request));
  }

  async invoke(path: CommandPath, fields: JsonObject, options: DeviceCallOptions): Promise<JsonObject | null> {
    const resolved = this.#resolve(path);
    const command = named(resolved.cluster.shape.commands, path.command, `${path.cluster} of ${path.device} takes no command`);
    if (UNSENDABLE.test(`${path.cluster}.${path.command}`)) {
      throw new AtmoError(
        'NOT_SUPPORTED',
        `${path.cluster}.${path.command} cannot be sent: matter.js would leave out which alarms are meant`,
      );
    }
    const converted = fromJson(command.request, fields);
    refuseOutsideLimits(command.request, converted, { state: resolved.cluster.state, pointer: '' });
    refuseBehindBridge(resolved);
    const request = {
      endpoint: path.endpoint,
      cluster: resolved.cluster.type,
      command: command.property,
      fields: command.request.fields.length > 0 ? converted : undefined,
    };
    const call = this.#call(resolved, `${path.cluster}.${path.command} on ${path.device}`, options);
    const answer = await this.#reported(resolved.node, this.#parts.interactions.invoke(call, request));
    if (command.response === undefined || answer === undefined) return null;
    const json = toJson(command.response, answer);
    return isJsonObject(json) ? json : null;
  }

  async #readNode(
    node: NodeDevices,
    items: readonly ReadItem[],
    { entries, signal }: DeviceCallOptions & { readonly entries: FabricEntries },
  ): Promise<readonly (readonly [ReadItem, AttributeReading])[]> {
    const names = items.map(({ path }) => `${path.cluster}.${path.attribute}`).join(', ');
    const targets = items.map(({ path, resolved, attribute }) => ({
      endpoint: path.endpoint,
      cluster: resolved.cluster.shape.id,
      attribute: attribute.id,
    }));
    const { interactions, reports } = this.#parts;
    const read = (own: AbortSignal) => {
      const call = this.#call({ node }, `Reading ${names} of ${items[0]?.path.device}`, { signal: own });
      return this.#reported(node, interactions.read(call, targets, entries));
    };
    const { values } = await reports.latest(node.link, read, signal);
    return items.map((item, index) => {
      if (values[index] === undefined)
        throw new AtmoError('NOT_SUPPORTED', `The device did not answer for ${item.path.cluster}.${item.path.attribute}`);
      return [item, this.#reading(item, values[index], this.#parts.times.note(node, item.path))];
    });
  }

  async #reported<Result>(node: NodeDevices, work: Promise<Result>): Promise<Result> {
    try {
      const result = await work;
      this.#parts.onOutcome(node, true);
      return result;
    } catch (error) {
      if (error instanceof AtmoError && SILENT.has(error.code)) this.#parts.onOutcome(node, false);
      throw error;
    }
  }

  #call({ node }: Pick<ResolvedCluster, 'node'>, what: string, { signal }: DeviceCallOptions): InteractionCall {
    return { node: node.node, link: node.link, isSleepy: node.isSleepy, what, signal };
  }

  #item(path: AttributePath): ReadItem {
    const resolved = this.#resolve(path);
    const { attributes } = resolved.cluster.shape;
    return { path, resolved, attribute: named(attributes, path.attribute, `${path.cluster} of ${path.device} has no attribute`) };
  }

  #resolve(path: { readonly device: DeviceId; readonly endpoint: number; readonly cluster: string }): ResolvedCluster {
    return resolveCluster({ ...this.#parts.find(path.device), scope: this.#parts.scope }, path);
  }

  #reading({ path, resolved, attribute }: ReadItem, value: unknown, atMs: number): AttributeReading {
    return { path, value: toJson(attribute.shape, value), atMs, reachability: resolved.known.device.reachability };
  }
}

function awaitedAttribute({ path, resolved: { cluster }, attribute }: ReadItem, expected: ExpectedValue | undefined): AwaitedAttribute {
  const isReached = (value: unknown) => value !== undefined && expected?.isReached(toJson(attribute.shape, value)) === true;
  return {
    endpoint: path.endpoint,
    cluster: cluster.shape.id,
    attribute: attribute.id,
    behavior: cluster.behavior,
    property: attribute.property,
    isKnown: !attribute.facts.changesOmitted && isReached(cluster.state[attribute.property]),
    isReached,
  };
}

// These alarm commands are refused: their bitmap is inherited, and matter.js 0.17.9 would send an inherited bitmap without any bit set.
const UNSENDABLE = /^(Dishwasher|Refrigerator|Temperature)Alarm\.(Reset|ModifyEnabledAlarms)$/;
const SILENT: ReadonlySet<string> = new Set(['DEVICE_UNREACHABLE', 'OUTCOME_UNKNOWN']);

// Throws DEVICE_UNREACHABLE if a bridge cannot reach its device. Otherwise the bridge might store the command and run it much later.
function refuseBehindBridge({ known, node }: ResolvedCluster): void {
  const { device } = known;
  if (device.kind === 'node' || device.reachability !== 'unreachable' || node.reachability !== 'reachable') return;
  throw new AtmoError('DEVICE_UNREACHABLE', `The bridge reports that it cannot reach ${device.id}; nothing was sent`);
}

interface ResolvedCluster {
  readonly node: NodeDevices;
  readonly known: KnownDevice;
  readonly cluster: PeerCluster;
}

/** Which endpoints a path may name: those of the device or, for administration, all endpoints of its node. */
type PathScope = 'device' | 'node';

/** Returns the cluster of a path. If the device lacks the endpoint or the cluster, throws NOT_SUPPORTED with those that it has. */
function resolveCluster(
  { node, known, scope }: { readonly node: NodeDevices; readonly known: KnownDevice; readonly scope: PathScope },
  path: { readonly endpoint: number; readonly cluster: string },
): ResolvedCluster {
  const endpoints = scope === 'device' ? known.planned.endpoints : [...node.node.endpoints].map(({ number }) => number);
  const endpoint = endpoints.includes(path.endpoint) ? node.endpoint(path.endpoint) : undefined;
  if (endpoint === undefined) throw absent(`${known.device.id} has no endpoint ${path.endpoint}`, endpoints.map(String));
  const cluster = named(clustersOf(endpoint), path.cluster, `Endpoint ${path.endpoint} of ${known.device.id} has no cluster`);
  return { node, known, cluster };
}

/** Returns an element by its name. If no element has the name, throws NOT_SUPPORTED with all names. */
function named<Element>(elements: ReadonlyMap<string, Element>, name: string, problem: string): Element {
  const element = elements.get(name);
  if (element === undefined) throw absent(`${problem} ${name}`, [...elements.keys()]);
  return element;
}

function absent(problem: string, names: readonly string[]): AtmoError {
  const available = names.length > 0 ? `there are ${names.join(', ')}` : 'there are none';
  return new AtmoError('NOT_SUPPORTED', `${problem}; ${available}`, { available: names });
}
