import { Matter } from '@matter/model';
import type { Device, DeviceTypeEntry, SemanticTag } from '../../core/devices/device-model.ts';
import { present } from '../../core/json.ts';
import { visibleLine } from '../../core/untrusted-text.ts';

/** A device that `planDevices` found in a node. It has no id yet, and no name from people. */
export interface PlannedDevice {
  /** Permanent key of the device. If a bridge renumbers its endpoints, a bridged device keeps its key only if it has a UniqueID. */
  readonly key: string;
  readonly parentKey?: string;
  readonly kind: Device['kind'];
  readonly nodeId: string;
  readonly endpoints: readonly number[];
  /** The label that the device itself stores; empty if it has none. */
  readonly label: string;
  /** The name if the device has no label: the product name, or else the device type. */
  readonly productName: string;
  /** Title of a part within its device, such as `humidity sensor`. Absent unless `kind` is `part`. */
  readonly partTitle?: string;
  readonly facts: ProductFacts;
  readonly deviceTypes: readonly string[];
}

const AGGREGATOR = 'Aggregator';

/** A node without its bridged endpoints, or one bridged device. */
interface Unit {
  readonly key: string;
  readonly parentKey?: string;
  readonly kind: 'node' | 'bridged';
  readonly facts: ProductFacts;
  readonly root: EndpointSnapshot;
  readonly members: readonly EndpointSnapshot[];
}

/**
 * Returns the devices of a node: the node itself, and each bridged endpoint behind an aggregator (Core §9.13). If such a device has several
 * application endpoints, its parts are returned as devices, too (composed devices, Core §9.2.4).
 */
export function planDevices(node: NodeSnapshot): readonly PlannedDevice[] {
  return unitsOf(node).flatMap((unit) => planUnit(node.nodeId, unit));
}

function unitsOf(node: NodeSnapshot): readonly Unit[] {
  const root = node.endpoints.find((endpoint) => endpoint.number === 0);
  if (root === undefined) return [];
  const tree = new EndpointTree(node.endpoints);
  const bridgedRoots = node.endpoints.filter((endpoint) => isBridgedRoot(endpoint, tree));
  const bridged = bridgedRoots.map((endpoint) => bridgedUnit(node, endpoint, tree));
  const taken = new Set(bridged.flatMap((unit) => unit.members));
  const members = node.endpoints.filter((endpoint) => !taken.has(endpoint));
  return [{ key: node.nodeId, kind: 'node', facts: node.facts, root, members }, ...bridged];
}

function bridgedUnit(node: NodeSnapshot, endpoint: EndpointSnapshot, tree: EndpointTree): Unit {
  const facts = withDefaults(endpoint.bridged, node.facts);
  const part = facts.uniqueId === '' ? `e${endpoint.number}` : `u${facts.uniqueId}`;
  const members = [endpoint, ...tree.below(endpoint)];
  return { key: `${node.nodeId}/${part}`, parentKey: node.nodeId, kind: 'bridged', facts, root: endpoint, members };
}

function isBridgedRoot(endpoint: EndpointSnapshot, tree: EndpointTree): boolean {
  const parent = tree.parentOf(endpoint);
  return parent !== undefined && hasType(parent, AGGREGATOR) && !hasType(endpoint, AGGREGATOR);
}

function withDefaults(bridged: ProductFacts | undefined, node: ProductFacts): ProductFacts {
  const unnamed = { ...node, label: '', serial: '', softwareVersion: '', uniqueId: '', product: { id: 0, name: '' } };
  if (bridged === undefined) return unnamed;
  return { ...bridged, vendor: bridged.vendor.name === '' ? { ...node.vendor } : bridged.vendor };
}

