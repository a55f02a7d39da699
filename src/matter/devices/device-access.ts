import type { DeviceAccess, DeviceCallOptions } from '../../core/devices/device-directory.ts';
import type { AttributePath, AttributeReading, CommandPath } from '../../core/devices/device-model.ts';
import { AtmoError } from '../../core/errors.ts';
import type { DeviceId } from '../../core/ids.ts';
import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts';
import type { AttributeShape, CommandShape } from '../model/cluster-shape.ts';
import { fromJson, refuseOutsideLimits, toJson } from '../model/value-json.ts';
import type { DeviceInteractions, FabricEntries, InteractionCall } from './device-interactions.ts';
import type { ReportTimes } from './device-reports.ts';
import type { KnownDevice, NodeDevices } from './node-devices.ts';
import { clustersOf, type PeerCluster } from './peer-structure.ts';

interface DeviceAccessCollaborators {
  readonly interactions: DeviceInteractions;
  readonly times: ReportTimes;
  readonly scope: PathScope;
  /** DEVICE_NOT_FOUND for an id that is not there. */
  find(id: DeviceId): { readonly node: NodeDevices; readonly known: KnownDevice };
  /** Told how each call ended: whether the node gave a sign of life. */
  onOutcome(node: NodeDevices, isAlive: boolean): void;
}

interface ReadItem {
  readonly path: AttributePath;
  readonly resolved: ResolvedCluster;
  readonly attribute: AttributeShape;
}

interface ReadOptions extends DeviceCallOptions {
  readonly entries: FabricEntries;
}

/** Reads, writes and commands by names and JSON values; errors as DeviceAccess. */
export class MatterDeviceAccess implements Pick<DeviceAccess, 'cached' | 'read' | 'write' | 'invoke'> {
  readonly #with: DeviceAccessCollaborators;

  constructor(collaborators: DeviceAccessCollaborators) {
    this.#with = collaborators;
  }

  cached(path: AttributePath): AttributeReading | undefined {
    const item = this.#item(path);
    const value = item.resolved.cluster.state[item.attribute.property];
    return value === undefined ? undefined : this.#reading(item, value, this.#with.times.of(item.resolved.node, path, item.attribute));
  }

  read(paths: readonly AttributePath[], options: DeviceCallOptions): Promise<readonly AttributeReading[]> {
    return this.#read(paths, { ...options, entries: 'ours' });
  }

  /** As `read`, with the entries of all fabrics, as far as the device shows them to us. */
  readOfAllFabrics(paths: readonly AttributePath[], options: DeviceCallOptions): Promise<readonly AttributeReading[]> {
    return this.#read(paths, { ...options, entries: 'of-all-fabrics' });
  }

  async #read(paths: readonly AttributePath[], options: ReadOptions): Promise<readonly AttributeReading[]> {
    const items = paths.map((path) => this.#item(path));
    const values = new Map<ReadItem, AttributeReading>();
    const byNode = Map.groupBy(items, ({ resolved }) => resolved.node);
    await Promise.all([...byNode.values()].map((group) => this.#readNode(group, { options, values })));
    return items.flatMap((item) => values.get(item) ?? []);
  }

  async write(path: AttributePath, value: Json, options: DeviceCallOptions): Promise<void> {
    const { resolved, attribute } = this.#item(path);
    // matter.js 0.17.9 would take the value into its cache and send nothing.
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
    await this.#watched(resolved.node, this.#with.interactions.write(call, request));
  }

  async invoke(path: CommandPath, fields: JsonObject, options: DeviceCallOptions): Promise<JsonObject | null> {
    const resolved = this.#resolve(path);
    const command = resolveCommand(resolved, path);
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
    const answer = await this.#watched(resolved.node, this.#with.interactions.invoke(call, request));
    if (command.response === undefined || answer === undefined) return null;
    const json = toJson(command.response, answer);
    return isJsonObject(json) ? json : null;
  }

  async #readNode(
    items: readonly ReadItem[],
    { options, values }: { readonly options: ReadOptions; readonly values: Map<ReadItem, AttributeReading> },
  ): Promise<void> {
    const first = items[0];
    if (first === undefined) return;
    const { node } = first.resolved;
    const what = items.map(({ path }) => `${path.cluster}.${path.attribute}`).join(', ');
    const targets = items.map(({ path, resolved, attribute }) => ({
      endpoint: path.endpoint,
      cluster: resolved.cluster.shape.id,
      attribute: attribute.id,
    }));
    const call = this.#call(first.resolved, `Reading ${what} of ${first.path.device}`, options);
    const answers = await this.#watched(node, this.#with.interactions.read(call, targets, options.entries));
    for (const [index, item] of items.entries()) {
      if (answers[index] === undefined)
        throw new AtmoError('NOT_SUPPORTED', `The device did not answer for ${item.path.cluster}.${item.path.attribute}`);
      values.set(item, this.#reading(item, answers[index], this.#with.times.note(node, item.path)));
    }
  }

  async #watched<Result>(node: NodeDevices, work: Promise<Result>): Promise<Result> {
    try {
      const result = await work;
      this.#with.onOutcome(node, true);
      return result;
    } catch (error) {
      if (error instanceof AtmoError && SILENT.has(error.code)) this.#with.onOutcome(node, false);
      throw error;
    }
  }

  #call({ node }: ResolvedCluster, what: string, { signal }: DeviceCallOptions): InteractionCall {
    return { node: node.node, link: node.link, isSleepy: node.isSleepy, what, signal };
  }

