import type { Endpoint } from '@matter/main';
import type { ClientNode } from '@matter/main/node';
import { Matter } from '@matter/model';
import type { DeviceTypeEntry, SemanticTag } from '../../core/devices/device-model.ts';
import { deviceTypeName } from '../model/standard-model.ts';
import { deviceText } from './device-text.ts';
import type { EndpointSnapshot, NodeSnapshot, ProductFacts } from './node-snapshot.ts';

type State = Readonly<Record<string, unknown>>;

const NO_STATE: State = {};

/** What a commissioned node's cached structure looks like now. */
export function snapshotOf(node: ClientNode, nodeId: string): NodeSnapshot {
  const endpoints = [...node.endpoints];
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

/** True for nodes that sleep between messages: intermittently connected (ICD) or running on a battery alone. */
export function isSleepy(node: ClientNode): boolean {
  if ('icdManagement' in node.behaviors.supported) return true;
  const sources = [...node.endpoints]
    .filter((endpoint) => !isBridged(endpoint))
    .map((endpoint) => stateOf(endpoint, 'powerSource').featureMap);
  const present = sources.filter((features): features is State => typeof features === 'object' && features !== null);
  return present.length > 0 && present.every((features) => features.battery === true && features.wired !== true);
}

function endpointSnapshot(endpoint: Endpoint, parents: ReadonlyMap<number, number>): EndpointSnapshot {
  const descriptor = stateOf(endpoint, 'descriptor');
  const deviceTypes = listOf(descriptor.deviceTypeList).flatMap(deviceType);
  const parent = parents.get(endpoint.number);
  return {
    number: endpoint.number,
    ...(endpoint.number !== 0 && { parent: parent ?? 0 }),
    deviceTypes,
    isApplication: endpoint.number !== 0 && deviceTypes.some(({ id }) => isApplicationType(id)),
    tags: listOf(descriptor.tagList).flatMap(semanticTag),
    ...(isBridged(endpoint) && { bridged: productFacts(stateOf(endpoint, 'bridgedDeviceBasicInformation')) }),
    clusters: Object.keys(endpoint.behaviors.supported).sort(),
  };
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
