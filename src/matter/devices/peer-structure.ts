import type { Endpoint } from '@matter/main';
import { ThreadNetworkDiagnostics } from '@matter/main/clusters/thread-network-diagnostics';
import { type ClientNode, ClusterBehavior } from '@matter/main/node';
import type { ClusterType } from '@matter/main/types';
import { Matter } from '@matter/model';
import type { DeviceTypeEntry, SemanticTag } from '../../core/devices/device-model.ts';
import { type ClusterShape, clusterShapeOf, deviceTypeName, type SupportedElements } from '../model/data-model.ts';
import { deviceText, type EndpointSnapshot, type NodeSnapshot, type ProductFacts } from './device-composition.ts';

type State = Readonly<Record<string, unknown>>;

const NO_STATE: State = {};
// Minimum idle interval, in milliseconds, of a sleepy battery node. A probe waits for less time, so such a node may not answer in time.
const SLEEPY_IDLE_MS = 2_000;

/** Returns the cached structure of a commissioned node. */
export function snapshotOf(node: ClientNode, nodeId: string): NodeSnapshot {
  const endpoints = [...node.endpoints].filter(isRead);
  const parents = parentsOf(endpoints);
  return {
    nodeId,
    facts: productFacts(stateOf(node, 'basicInformation')),
    endpoints: endpoints.map((endpoint) => endpointSnapshot(endpoint, parents)).sort((a, b) => a.number - b.number),
  };
}

/** Returns the cached state of a behavior by its matter.js id; an empty object if the endpoint does not have the behavior. */
export function stateOf(endpoint: Endpoint, behavior: string): State {
  if (!(behavior in endpoint.behaviors.supported)) return NO_STATE;
  return (endpoint.maybeStateOf(behavior) as State | undefined) ?? NO_STATE;
}

/** Facts that tell whether a node sleeps. A node that sleeps cannot receive messages at all times. */
export interface SleepFacts {
  /** True if the node has the ICD Management cluster: an intermittently connected device (Core §9.16). */
  readonly isIntermittent: boolean;
  /** True if the node is a sleepy end device in its Thread network (Core §11.14.5.4). */
  readonly isThreadSleepy: boolean;
  /** True if all power sources of the node are batteries. */
  readonly isBatteryOnly: boolean;
  /** The idle interval that the session negotiated; undefined without a session. */
  readonly idleIntervalMs: number | undefined;
}

/**
 * Returns whether a node sleeps between messages. Batteries alone are no proof: a robot vacuum has them, but always listens. A long idle
 * interval alone is no proof either: mains-powered devices with old firmware negotiate one. Both together are proof. Long means longer than
 * a probe waits.
 */
export function sleeps({ isIntermittent, isThreadSleepy, isBatteryOnly, idleIntervalMs = 0 }: SleepFacts): boolean {
  return isIntermittent || isThreadSleepy || (isBatteryOnly && idleIntervalMs >= SLEEPY_IDLE_MS);
}

/** Returns the sleep facts of a commissioned node from its cached state and its session. */
export function sleepFacts(node: ClientNode, idleIntervalMs: number | undefined): SleepFacts {
  const sources = [...node.endpoints]
    .filter((endpoint) => !isBridged(endpoint))
    .map((endpoint) => stateOf(endpoint, 'powerSource').featureMap);
  const present = sources.filter((features): features is State => typeof features === 'object' && features !== null);
  return {
    isIntermittent: 'icdManagement' in node.behaviors.supported,
    isThreadSleepy: stateOf(node, 'threadNetworkDiagnostics').routingRole === ThreadNetworkDiagnostics.RoutingRole.SleepyEndDevice,
    isBatteryOnly: present.length > 0 && present.every((features) => features.battery === true && features.wired !== true),
    idleIntervalMs,
  };
}