function planUnit(nodeId: string, unit: Unit): readonly PlannedDevice[] {
  const tree = new EndpointTree(unit.members);
  const applications = unit.members.filter((endpoint) => endpoint.isApplication);
  const leading = leadingApplication(unit, applications, tree);
  const parts = applications.filter((endpoint) => endpoint !== leading);
  const isInPart = (endpoint: EndpointSnapshot): boolean => parts.some((part) => part === tree.ownerOf(endpoint));
  const held = unit.members.filter((endpoint) => !isInPart(endpoint));
  const { key, parentKey, kind, facts } = unit;
  const main: PlannedDevice = {
    key,
    ...present({ parentKey }),
    kind,
    nodeId,
    endpoints: held.map(({ number }) => number),
    label: facts.label,
    productName: facts.product.name || typeTitle(typesOf(unit.members)[0] ?? 'device'),
    facts,
    deviceTypes: typesOf(leading === undefined ? held : [leading, ...held]),
  };
  return [main, ...parts.map((part) => planPart(main, part, { tree, siblings: parts }))];
}

/** Returns the application endpoint that stands for the whole device, if there is one. An example is a refrigerator with cabinets. */
function leadingApplication(unit: Unit, applications: readonly EndpointSnapshot[], tree: EndpointTree): EndpointSnapshot | undefined {
  if (unit.root.isApplication) return unit.root;
  const top = applications.filter((endpoint) => tree.ownerAbove(endpoint) === undefined);
  return top.length === 1 ? top[0] : undefined;
}

interface PartContext {
  readonly tree: EndpointTree;
  readonly siblings: readonly EndpointSnapshot[];
}

function planPart(main: PlannedDevice, part: EndpointSnapshot, { tree, siblings }: PartContext): PlannedDevice {
  const endpoints = [part, ...tree.below(part).filter((endpoint) => tree.ownerOf(endpoint) === part)];
  const title = partTitle(part, siblings);
  return {
    key: `${main.key}/p${part.number}`,
    parentKey: main.key,
    kind: 'part',
    nodeId: main.nodeId,
    endpoints: endpoints.map(({ number }) => number),
    label: main.label === '' ? '' : `${main.label} ${title}`,
    productName: `${main.productName} ${title}`,
    partTitle: title,
    facts: main.facts,
    deviceTypes: typesOf(endpoints),
  };
}

function partTitle(part: EndpointSnapshot, siblings: readonly EndpointSnapshot[]): string {
  const title = typeTitle(typesOf([part])[0] ?? 'part');
  const same = siblings.filter((sibling) => typeTitle(typesOf([sibling])[0] ?? 'part') === title);
  if (same.length === 1) return title;
  const distinct = labelsOf(part).find((label) => same.filter((sibling) => labelsOf(sibling).includes(label)).length === 1);
  return `${title} ${distinct ?? same.indexOf(part) + 1}`;
}

/** Returns device type names, application types first. Leaves out RootNode and BridgedNode if there are other types. */
function typesOf(endpoints: readonly EndpointSnapshot[]): readonly string[] {
  const applications = endpoints.filter(({ isApplication }) => isApplication);
  const names = [...applications, ...endpoints].flatMap(({ deviceTypes }) => deviceTypes.map(({ name }) => name));
  const useful = names.filter((name) => name !== 'RootNode' && name !== 'BridgedNode');
  return [...new Set(useful.length > 0 ? useful : names)];
}

function hasType(endpoint: EndpointSnapshot, name: string): boolean {
  return endpoint.deviceTypes.some((type) => type.name === name);
}

/** The parent-child tree of a set of endpoints. */
class EndpointTree {
  readonly #byNumber: ReadonlyMap<number, EndpointSnapshot>;

  constructor(endpoints: readonly EndpointSnapshot[]) {
    this.#byNumber = new Map(endpoints.map((endpoint) => [endpoint.number, endpoint]));
  }

  parentOf(endpoint: EndpointSnapshot): EndpointSnapshot | undefined {
    return endpoint.parent === undefined ? undefined : this.#byNumber.get(endpoint.parent);
  }

