import { BindingServer } from '@matter/main/behaviors/binding';
import { OnOffClient } from '@matter/main/behaviors/on-off';
import { SwitchServer } from '@matter/main/behaviors/switch';
import { OnOffLightSwitchDevice } from '@matter/main/devices/on-off-light-switch';
import type { DeviceType } from '../part.ts';

const LatchingSwitchServer = SwitchServer.with('LatchingSwitch');
type Bound = Parameters<Parameters<BindingServer['events']['established']['on']>[0]>[0];

/** Sends On or Off to every device that the endpoint is bound to when the switch is thrown. */
class SwitchBindingServer extends BindingServer {
  declare readonly internal: InstanceType<typeof SwitchBindingServer.Internal>;
  /** What lasts as long as the endpoint; matter.js looks for it under this name. */
  static override readonly Internal = class {
    readonly bound = new Set<Bound>();
  };

  override initialize(): void {
    super.initialize();
    this.reactTo(this.events.established, this.#add);
    this.reactTo(this.events.removed, this.#remove);
    this.reactTo(this.endpoint.eventsOf(LatchingSwitchServer).currentPosition$Changed, this.#thrown);
  }

  #add(bound: Bound): void {
    this.internal.bound.add(bound);
  }

  #remove(bound: Bound): void {
    this.internal.bound.delete(bound);
  }

  async #thrown(position: number): Promise<void> {
    const command = position === 1 ? 'on' : 'off';
    await Promise.allSettled([...this.internal.bound].map(({ endpoint }) => endpoint.commandsOf(OnOffClient)[command]()));
  }
}

/** A light switch on the wall: throw it by setting switch.currentPosition to 1 (on) or 0 (off). */
export const WALL_SWITCH: DeviceType = {
  parts: [
    {
      id: 'switch',
      type: OnOffLightSwitchDevice.with(LatchingSwitchServer, SwitchBindingServer).withClientClusters(OnOffClient),
      state: { switch: { numberOfPositions: 2, currentPosition: 0 } },
    },
  ],
};
