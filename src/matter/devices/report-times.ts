import type { AttributePath } from '../../core/devices/device-model.ts';
import type { Clock } from '../../core/time/clock.ts';
import type { AttributeShape } from '../model/cluster-shape.ts';
import type { NodeDevices } from './node-devices.ts';

/** When each value was last told: by a report of its own, or by a subscription that would have reported a change. */
export class ReportTimes {
  readonly #clock: Clock;
  readonly #times = new WeakMap<NodeDevices, Map<string, number>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The device told this value now; answers the time. */
  note(node: NodeDevices, path: Omit<AttributePath, 'device'>): number {
    const times = this.#times.get(node) ?? new Map<string, number>();
    const nowMs = this.#clock.now();
    this.#times.set(node, times.set(keyOf(path), nowMs));
    return nowMs;
  }

  /**
   * Ms since 1970; 0 when that is not known. Values whose changes are not reported age from their own report on, or from the time at
   * which a node that joined was read.
   */
  of(node: NodeDevices, path: Omit<AttributePath, 'device'>, attribute: AttributeShape): number {
    const ownMs = this.#times.get(node)?.get(keyOf(path)) ?? 0;
    return Math.max(ownMs, attribute.facts.changesOmitted ? node.joinedMs : node.confirmedMs);
  }
}

function keyOf({ endpoint, cluster, attribute }: Omit<AttributePath, 'device'>): string {
  return `${endpoint}/${cluster}/${attribute}`;
}
