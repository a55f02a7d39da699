import type { EventBus } from '../../core/events.ts';
import type { HubDirectory } from './hubs/known-hub.ts';

/** Tells the coming and going of hubs, and what changes of them, as `peer.changed`; the answer stops it. */
export function tellPeerChanges(directory: HubDirectory, events: EventBus): () => void {
  return directory.onChange(({ hub, kind }) => {
    const known = directory.hub(hub);
    const facts = known && { name: known.name, state: known.state, tools: known.tools.length, devices: known.devices.length };
    events.emit('peer.changed', hub, { change: kind, ...facts });
  });
}
