import type { ClusterDescription } from '../../core/devices/device-model.ts';

/** What the check has to know of the standard; matter/ has it. */
export interface StandardModel {
  readonly clusterNames: readonly string[];
  /** With all its features and elements, or narrowed to some features. */
  cluster(name: string, features?: readonly string[]): ClusterDescription | undefined;
  readonly deviceTypes: readonly { readonly name: string; readonly clusters: readonly { readonly name: string }[] }[];
}