function endpointSnapshot(endpoint: Endpoint, parents: ReadonlyMap<number, number>): EndpointSnapshot {
  const descriptor = stateOf(endpoint, 'descriptor');
  const deviceTypes = listOf(descriptor.deviceTypeList).flatMap(deviceType);
  const parent = parents.get(endpoint.number);
  const [userLabel, fixedLabel] = ['userLabel', 'fixedLabel'].map((behavior) => labelIn(stateOf(endpoint, behavior)));
  return {
    number: endpoint.number,
    ...(endpoint.number !== 0 && { parent: parent ?? 0 }),
    deviceTypes,
    isApplication: endpoint.number !== 0 && deviceTypes.some(({ id }) => isApplicationType(id)),
    tags: listOf(descriptor.tagList).flatMap(semanticTag),
    ...(userLabel && { userLabel }),
    ...(fixedLabel && { fixedLabel }),
    ...(isBridged(endpoint) && { bridged: productFacts(stateOf(endpoint, 'bridgedDeviceBasicInformation')) }),
    clusters: Object.keys(endpoint.behaviors.supported).sort(),
  };
}

/**
 * Returns whether matter.js has already read an endpoint. After the read, an endpoint has device types and clusters (Core §9.5.6), and a
 * bridged device has Reachable (Core §9.13.4). Without this check, a new device would be added, removed and added again.
 */
function isRead(endpoint: Endpoint): boolean {
  if (endpoint.number === 0) return true;
  const { deviceTypeList, serverList } = stateOf(endpoint, 'descriptor');
  if (listOf(deviceTypeList).length === 0 && listOf(serverList).length === 0) return false;
  return !isBridged(endpoint) || Object.values(stateOf(endpoint, 'bridgedDeviceBasicInformation')).some((value) => value !== undefined);
}

function isBridged(endpoint: Endpoint): boolean {
  return 'bridgedDeviceBasicInformation' in endpoint.behaviors.supported;
}

// Returns the parent of each endpoint: the endpoint with the shortest PartsList that contains it. The PartsList of endpoint 0 has all
// endpoints; other PartsLists have only the endpoints below.
function parentsOf(endpoints: readonly Endpoint[]): ReadonlyMap<number, number> {
  const lists = endpoints
    .filter(({ number }) => number !== 0)
    .map((endpoint) => ({ number: endpoint.number, parts: listOf(stateOf(endpoint, 'descriptor').partsList).map(Number) }))
    .sort((a, b) => b.parts.length - a.parts.length);
  return new Map(lists.flatMap(({ number, parts }) => parts.map((part) => [part, number] as const)));
}

function isApplicationType(id: number): boolean {
  const classification = Matter.deviceTypes(id)?.classification;
  return classification === undefined || classification === 'simple' || classification === 'dynamic';
}

function deviceType(entry: unknown): readonly DeviceTypeEntry[] {
  const { deviceType: id, revision } = entry as { deviceType?: unknown; revision?: unknown };
  return typeof id === 'number' ? [{ id, name: deviceTypeName(id), revision: Number(revision ?? 1) }] : [];
}

function semanticTag(entry: unknown): readonly SemanticTag[] {
  const { namespaceId, tag, label } = entry as { namespaceId?: unknown; tag?: unknown; label?: unknown };
  if (typeof namespaceId !== 'number' || typeof tag !== 'number') return [];
  const text = deviceText(label);
  return [{ namespace: namespaceId, tag, ...(text !== '' && { label: text }) }];
}

/** Returns the values of a label cluster (Core §9.7, §9.8) as one text, without the keys, which are not standardised. */
function labelIn(state: State): string {
  const values = listOf(state.labelList).map((entry) => deviceText((entry as { readonly value?: unknown }).value));
  return [...new Set(values.filter((value) => value !== ''))].join(' ');
}