  #item(path: AttributePath): ReadItem {
    const resolved = this.#resolve(path);
    return { path, resolved, attribute: resolveAttribute(resolved, path) };
  }

  #resolve(path: { readonly device: DeviceId; readonly endpoint: number; readonly cluster: string }): ResolvedCluster {
    return resolveCluster({ ...this.#with.find(path.device), scope: this.#with.scope }, path);
  }

  #reading({ path, resolved, attribute }: ReadItem, value: unknown, atMs: number): AttributeReading {
    return { path, value: toJson(attribute.shape, value), atMs, reachability: resolved.known.device.reachability };
  }
}

// matter.js 0.17.9 encodes the bitmap of these inherited commands without any bit.
const UNSENDABLE = /^(Dishwasher|Refrigerator|Temperature)Alarm\.(Reset|ModifyEnabledAlarms)$/;
const SILENT: ReadonlySet<string> = new Set(['DEVICE_UNREACHABLE', 'OUTCOME_UNKNOWN']);

// A bridge may keep a command for a device that it cannot reach and run it much later.
function refuseBehindBridge({ known, node }: ResolvedCluster): void {
  const { device } = known;
  if (device.kind === 'node' || device.reachability !== 'unreachable' || node.reachability !== 'reachable') return;
  throw new AtmoError('DEVICE_UNREACHABLE', `The bridge says that it cannot reach ${device.id}; nothing was sent`);
}

/** A cluster of a device, found by its names. */
interface ResolvedCluster {
  readonly node: NodeDevices;
  readonly known: KnownDevice;
  readonly endpoint: number;
  readonly cluster: PeerCluster;
}

/** Which endpoints of its node a path may name: those of the device, or, for administration, all. */
type PathScope = 'device' | 'node';

/** The cluster that a path names; NOT_SUPPORTED tells which endpoints and clusters there are. */
function resolveCluster(
  place: { readonly node: NodeDevices; readonly known: KnownDevice; readonly scope: PathScope },
  path: { readonly endpoint: number; readonly cluster: string },
): ResolvedCluster {
  const { node, known, scope } = place;
  const endpoints = scope === 'device' ? known.planned.endpoints : [...node.node.endpoints].map(({ number }) => number);
  const endpoint = endpoints.includes(path.endpoint) ? node.endpoint(path.endpoint) : undefined;
  if (endpoint === undefined) throw absent(`${known.device.id} has no endpoint ${path.endpoint}`, endpoints.map(String));
  const clusters = clustersOf(endpoint);
  const cluster = clusters.get(path.cluster);
  if (cluster === undefined)
    throw absent(`Endpoint ${path.endpoint} of ${known.device.id} has no cluster ${path.cluster}`, [...clusters.keys()]);
  return { node, known, endpoint: path.endpoint, cluster };
}

/** The attribute that a path names; NOT_SUPPORTED tells which there are. */
function resolveAttribute(resolved: ResolvedCluster, path: AttributePath): AttributeShape {
  const { attributes } = resolved.cluster.shape;
  const attribute = attributes.get(path.attribute);
  if (attribute === undefined) throw absent(`${path.cluster} of ${path.device} has no attribute ${path.attribute}`, [...attributes.keys()]);
  return attribute;
}

/** The command that a path names; NOT_SUPPORTED tells which there are. */
function resolveCommand(resolved: ResolvedCluster, path: CommandPath): CommandShape {
  const { commands } = resolved.cluster.shape;
  const command = commands.get(path.command);
  if (command === undefined) throw absent(`${path.cluster} of ${path.device} takes no command ${path.command}`, [...commands.keys()]);
  return command;
}

function absent(what: string, names: readonly string[]): AtmoError {
  const there = names.length > 0 ? `there are ${names.join(', ')}` : 'there are none';
  return new AtmoError('NOT_SUPPORTED', `${what}; ${there}`, { available: names });
}
