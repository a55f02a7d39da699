import type { Endpoint } from '@matter/main';
import { ClusterBehavior } from '@matter/main/node';
import type { ClusterType } from '@matter/main/types';
import { type ClusterShape, clusterShapeOf, type SupportedElements } from '../model/cluster-shape.ts';
import { stateOf } from './peer-snapshot.ts';

/** One server cluster on one endpoint of a peer. */
export interface PeerCluster {
  readonly shape: ClusterShape;
  /** The id of the behavior in matter.js, such as `onOff`. */
  readonly behavior: string;
  readonly type: ClusterType;
  /** Cached attributes by camelCase name; a live view. */
  readonly state: Readonly<Record<string, unknown>>;
}

const shapes = new Map<string, ClusterShape>();
// Thousands of different clusters mean a peer that changes without end, not a big home.
const MAX_SHAPES = 4_000;

/** The server clusters of an endpoint by the specification's names; remembered until matter.js changes one. */
export function clustersOf(endpoint: Endpoint): ReadonlyMap<string, PeerCluster> {
  return endpointOf(endpoint).byName;
}

/** One cluster by its matter.js behavior id; undefined for behaviors that are no clusters. */
export function clusterOf(endpoint: Endpoint, behavior: string): PeerCluster | undefined {
  return endpointOf(endpoint).byBehavior.get(behavior);
}

interface KnownEndpoint {
  /** What matter.js supported when this was made: other features or elements are another class there. */
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
  const made: KnownEndpoint = {
    types,
    byName: new Map(clusters.map((cluster) => [cluster.shape.name, cluster])),
    byBehavior: new Map(clusters.map((cluster) => [cluster.behavior, cluster])),
  };
  // While a first report is still coming in, the lists that narrow a cluster may be missing.
  if (clusters.every(({ state }) => Array.isArray(state.attributeList))) endpoints.set(endpoint, made);
  return made;
}

function readCluster(endpoint: Endpoint, behavior: string): PeerCluster | undefined {
  const supported = endpoint.behaviors.supported[behavior];
  if (supported === undefined || !ClusterBehavior.is(supported)) return undefined;
  const { schema } = supported;
  if (schema?.id === undefined) return undefined;
  const state = stateOf(endpoint, behavior);
  const supportedElements: SupportedElements = {
    ...idsOf('attributes', state.attributeList),
    ...idsOf('commands', state.acceptedCommandList),
  };
  const { attributes = [], commands } = supportedElements;
  const key = [schema.id, schema.name, schema.revision, [...schema.supportedFeatures], [...attributes], commands && [...commands]].join(
    '|',
  );
  const shape = shapes.get(key) ?? remember(key, clusterShapeOf(schema, supportedElements));
  return {
    shape,
    behavior,
    type: supported.cluster,
    get state() {
      return stateOf(endpoint, behavior);
    },
  };
}

function remember(key: string, shape: ClusterShape): ClusterShape {
  if (shapes.size >= MAX_SHAPES) shapes.clear();
  shapes.set(key, shape);
  return shape;
}

function idsOf(name: 'attributes' | 'commands', list: unknown): SupportedElements {
  if (!Array.isArray(list) || (list.length === 0 && name === 'attributes')) return {};
  return { [name]: new Set(list.map(Number).sort((a, b) => a - b)) };
}