function productFacts(state: State): ProductFacts {
  return {
    label: deviceText(state.nodeLabel),
    vendor: { id: Number(state.vendorId ?? 0), name: deviceText(state.vendorName) },
    product: { id: Number(state.productId ?? 0), name: deviceText(state.productName) },
    serial: deviceText(state.serialNumber),
    softwareVersion: deviceText(state.softwareVersionString),
    uniqueId: deviceText(state.uniqueId),
  };
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? [...(value as unknown[])] : [];
}

/** A server cluster on one endpoint of a peer. */
export interface PeerCluster {
  readonly shape: ClusterShape;
  /** Id of the matter.js behavior, such as `onOff`. */
  readonly behavior: string;
  readonly type: ClusterType;
  /** Cached attributes by camelCase name; always current. */
  readonly state: Readonly<Record<string, unknown>>;
}

const shapes = new Map<string, ClusterShape>();
// Maximum number of cached cluster shapes. A large home needs fewer; only a peer that keeps changing needs more.
const MAX_SHAPES = 4_000;

/** Returns the server clusters of an endpoint by their names in the specification; cached until matter.js changes a behavior. */
export function clustersOf(endpoint: Endpoint): ReadonlyMap<string, PeerCluster> {
  return endpointOf(endpoint).byName;
}

/** Returns a cluster by its matter.js behavior id, or undefined if the behavior is no cluster. */
export function clusterOf(endpoint: Endpoint, behavior: string): PeerCluster | undefined {
  return endpointOf(endpoint).byBehavior.get(behavior);
}

interface KnownEndpoint {
  /** The matter.js behavior classes at the time of the read. If features or elements change, matter.js replaces the class. */
  readonly types: readonly unknown[];
  readonly byName: ReadonlyMap<string, PeerCluster>;
  readonly byBehavior: ReadonlyMap<string, PeerCluster>;
}

const endpoints = new WeakMap<Endpoint, KnownEndpoint>();

function endpointOf(endpoint: Endpoint): KnownEndpoint {
  const types = Object.values(endpoint.behaviors.supported);
  const known = endpoints.get(endpoint);
  if (known?.types.length === types.length && types.every((type, index) => type === known.types[index])) return known;
  const clusters = Object.keys(endpoint.behaviors.supported).flatMap((behavior) => readCluster(endpoint, behavior) ?? []);
  const read: KnownEndpoint = {
    types,
    byName: new Map(clusters.map((cluster) => [cluster.shape.name, cluster])),
    byBehavior: new Map(clusters.map((cluster) => [cluster.behavior, cluster])),
  };
  // During the first report a cluster's AttributeList may be missing. Then the result is not cached.
  if (clusters.every(({ state }) => Array.isArray(state.attributeList))) endpoints.set(endpoint, read);
  return read;
}

function readCluster(endpoint: Endpoint, behavior: string): PeerCluster | undefined {
  const supported = endpoint.behaviors.supported[behavior];
  if (supported === undefined || !ClusterBehavior.is(supported)) return undefined;
  const { schema } = supported;
  if (schema?.id === undefined) return undefined;
  const state = stateOf(endpoint, behavior);
  const supportedElements: SupportedElements = {
    ...supportedIds('attributes', state.attributeList),
    ...supportedIds('commands', state.acceptedCommandList),
  };
  const { attributes = [], commands } = supportedElements;
  const key = [schema.id, schema.name, schema.revision, [...schema.supportedFeatures], [...attributes], commands && [...commands]].join(
    '|',
  );
  const shape = shapes.get(key) ?? clusterShapeOf(schema, supportedElements);
  if (shapes.size >= MAX_SHAPES) shapes.clear();
  shapes.set(key, shape);
  return {
    shape,
    behavior,
    type: supported.cluster,
    get state() {
      return stateOf(endpoint, behavior);
    },
  };
}

function supportedIds(name: 'attributes' | 'commands', list: unknown): SupportedElements {
  if (!Array.isArray(list) || (list.length === 0 && name === 'attributes')) return {};
  return { [name]: new Set(list.map(Number).sort((a, b) => a - b)) };
}
