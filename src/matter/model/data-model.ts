import {
  type AccessLevel,
  AttributeModel,
  type ClusterModel,
  CommandModel,
  type DeviceTypeModel,
  ElementTag,
  EventModel,
  Matter,
  type Model,
  type RequirementModel,
  type Scope,
  type ValueModel,
} from '@matter/model';
import type {
  AttributeDescription,
  ClusterDescription,
  CommandDescription,
  EventDescription,
  Privilege,
} from '../../core/devices/device-model.ts';
import { present } from '../../core/json.ts';
import { oncePerObject } from '../../core/lifecycle.ts';
import { type LiveState, schemaOf } from './value-json.ts';
import { concentrationUnit } from './value-limits.ts';
import { type ShapeContext, type StructShape, shapeContext, shapeOfModel, structOf, type ValueShape } from './value-shape.ts';

/** Ids of the attributes and commands that a device supports. If a set is absent, all of them in the model count as supported. */
export interface SupportedElements {
  readonly attributes?: ReadonlySet<number>;
  readonly commands?: ReadonlySet<number>;
}

interface Element {
  readonly id: number;
  /** Name in the specification, in PascalCase. */
  readonly name: string;
  /** Property name in matter.js. */
  readonly property: string;
}

/** An attribute with the shape of its values. */
export interface AttributeShape extends Element {
  readonly shape: ValueShape;
  readonly facts: Omit<AttributeDescription, 'id' | 'name' | 'schema' | 'unit' | 'scale'>;
  readonly isWriteTimed: boolean;
}

/** A command with its request and response fields; `response` is absent if the device answers with a status only. */
interface CommandShape extends Element {
  readonly request: StructShape;
  readonly response?: StructShape;
  readonly facts: Omit<CommandDescription, 'id' | 'name' | 'parameters' | 'returns'>;
}

interface EventShape extends Element {
  readonly shape: StructShape;
  readonly priority: EventDescription['priority'];
}

/** A server cluster of one device, with its elements by their names in the specification. */
export interface ClusterShape {
  readonly id: number;
  readonly name: string;
  readonly description?: string;
  readonly revision: number;
  readonly features: readonly string[];
  readonly attributes: ReadonlyMap<string, AttributeShape>;
  readonly commands: ReadonlyMap<string, CommandShape>;
  readonly events: ReadonlyMap<string, EventShape>;
}

/** Returns the shape of a cluster. The shape has the elements that the features of the model allow and that the device supports. */
export function clusterShapeOf(cluster: ClusterModel, supported: SupportedElements = {}): ClusterShape {
  const elements = elementsOf(cluster);
  return {
    id: cluster.id ?? 0,
    name: specificationName(cluster.name),
    ...present({ description: cluster.description }),
    revision: cluster.revision,
    features: [...cluster.supportedFeatures],
    attributes: byName(elements.flatMap((element) => attributeShape(element, cluster, supported))),
    commands: byName(elements.flatMap((element) => commandShape(element, cluster, supported))),
    events: byName(elements.flatMap((element) => eventShape(element, cluster))),
  };
}

/** Returns the name of an element. An unknown element, which matter.js names `Cluster$fff1fc01`, becomes `Cluster0xfff1fc01`. */
function specificationName(name: string): string {
  return name.replace(/^([a-z]+)\$/i, (_, word: string) => `${word.charAt(0).toUpperCase()}${word.slice(1)}0x`);
}

function elementsOf(cluster: ClusterModel): readonly Model[] {
  const context = shapeContext(cluster, 'out');
  const options: Scope.MemberOptions = { tags: [ElementTag.Attribute, ElementTag.Command, ElementTag.Event], conformance: 'deconflicted' };
  const elements = [...context.scope.membersOf(cluster as Model, options)] as unknown as readonly (Model & ValueModel)[];
  return elements.filter((element) => !element.isDeprecated && !element.isDisallowed);
}

function byName<Named extends Element>(elements: readonly Named[]): ReadonlyMap<string, Named> {
  return new Map(elements.map((element) => [element.name, element]));
}

function attributeShape(model: Model, cluster: ClusterModel, supported: SupportedElements): readonly AttributeShape[] {
  if (!(model instanceof AttributeModel) || AttributeModel.isGlobal(model as Model)) return [];
  if (supported.attributes?.has(model.id) === false) return [];
  const access = model.effectiveAccess;
  // matter.js marks unknown attributes as writable. Here they are not, because the type of their values is unknown.
  const writable = model.writable && !model.name.includes('$');
  const facts: AttributeShape['facts'] = {
    ...present({ description: model.description }),
    writable,
    readPrivilege: privilege(access.readPriv, 'view'),
    ...(writable && { writePrivilege: privilege(access.writePriv, 'operate') }),
    changesOmitted: model.effectiveQuality.changesOmitted === true,
    fixed: model.effectiveQuality.fixed === true,
  };
  const context = shapeContext(cluster, writable ? 'in' : 'out');
  return [{ ...named(model), shape: shapeOfModel(model as ValueModel, context), facts, isWriteTimed: access.timed === true }];
}

