import '../matter-platform.ts';
import type { ChangeNotificationService } from '@matter/main/node';
import type { AttributePath, AttributeReading } from '../../core/devices/device-model.ts';
import { Listeners } from './listeners.ts';
import type { NodeDevices } from './node-devices.ts';
import { clusterOf } from './peer-clusters.ts';
import type { ReportTimes } from './report-times.ts';

interface DeviceReportsCollaborators {
  readonly times: ReportTimes;
  /** The value that a device reported last, undefined where it has none. */
  readonly cached: (path: AttributePath) => AttributeReading | undefined;
}

/** Tells readings of devices as the devices report them, and notes when each was reported. */
export class DeviceReports {
  readonly #with: DeviceReportsCollaborators;
  readonly #listeners = new Listeners<AttributeReading>();

  constructor(collaborators: DeviceReportsCollaborators) {
    this.#with = collaborators;
  }

  /** Calls the listener with each reading until the function that it answers is called. */
  onReport(listener: (reading: AttributeReading) => void): () => void {
    return this.#listeners.add(listener);
  }

  /** The attributes that one report of a node brought; all of the cluster where it does not say which. */
  tell(node: NodeDevices, { endpoint, behavior, properties }: ChangeNotificationService.PropertyUpdate): void {
    const cluster = clusterOf(endpoint, behavior.id);
    if (cluster === undefined) return;
    for (const attribute of cluster.shape.attributes.values()) {
      if (properties !== undefined && !properties.includes(attribute.property)) continue;
      const place = { endpoint: endpoint.number, cluster: cluster.shape.name, attribute: attribute.name };
      this.#with.times.note(node, place);
      this.#tellReading(node, place);
    }
  }

  /** All that a node has, after its subscription began anew. */
  tellAll(node: NodeDevices): void {
    if (this.#listeners.isEmpty) return;
    for (const endpoint of node.node.endpoints) {
      for (const behavior of Object.keys(endpoint.behaviors.supported)) {
        const shape = clusterOf(endpoint, behavior)?.shape;
        for (const attribute of shape?.attributes.keys() ?? []) {
          this.#tellReading(node, { endpoint: endpoint.number, cluster: shape?.name ?? '', attribute });
        }
      }
    }
  }

  #tellReading(node: NodeDevices, place: Omit<AttributePath, 'device'>): void {
    const known = this.#listeners.isEmpty ? undefined : node.holding(place.endpoint);
    const reading = known && this.#with.cached({ device: known.device.id, ...place });
    if (reading !== undefined) this.#listeners.tell(reading);
  }
}