  below(endpoint: EndpointSnapshot): readonly EndpointSnapshot[] {
    const children = [...this.#byNumber.values()].filter((other) => other.parent === endpoint.number);
    return children.flatMap((child) => [child, ...this.below(child)]);
  }

  /** Returns the endpoint if it is an application endpoint, else the nearest application endpoint above it. */
  ownerOf(endpoint: EndpointSnapshot): EndpointSnapshot | undefined {
    return endpoint.isApplication ? endpoint : this.ownerAbove(endpoint);
  }

  ownerAbove(endpoint: EndpointSnapshot): EndpointSnapshot | undefined {
    const parent = this.parentOf(endpoint);
    return parent === undefined ? undefined : this.ownerOf(parent);
  }
}

/** Attributes of BasicInformation or BridgedDeviceBasicInformation, safe to show. */
export interface ProductFacts {
  readonly label: string;
  readonly vendor: { readonly id: number; readonly name: string };
  readonly product: { readonly id: number; readonly name: string };
  readonly serial: string;
  readonly softwareVersion: string;
  readonly uniqueId: string;
}

/** The structure of one endpoint. */
export interface EndpointSnapshot {
  readonly number: number;
  /** Number of the parent endpoint; absent for endpoint 0. The parent is the endpoint with the shortest PartsList that has this one. */
  readonly parent?: number;
  readonly deviceTypes: readonly DeviceTypeEntry[];
  /** True if the endpoint does something for people, such as a light. False if it serves only power, network or structure. */
  readonly isApplication: boolean;
  readonly tags: readonly SemanticTag[];
  /** Values of the UserLabel and FixedLabel clusters. */
  readonly userLabel?: string;
  readonly fixedLabel?: string;
  /** Product facts of a bridged device; absent for other endpoints. */
  readonly bridged?: ProductFacts;
  readonly clusters: readonly string[];
}

/** The structure of one Matter node at one moment, as plain data; `planDevices` derives the devices from it. */
export interface NodeSnapshot {
  readonly nodeId: string;
  readonly facts: ProductFacts;
  readonly endpoints: readonly EndpointSnapshot[];
}

/** Returns the semantic tags of an endpoint as text, such as `left freezer`. A tag's own label replaces the standard word. */
function tagLabel(tags: readonly SemanticTag[]): string {
  const words = tags.map((tag) => deviceText(tag.label) || standardWord(tag));
  return [...new Set(words.filter((word) => word !== ''))].join(' ');
}

/** Returns labels that may distinguish an endpoint from similar endpoints, best first. */
export function labelsOf({ userLabel = '', fixedLabel = '', tags }: EndpointSnapshot): readonly string[] {
  return [userLabel, tagLabel(tags), fixedLabel].filter((label) => label !== '');
}

function standardWord({ namespace, tag }: SemanticTag): string {
  const tags = Matter.semanticNamespaces.find(({ id }) => id === namespace);
  const name = [...(tags?.children ?? [])].find(({ id }) => id === tag)?.name ?? '';
  return name.replace(/(?<=[a-z])(?=[A-Z])/g, ' ').toLowerCase();
}

/** Maximum length of a text from a device, in code points. */
const MAX_LENGTH = 64;

/** Makes a label, vendor or product name from a device safe to show: one line without hidden characters, at most 64 code points. */
export function deviceText(text: unknown): string {
  return typeof text === 'string' ? visibleLine(text, MAX_LENGTH) : '';
}

/** Titles of device types whose name in the Matter specification is unclear to people. */
const TITLES: Readonly<Record<string, string>> = { TemperatureControlledCabinet: 'cabinet' };

/** Returns the name of a device type as words: `TemperatureSensor` becomes `temperature sensor`. */
function typeTitle(deviceType: string): string {
  const title = TITLES[deviceType];
  if (title !== undefined) return title;
  return deviceType.replace(/(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/g, ' ').toLowerCase();
}