function commandShape(model: Model, cluster: ClusterModel, supported: SupportedElements): readonly CommandShape[] {
  if (!(model instanceof CommandModel) || !model.isRequest || model.effectiveMetatype === undefined) return [];
  if (supported.commands?.has(model.id) === false || model.name.includes('$')) return [];
  const facts: CommandShape['facts'] = {
    ...present({ description: model.description }),
    timed: model.effectiveAccess.timed === true,
    privilege: privilege(model.effectiveAccess.writePriv, 'operate'),
  };
  const response = responseShape(model as CommandModel, shapeContext(cluster, 'out'));
  const request = structOf(model as ValueModel, shapeContext(cluster, 'in'));
  return [{ ...named(model), request, ...present({ response }), facts }];
}

function responseShape(command: CommandModel, context: ShapeContext): StructShape | undefined {
  const response = command.responseModel;
  if (response === undefined || response === command || response.name === 'status') return undefined;
  return structOf(response as ValueModel, context);
}

function eventShape(model: Model, cluster: ClusterModel): readonly EventShape[] {
  if (!(model instanceof EventModel)) return [];
  const priority = model.priority === 'critical' || model.priority === 'debug' ? model.priority : 'info';
  return [{ ...named(model), shape: structOf(model as ValueModel, shapeContext(cluster, 'out')), priority }];
}

function named(model: AttributeModel | CommandModel | EventModel): Element {
  return { id: model.id, name: specificationName(model.name), property: model.propertyName };
}

const PRIVILEGES: Readonly<Record<string, Privilege>> = { V: 'view', O: 'operate', M: 'manage', A: 'administer' };

function privilege(letter: AccessLevel | string | undefined, otherwise: Privilege): Privilege {
  return PRIVILEGES[String(letter)] ?? otherwise;
}

// Descriptions that do not depend on live attribute values are created once per shape, not once per device.
const fixedAttribute = oncePerObject((attribute: AttributeShape) => attributeDescription(attribute));
const fixedCommand = oncePerObject((command: CommandShape) => commandDescription(command));
const fixedEvent = oncePerObject(({ id, name, shape, priority }: EventShape) => ({ id, name, schema: schemaOf(shape), priority }));

/** Returns the description of a cluster. `state` has the device's attribute values by camelCase name; they narrow the allowed ranges. */
export function describeCluster(cluster: ClusterShape, state: LiveState = {}): ClusterDescription {
  return {
    ...cluster,
    attributes: [...cluster.attributes.values()].map((attribute) => describeAttribute(attribute, cluster, state)),
    commands: [...cluster.commands.values()].map((command) => describeCommand(command, state)),
    events: [...cluster.events.values()].map(fixedEvent),
  };
}

function describeAttribute(attribute: AttributeShape, cluster: ClusterShape, state: LiveState): AttributeDescription {
  const unit = concentrationUnit(cluster.name, attribute.name, state.measurementUnit);
  if (unit !== undefined) return attributeDescription({ ...attribute, shape: { ...attribute.shape, ...unit } }, state);
  if (isLive(attribute.shape)) return attributeDescription(attribute, state);
  return fixedAttribute(attribute);
}

function attributeDescription({ id, name, facts, shape }: AttributeShape, state: LiveState = {}): AttributeDescription {
  const { unit, scale } = shape;
  return { id, name, ...facts, schema: schemaOf(shape, state), ...present({ unit, scale }) };
}

function describeCommand(command: CommandShape, state: LiveState): CommandDescription {
  if (command.request.fields.some(({ shape }) => isLive(shape))) return commandDescription(command, state);
  return fixedCommand(command);
}

function commandDescription({ id, name, facts, request, response }: CommandShape, state: LiveState = {}): CommandDescription {
  return { id, name, ...facts, parameters: schemaOf(request, state), ...(response && { returns: schemaOf(response) }) };
}

function isLive(shape: ValueShape): boolean {
  return shape.kind === 'integer' && (shape.liveMin !== undefined || shape.liveMax !== undefined);
}

const ALARM_CLUSTERS = ['DishwasherAlarm', 'RefrigeratorAlarm', 'TemperatureAlarm'];

