import { Matter } from '@matter/model';
import type { Device, DeviceTypeEntry, SemanticTag } from '../../core/devices/device-model.ts';
import { deviceText, typeTitle } from './device-text.ts';

/** A device that a node's structure makes, before it has its id and the name that people gave it. */
export interface PlannedDevice {
  /** The same for the same thing after restarts and re-numbering: node id, then UniqueID or endpoint. */
  readonly key: string;
  readonly parentKey?: string;
  readonly kind: Device['kind'];
  readonly nodeId: string;
  readonly endpoints: readonly number[];
  /** The name the device carries itself; empty when it has none. */
  readonly label: string;
  /** What to call it otherwise. */
  readonly productName: string;
  /** Which part of its device it is, such as `humidity sensor`; only parts have it. */
  readonly partTitle?: string;
  readonly facts: ProductFacts;
  readonly deviceTypes: readonly string[];
}

const AGGREGATOR = 'Aggregator';

/** Some endpoints that belong together: a node without its bridged ones, or one bridged device. */
interface Unit {
  readonly key: string;
  readonly parentKey?: string;
  readonly kind: 'node' | 'bridged';
  readonly facts: ProductFacts;
  readonly root: EndpointSnapshot;
  readonly members: readonly EndpointSnapshot[];
}

/**
 * The devices of a node: itself; behind an aggregator one per bridged endpoint (Core §9.13); and where a unit has several
 * application endpoints, one per logical part (Core §9.2.4: composed devices).
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
  const main: PlannedDevice = {
    key: unit.key,
    ...(unit.parentKey !== undefined && { parentKey: unit.parentKey }),
    kind: unit.kind,
    nodeId,
    endpoints: held.map(({ number }) => number),
    label: unit.facts.label,
    productName: unit.facts.product.name || typeTitle(typesOf(unit.members)[0] ?? 'device'),
    facts: unit.facts,
    deviceTypes: typesOf(leading === undefined ? held : [leading, ...held]),
  };
  return [main, ...parts.map((part) => planPart(main, part, { tree, siblings: parts, unit }))];
}

/** The one application endpoint that the unit itself is, such as the refrigerator above its cabinets. */
function leadingApplication(unit: Unit, applications: readonly EndpointSnapshot[], tree: EndpointTree): EndpointSnapshot | undefined {
  if (unit.root.isApplication) return unit.root;
  const top = applications.filter((endpoint) => tree.ownerAbove(endpoint) === undefined);
  return top.length === 1 ? top[0] : undefined;
}

interface PartContext {
  readonly tree: EndpointTree;
  readonly siblings: readonly EndpointSnapshot[];
  readonly unit: Unit;
}

function planPart(main: PlannedDevice, part: EndpointSnapshot, { tree, siblings, unit }: PartContext): PlannedDevice {
  const endpoints = [part, ...tree.below(part).filter((endpoint) => tree.ownerOf(endpoint) === part)];
  const title = partTitle(part, siblings);
  const deviceTypes = typesOf(endpoints);
  return {
    key: `${main.key}/p${part.number}`,
    parentKey: main.key,
    kind: 'part',
    nodeId: main.nodeId,
    endpoints: endpoints.map(({ number }) => number),
    label: main.label === '' ? '' : `${main.label} ${title}`,
    productName: `${main.productName} ${title}`,
    partTitle: title,
    facts: unit.facts,
    deviceTypes,
  };
}

function partTitle(part: EndpointSnapshot, siblings: readonly EndpointSnapshot[]): string {
  const title = typeTitle(typesOf([part])[0] ?? 'part');
  const same = siblings.filter((sibling) => typeTitle(typesOf([sibling])[0] ?? 'part') === title);
  if (same.length === 1) return title;
  const telling = labelsOf(part).find((label) => same.filter((sibling) => labelsOf(sibling).includes(label)).length === 1);
  return telling === undefined ? `${title} ${same.indexOf(part) + 1}` : `${title} ${telling}`;
}

/** Application types first; what describes only structure is left out unless there is nothing else. */
function typesOf(endpoints: readonly EndpointSnapshot[]): readonly string[] {
  const applications = endpoints.filter(({ isApplication }) => isApplication);
  const names = [...applications, ...endpoints].flatMap(({ deviceTypes }) => deviceTypes.map(({ name }) => name));
  const useful = names.filter((name) => name !== 'RootNode' && name !== 'BridgedNode');
  return [...new Set(useful.length > 0 ? useful : names)];
}

function hasType(endpoint: EndpointSnapshot, name: string): boolean {
  return endpoint.deviceTypes.some((type) => type.name === name);
}

/** Which endpoint stands above which, among some endpoints of a node. */
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

  /** The application endpoint that this one belongs to: itself or the nearest above. */
  ownerOf(endpoint: EndpointSnapshot): EndpointSnapshot | undefined {
    return endpoint.isApplication ? endpoint : this.ownerAbove(endpoint);
  }

  ownerAbove(endpoint: EndpointSnapshot): EndpointSnapshot | undefined {
    const parent = this.parentOf(endpoint);
    return parent === undefined ? undefined : this.ownerOf(parent);
  }
}

/** What BasicInformation or BridgedDeviceBasicInformation tells, already made safe to show. */
export interface ProductFacts {
  readonly label: string;
  readonly vendor: { readonly id: number; readonly name: string };
  readonly product: { readonly id: number; readonly name: string };
  readonly serial: string;
  readonly softwareVersion: string;
  readonly uniqueId: string;
}

export interface EndpointSnapshot {
  readonly number: number;
  /** The endpoint whose PartsList holds this one most closely; absent for endpoint 0. */
  readonly parent?: number;
  readonly deviceTypes: readonly DeviceTypeEntry[];
  /** Does it for people what its type says, instead of describing power, network or structure. */
  readonly isApplication: boolean;
  readonly tags: readonly SemanticTag[];
  /** What people wrote into its UserLabel cluster, and its maker into FixedLabel. */
  readonly userLabel?: string;
  readonly fixedLabel?: string;
  /** Present behind a bridge. */
  readonly bridged?: ProductFacts;
  /** Server clusters by name. */
  readonly clusters: readonly string[];
}

/** The structure of one Matter node at one moment: plain data, so that what devices it makes is a pure question. */
export interface NodeSnapshot {
  readonly nodeId: string;
  readonly facts: ProductFacts;
  readonly endpoints: readonly EndpointSnapshot[];
}

/** What distinguishes an endpoint from its likes, in words: `left`, `freezer`, or the device's own label; empty without tags. */
function tagLabel(tags: readonly SemanticTag[]): string {
  const words = tags.map((tag) => deviceText(tag.label) || standardWord(tag));
  return [...new Set(words.filter((word) => word !== ''))].join(' ');
}

/** All that may tell an endpoint from its likes, best first. */
export function labelsOf({ userLabel = '', fixedLabel = '', tags }: EndpointSnapshot): readonly string[] {
  return [userLabel, tagLabel(tags), fixedLabel].filter((label) => label !== '');
}

function standardWord({ namespace, tag }: SemanticTag): string {
  const tags = Matter.semanticNamespaces.find(({ id }) => id === namespace);
  const name = [...(tags?.children ?? [])].find(({ id }) => id === tag)?.name ?? '';
  return name.replace(/(?<=[a-z])(?=[A-Z])/g, ' ').toLowerCase();
}
