import type { Effect } from '../auth/principal.ts';
import type { Json } from '../json.ts';
import type { DeviceState } from './device-model.ts';

/** What a call will do to one value of a device, in human units. Clients get it unchanged, so its fields are in snake_case. */
export interface ExpectedChange {
  readonly device_id: string;
  /** Name of the value, such as `brightness`. */
  readonly name: string;
  readonly unit: string;
  /** The present value; absent if it is not known, or if the caller may not read the device. */
  readonly now?: Json;
  /** The value afterwards; absent if it is not known before, or if the caller may not read the device. */
  readonly expected?: Json;
  /** True if the call may change the value and the new value is not known before. */
  readonly unforeseen?: true;
}

/** Whether what a call changes can be put back afterwards; if not, why not. */
export interface Reversibility {
  readonly possible: boolean;
  readonly reason?: string;
}

/** Port: the states of devices, as far as the effects of a call concern them. */
export interface DeviceStates {
  /**
   * Returns the present raw values that the effects may change. Values that devices report are taken from their reports; only values that
   * they do not report, or have not reported yet, are read from them, and then a promise is returned. It never rejects: what cannot be read is
   * absent, and so is what a device that has not reported yet does not answer within a second.
   */
  before(effects: readonly Effect[], signal: AbortSignal): DeviceState | Promise<DeviceState>;
  /** Returns the same values as they were reported last. */
  latest(state: DeviceState): DeviceState;
  /** Returns the changes that the effects make. `mayRead` returns whether the values of a device, now and afterwards, may be shown. */
  changesOf(effects: readonly Effect[], mayRead: (device: string) => boolean): readonly ExpectedChange[];
  reversibilityOf(effects: readonly Effect[]): Reversibility;
}

/** The states of the devices of a hub that opens its devices after its pipeline. Until then, and without Matter, there are none. */
export class LateDeviceStates implements DeviceStates {
  #states: DeviceStates | undefined;

  /** Sets the states that are used from now on. */
  use(states: DeviceStates): void {
    this.#states = states;
  }

  before(effects: readonly Effect[], signal: AbortSignal): DeviceState | Promise<DeviceState> {
    return this.#states?.before(effects, signal) ?? {};
  }

  latest(state: DeviceState): DeviceState {
    return this.#states?.latest(state) ?? {};
  }

  changesOf(effects: readonly Effect[], mayRead: (device: string) => boolean): readonly ExpectedChange[] {
    return this.#states?.changesOf(effects, mayRead) ?? [];
  }

  reversibilityOf(effects: readonly Effect[]): Reversibility {
    return this.#states?.reversibilityOf(effects) ?? { possible: false, reason: 'This hub has no devices' };
  }
}
