import '../matter-platform.ts';
import { ColorControlServer } from '@matter/main/behaviors/color-control';
import { LevelControlServer } from '@matter/main/behaviors/level-control';
import { OnOffServer } from '@matter/main/behaviors/on-off';
import type { ColorControl } from '@matter/main/clusters/color-control';
import { ColorTemperatureLightDevice } from '@matter/main/devices/color-temperature-light';
import { DimmableLightDevice } from '@matter/main/devices/dimmable-light';
import { OnOffLightDevice } from '@matter/main/devices/on-off-light';
import { OnOffPlugInUnitDevice } from '@matter/main/devices/on-off-plug-in-unit';
import { refuse, request } from './bridged-request.ts';
import { kelvinOf, percentOf } from './bridged-units.ts';
import { supervisorWithout } from './unstored-attributes.ts';

// Each command is carried out first. Only then does matter.js change the attributes, so that a refused command changes nothing.

/** The On/Off cluster of a bridged light, plug or scene (Matter application clusters 1.5). */
class BridgedOnOff extends OnOffServer.with('Lighting') {
  static override get supervisor() {
    return supervisorWithout(BridgedOnOff, ['onOff']);
  }

  override async on(): Promise<void> {
    await request(this, 'turn_on');
    await super.on();
  }

  override async off(): Promise<void> {
    await request(this, 'turn_off');
    await super.off();
  }

  /** The end of the time would be a command that nobody sends, so no rule, approval or token could hold for it. */
  override onWithTimedOff(): never {
    return refuse('OnWithTimedOff');
  }
}

/**
 * The Level Control cluster of a bridged light (Matter application clusters 1.6). Each movement ends at once at its target: the thing gets
 * one command, and it may dim by itself.
 */
class BridgedLevel extends LevelControlServer.with('OnOff', 'Lighting') {
  static override get supervisor() {
    return supervisorWithout(BridgedLevel, ['currentLevel']);
  }

  override async transition(targetLevel = this.currentLevel, _rate?: unknown, withOnOff = false): Promise<void> {
    const level = Math.round(Math.min(this.maxLevel, Math.max(this.minLevel, targetLevel)));
    const onOff = this.agent.get(BridgedOnOff);
    const turnsOff = withOnOff && targetLevel <= this.minLevel;
    // A command without on and off must not turn the light on, which the thing's own tool would. Its options say that the level changes.
    const isKept = !withOnOff && !onOff.state.onOff;
    if (!isKept) await (turnsOff ? request(this, 'turn_off') : request(this, 'set_brightness', { brightness: percentOf(level) }));
    this.state.currentLevel = level;
    if (withOnOff) onOff.state.onOff = !turnsOff;
  }

  /** Changes nothing: the thing decides how bright it is when it is turned on, and reports it. */
  override handleOnOffChange(): void {}
}

/** The Color Control cluster of a bridged light with colour temperature (Matter application clusters 3.2). */
class BridgedColorTemperature extends ColorControlServer.with('ColorTemperature') {
  static override get supervisor() {
    return supervisorWithout(BridgedColorTemperature, ['colorTemperatureMireds']);
  }

  override async moveToColorTemperatureLogic(targetMireds: number): Promise<void> {
    const { minimumColorTemperatureMireds: min, maximumColorTemperatureMireds: max } = this;
    const mireds = Math.min(max, Math.max(min, targetMireds));
    await request(this, 'set_color_temperature', { color_temperature: kelvinOf(mireds) });
    this.state.colorTemperatureMireds = mireds;
  }

  override moveColorTemperatureLogic(mode: ColorControl.MoveMode, _rate: number, min: number, max: number): Promise<void> {
    return this.moveToColorTemperatureLogic(mode === UP ? max : min);
  }

  override stepColorTemperatureLogic(
    ...[mode, size, _time, min, max]: [ColorControl.StepMode, number, number, number, number]
  ): Promise<void> {
    const target = this.mireds + (mode === UP ? size : -size);
    return this.moveToColorTemperatureLogic(Math.min(max, Math.max(min, target)));
  }
}

/** `MoveMode.Up` and `StepMode.Up` (Matter application clusters 3.2.5). */
const UP = 1;

/** The device types of bridged lights and plugs. */
export const LIGHTS = {
  on_off_light: OnOffLightDevice.with(BridgedOnOff),
  dimmable_light: DimmableLightDevice.with(BridgedOnOff, BridgedLevel),
  color_temperature_light: ColorTemperatureLightDevice.with(BridgedOnOff, BridgedLevel, BridgedColorTemperature),
  plug: OnOffPlugInUnitDevice.with(BridgedOnOff),
};