/*
 * The alarm clusters derive from an abstract cluster and only add bits to its bitmap. matter.js 0.17.9 resolves the type of an inherited
 * attribute or event in the abstract cluster, whose bitmap is empty, so that every alarm would be off. Copies of the inherited elements
 * in the derived cluster have the bits.
 */
for (const name of ALARM_CLUSTERS) {
  const cluster = Matter.clusters(name);
  const base = Matter.clusters('AlarmBase');
  if (cluster === undefined || base === undefined || cluster.attributes('State')?.parent === cluster) continue;
  cluster.children.push(
    ...[...base.attributes]
      .filter(({ type }) => type === 'AlarmBitmap')
      .map((attribute) => new AttributeModel(attribute.toElement() as AttributeModel)),
    ...[...base.events].map((event) => new EventModel(event.toElement() as EventModel)),
  );
}

/** A device type of the Matter device library. */
export interface StandardDeviceType {
  readonly id: number;
  /** Name in the device library, such as `DimmableLight`. */
  readonly name: string;
  readonly revision: number;
  /** Classification: `simple`, `utility`, `node`, `dynamic` or `base`. */
  readonly classification: string;
  /** Server clusters that the device type may have. Each entry also lists the features that the cluster must have for this device type. */
  readonly clusters: readonly StandardRequirement[];
}

interface StandardRequirement {
  readonly name: string;
  readonly isMandatory: boolean;
  readonly features: readonly string[];
}

const shapes = new Map<string, ClusterShape>();
let clusters: ReadonlyMap<string, ClusterModel> | undefined;
let deviceTypes: readonly StandardDeviceType[] | undefined;

/** Returns the names of all standard clusters. */
export function standardClusterNames(): readonly string[] {
  return [...concreteClusters().keys()];
}

/** Returns a standard cluster by name. It is limited to the feature codes in `features`; without `features`, it has all elements. */
export function standardCluster(name: string, features?: readonly string[]): ClusterDescription | undefined {
  const shape = standardClusterShape(name, features);
  return shape && describeCluster(shape);
}

/** Returns the shape of a standard cluster by name. If `features` is present, the shape is limited to these features. */
export function standardClusterShape(name: string, features?: readonly string[]): ClusterShape | undefined {
  const key = features === undefined ? name : `${name}[${features.toSorted().join()}]`;
  const known = shapes.get(key);
  if (known !== undefined) return known;
  const model = concreteClusters().get(name);
  if (model === undefined) return undefined;
  const extended = (model as Model).extend() as ClusterModel;
  extended.supportedFeatures = features ?? [...model.definedFeatures];
  const shape = clusterShapeOf(extended);
  shapes.set(key, shape);
  return shape;
}

/** Returns all device types of the Matter device library. */
export function standardDeviceTypes(): readonly StandardDeviceType[] {
  deviceTypes ??= [...Matter.deviceTypes].filter((type) => type.id !== undefined).map(deviceType);
  return deviceTypes;
}

/** Returns the name of a device type; `DeviceType0x<hex>` for a type outside the standard. */
export function deviceTypeName(id: number): string {
  return Matter.deviceTypes(id)?.name ?? `DeviceType0x${id.toString(16)}`;
}

// Returns the clusters that have an id; abstract clusters such as ModeBase have none.
function concreteClusters(): ReadonlyMap<string, ClusterModel> {
  clusters ??= new Map([...Matter.clusters].filter((cluster) => cluster.id !== undefined).map((cluster) => [cluster.name, cluster]));
  return clusters;
}

function deviceType(type: DeviceTypeModel): StandardDeviceType {
  return {
    id: type.id,
    name: type.name,
    revision: Number(type.revision ?? 1),
    classification: type.classification ?? 'base',
    clusters: type.requirements.filter((requirement) => requirement.element === 'serverCluster').map(requirementOf),
  };
}

function requirementOf(requirement: RequirementModel): StandardRequirement {
  const titles = requirement.requirements.filter((child) => child.element === 'feature' && child.isMandatory).map((child) => child.name);
  return { name: requirement.name, isMandatory: requirement.isMandatory, features: featureCodes(requirement.name, titles) };
}

// Converts feature titles to codes: the device library uses titles in capitals (`LIGHTING`), clusters use codes (`LT`).
function featureCodes(clusterName: string, titles: readonly string[]): readonly string[] {
  const features = concreteClusters().get(clusterName)?.features ?? [];
  const plain = (text: string): string => text.toLowerCase().replace(/[^a-z0-9]/g, '');
  return titles.flatMap((title) => features.find((feature) => plain(feature.title ?? feature.name) === plain(title))?.name ?? []);
}
