import '../matter-platform.ts';
import type { ActionContext, Behavior } from '@matter/main';
import { ThermostatServer } from '@matter/main/behaviors/thermostat';
import type { Thermostat } from '@matter/main/clusters/thermostat';
import { ThermostatDevice } from '@matter/main/devices/thermostat';
import { hasRemoteActor } from '@matter/main/protocol';
import { Status, StatusResponseError } from '@matter/main/types';
import { request } from './bridged-request.ts';
import { modeOf } from './bridged-units.ts';
import { supervisorWithout } from './unstored-attributes.ts';

// A write is carried out before matter.js commits it. If it is refused, matter.js takes it back.

/** The Thermostat cluster of a bridged heating (Matter application clusters 4.3). */
class BridgedHeating extends ThermostatServer.with('Heating') {
  static override get supervisor() {
    return supervisorWithout(BridgedHeating, ['occupiedHeatingSetpoint', 'systemMode']);
  }

  override async initialize(): Promise<void> {
    // The checks of matter.js come first, so that a write which it refuses does not act.
    await super.initialize();
    const { occupiedHeatingSetpoint$Changing, systemMode$Changing } = this.events;
    this.reactTo(awaited(occupiedHeatingSetpoint$Changing), this.#setTemperature);
    this.reactTo(awaited(systemMode$Changing), this.#setMode);
  }

  async #setTemperature(value: number, ...[, context]: [number, ActionContext?]): Promise<void> {
    if (isWritten(context)) await request(this, 'set_temperature', { temperature: value / 100 });
  }

  async #setMode(mode: Thermostat.SystemMode, ...[, context]: [Thermostat.SystemMode, ActionContext?]): Promise<void> {
    if (isWritten(context)) await requestMode(this, mode);
  }
}

/** The Thermostat cluster of a bridged thermostat that heats and cools. */
class BridgedThermostat extends ThermostatServer.with('Heating', 'Cooling', 'AutoMode') {
  static override get supervisor() {
    return supervisorWithout(BridgedThermostat, ['occupiedHeatingSetpoint', 'occupiedCoolingSetpoint', 'systemMode']);
  }

  override async initialize(): Promise<void> {
    await super.initialize();
    const { occupiedHeatingSetpoint$Changing, occupiedCoolingSetpoint$Changing, systemMode$Changing } = this.events;
    this.reactTo(awaited(occupiedHeatingSetpoint$Changing), this.#setHeating);
    this.reactTo(awaited(occupiedCoolingSetpoint$Changing), this.#setCooling);
    this.reactTo(awaited(systemMode$Changing), this.#setMode);
  }

  async #setHeating(value: number, ...[, context]: [number, ActionContext?]): Promise<void> {
    if (isWritten(context)) await request(this, 'set_temperature', { temperature: value / 100, setpoint: 'heat' });
  }

  async #setCooling(value: number, ...[, context]: [number, ActionContext?]): Promise<void> {
    if (isWritten(context)) await request(this, 'set_temperature', { temperature: value / 100, setpoint: 'cool' });
  }

  async #setMode(mode: Thermostat.SystemMode, ...[, context]: [Thermostat.SystemMode, ActionContext?]): Promise<void> {
    if (isWritten(context)) await requestMode(this, mode);
  }
}

/** Carries out the write of a mode. Refuses those that a bridge does not use, such as drying or sleep. */
async function requestMode(behavior: Behavior, systemMode: Thermostat.SystemMode): Promise<void> {
  const mode = modeOf(systemMode);
  if (mode === undefined)
    throw new StatusResponseError('A bridged thermostat has the modes off, heat, cool and auto', Status.ConstraintError);
  await request(behavior, 'set_mode', { mode });
}

/**
 * Lets the event of a change wait for asynchronous reactors. matter.js awaits it before it commits the change, but does not mark it so, and
 * would refuse a reactor that returns a promise.
 */
function awaited<E extends { isAsync: boolean }>(event: E): E {
  event.isAsync = true;
  return event;
}

/** Returns whether an ecosystem changes the attribute. If not, the hub shows a new value of the thing. */
function isWritten(context: ActionContext | undefined): boolean {
  return context !== undefined && hasRemoteActor(context);
}

/** The device types of bridged thermostats. */
export const THERMOSTATS = {
  heating_thermostat: ThermostatDevice.with(BridgedHeating),
  thermostat: ThermostatDevice.with(BridgedThermostat),
};
