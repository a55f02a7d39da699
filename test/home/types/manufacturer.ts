import { OnOffLightDevice } from '@matter/main/devices/on-off-light';
import { AttributeElement, ClusterElement, ClusterModel, CommandElement, FieldElement } from '@matter/main/model';
import { ClusterBehavior } from '@matter/main/node';
import { ClusterType } from '@matter/main/types';
import type { DeviceType } from '../part.ts';

/** A cluster that only the test vendor 0xFFF1 knows: a count and a command that adds to it. */
export const SPARKLE_CLUSTER = new ClusterModel(
  ClusterElement(
    { name: 'Sparkle', id: 0xfff1fc01, classification: 'application' },
    AttributeElement({ name: 'SparkleCount', id: 0xfff10001, type: 'uint16', access: 'RW VO', conformance: 'M', default: 7 }),
    AttributeElement({
      name: 'SparkleColor',
      id: 0xfff10002,
      type: 'string',
      access: 'R V',
      conformance: 'M',
      default: 'gold',
      constraint: 'max 16',
    }),
    CommandElement(
      { name: 'AddSparkles', id: 0xfff10000, access: 'O', conformance: 'M', direction: 'request', response: 'status' },
      FieldElement({ name: 'Amount', id: 0, type: 'uint8', constraint: '1 to 9', conformance: 'M' }),
    ),
  ) as ClusterModel.Definition,
);
SPARKLE_CLUSTER.finalize();

interface SparkleState {
  sparkleCount: number;
}

class Sparkle extends ClusterBehavior.for(ClusterType(SPARKLE_CLUSTER) as ClusterType) {
  addSparkles({ amount }: { readonly amount: number }): void {
    const state = this.state as unknown as SparkleState;
    state.sparkleCount += amount;
  }
}

export const SPARKLING_LIGHT: DeviceType = { parts: [{ id: 'light', type: OnOffLightDevice.with(Sparkle) }] };
