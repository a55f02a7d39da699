import type { Endpoint } from '@matter/main';
import { ThreadNetworkDiagnostics } from '@matter/main/clusters/thread-network-diagnostics';
import type { ClientNode } from '@matter/main/node';
import { Matter } from '@matter/model';
import type { DeviceTypeEntry, SemanticTag } from '../../core/devices/device-model.ts';
import { deviceTypeName } from '../model/standard-model.ts';
import { deviceText } from './device-text.ts';
import type { EndpointSnapshot, NodeSnapshot, ProductFacts } from './node-snapshot.ts';

type State = Readonly<Record<string, unknown>>;

const NO_STATE: State = {};
// Longer than a probe waits for its answer.
const SLEEPY_IDLE_MS = 2_000;

/** What a commissioned node's cached structure looks like now. */
export function snapshotOf(node: ClientNode, nodeId: string): NodeSnapshot {
  const endpoints = [...node.endpoints].filter(isTold);
  const parents = parentsOf(endpoints);
  return {
    nodeId,
    facts: productFacts(stateOf(node, 'basicInformation')),
    endpoints: endpoints.map((endpoint) => endpointSnapshot(endpoint, parents)).sort((a, b) => a.number - b.number),
  };
}

/** The cached state of a behavior by its matter.js id; empty when the endpoint has none. */
export function stateOf(endpoint: Endpoint, behavior: string): State {
  if (!(behavior in endpoint.behaviors.supported)) return NO_STATE;
  return (endpoint.maybeStateOf(behavior) as State | undefined) ?? NO_STATE;
}

/** What a node says about when it listens. */
export interface SleepFacts {
  /** It has the ICD Management cluster: it is connected intermittently, with a short or a long idle time (Core §9.16). */
  readonly isIntermittent: boolean;
  /** Its role in a Thread network is that of a sleepy end device (Core §11.14.5.4). */
  readonly isThreadSleepy: boolean;
  /** All its power sources are batteries. */
  readonly isBatteryOnly: boolean;
  /** How long the node may be idle between two looks for messages, as the session negotiated it; undefined without a session. */
  readonly idleIntervalMs: number | undefined;
}

/**
 * True for nodes that sleep between messages. A battery alone does not make one: a robot listens all the time. It counts only with an
 * idle interval in which no answer to a probe can come; mains devices with old firmware negotiate such intervals and always listen.
 */
export function sleeps({ isIntermittent, isThreadSleepy, isBatteryOnly, idleIntervalMs = 0 }: SleepFacts): boolean {
  return isIntermittent || isThreadSleepy || (isBatteryOnly && idleIntervalMs >= SLEEPY_IDLE_MS);
}

/** What a commissioned node's cached state and its session say about sleep. */
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
 * False for an endpoint that matter.js has made already and not read yet: every endpoint names its types and its clusters
 * (Core §9.5.6), every bridged device whether it is reachable (Core §9.13.4). Without them it would be a device that comes and goes.
 */
function isTold(endpoint: Endpoint): boolean {
  if (endpoint.number === 0) return true;
  const { deviceTypeList, serverList } = stateOf(endpoint, 'descriptor');
  if (listOf(deviceTypeList).length === 0 && listOf(serverList).length === 0) return false;
  return !isBridged(endpoint) || Object.values(stateOf(endpoint, 'bridgedDeviceBasicInformation')).some((value) => value !== undefined);
}

function isBridged(endpoint: Endpoint): boolean {
  return 'bridgedDeviceBasicInformation' in endpoint.behaviors.supported;
}

// The PartsList of the root names all endpoints, that of others only what is below: the shortest list names the parent.
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

/** The values of a label cluster (Core §9.7, §9.8) in one text; the keys in front of them are the device's own. */
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
