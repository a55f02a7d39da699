import './cluster-shape.ts';
import { type ClusterModel, type DeviceTypeModel, Matter, type Model, type RequirementModel } from '@matter/model';
import type { ClusterDescription } from '../../core/devices/device-model.ts';
import { type ClusterShape, clusterShapeOf, describeCluster } from './cluster-shape.ts';

/** A device type of the Matter device library. */
export interface StandardDeviceType {
  readonly id: number;
  /** Such as `DimmableLight`. */
  readonly name: string;
  readonly revision: number;
  /** `simple`, `utility`, `node`, `dynamic` or `base`. */
  readonly classification: string;
  /** Server clusters of the type with the features that it demands. */
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

/** Names of the standard's clusters. */
export function standardClusterNames(): readonly string[] {
  return [...concreteClusters().keys()];
}

/** One standard cluster by name; `features` narrows it to these feature codes, absent = all elements. */
export function standardCluster(name: string, features?: readonly string[]): ClusterDescription | undefined {
  const shape = standardClusterShape(name, features);
  return shape && describeCluster(shape);
}

/** The shape behind `standardCluster`. */
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

/** The Matter device library. */
export function standardDeviceTypes(): readonly StandardDeviceType[] {
  deviceTypes ??= [...Matter.deviceTypes].filter((type) => type.id !== undefined).map(deviceType);
  return deviceTypes;
}

/** The name of a device type, `DeviceType0x<hex>` for one outside the standard. */
export function deviceTypeName(id: number): string {
  return Matter.deviceTypes(id)?.name ?? `DeviceType0x${id.toString(16)}`;
}

// Abstract clusters such as ModeBase have no id.
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

// The device library names features by their title in capitals (`LIGHTING`), clusters by their code (`LT`).
function featureCodes(clusterName: string, titles: readonly string[]): readonly string[] {
  const features = concreteClusters().get(clusterName)?.features ?? [];
  const plain = (text: string): string => text.toLowerCase().replace(/[^a-z0-9]/g, '');
  return titles.flatMap((title) => features.find((feature) => plain(feature.title ?? feature.name) === plain(title))?.name ?? []);
}
