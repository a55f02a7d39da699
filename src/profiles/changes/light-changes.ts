import type { Json } from '../../core/json.ts';
import { type AttributeChange, type Changes, NO_CHANGE, type TouchedCluster, unknownChanges } from './attribute-change.ts';

const LOWEST_LEVEL = 1;
const HIGHEST_LEVEL = 254;
const COORDINATES = ['CurrentHue', 'CurrentSaturation', 'CurrentX', 'CurrentY', 'ColorTemperatureMireds'];

/** Application Clusters §1.5 On/Off. */
const on: Changes = (touched) => [{ attribute: 'OnOff', raw: true }, ...restoredLevel(touched)];
const off: Changes = () => [{ attribute: 'OnOff', raw: false }];

/** The longer of two times counts (§1.5.7.6). */
function onWithTimedOff(touched: TouchedCluster): readonly AttributeChange[] {
  const time = touched.number('onTime');
  const left = time === undefined ? undefined : Math.max(time, touched.liveNumber('OnTime') ?? 0);
  return [...on(touched), { attribute: 'OnTime', raw: left }];
}

function toggle(touched: TouchedCluster): readonly AttributeChange[] {
  const now = touched.live('OnOff');
  if (now === true) return off(touched);
  if (now === false) return on(touched);
  return [{ attribute: 'OnOff', raw: undefined }, ...restoredLevel(touched)];
}

/** Turning on moves the level to OnLevel, else back to where it was (§1.6.6.11). */
function restoredLevel(touched: TouchedCluster): readonly AttributeChange[] {
  const level = touched.liveNumber('OnLevel', 'LevelControl') ?? touched.liveNumber('CurrentLevel', 'LevelControl');
  return [{ cluster: 'LevelControl', attribute: 'CurrentLevel', raw: level }];
}

/** Application Clusters §1.6 Level Control. */
function moveToLevel(touched: TouchedCluster): readonly AttributeChange[] {
  return [{ attribute: 'CurrentLevel', raw: touched.field('level') }];
}

function moveToLevelWithOnOff(touched: TouchedCluster): readonly AttributeChange[] {
  return [...moveToLevel(touched), { cluster: 'OnOff', attribute: 'OnOff', raw: isOnAt(touched, touched.number('level')) }];
}

function step(touched: TouchedCluster): readonly AttributeChange[] {
  return [{ attribute: 'CurrentLevel', raw: steppedLevel(touched) }];
}

function stepWithOnOff(touched: TouchedCluster): readonly AttributeChange[] {
  const isUp = touched.field('stepMode') === 'Up';
  const raw: Json | undefined = isUp ? true : isOnAt(touched, steppedLevel(touched));
  return [...step(touched), { cluster: 'OnOff', attribute: 'OnOff', raw }];
}

function steppedLevel(touched: TouchedCluster): number | undefined {
  const now = touched.liveNumber('CurrentLevel');
  const size = touched.number('stepSize');
  const mode = touched.field('stepMode');
  if (now === undefined || size === undefined || (mode !== 'Up' && mode !== 'Down')) return undefined;
  const [min, max] = [touched.liveNumber('MinLevel') ?? LOWEST_LEVEL, touched.liveNumber('MaxLevel') ?? HIGHEST_LEVEL];
  return Math.min(Math.max(now + (mode === 'Up' ? size : -size), min), max);
}

/** A light at its lowest level may be on, or be turned off by what brought it there (§1.6.7). */
function isOnAt(touched: TouchedCluster, level: number | undefined): boolean | undefined {
  const lowest = touched.liveNumber('MinLevel') ?? LOWEST_LEVEL;
  if (level === undefined || level === lowest) return undefined;
  return level > lowest;
}

/** Application Clusters §3.2: a colour has one place in several systems; what it is in the others is not known before. */
function colorAt(mode: string, attributes: Readonly<Record<string, Json | undefined>>): readonly AttributeChange[] {
  const named = Object.entries(attributes).map(([attribute, raw]) => ({ attribute, raw }));
  const others = COORDINATES.filter((attribute) => !(attribute in attributes));
  return [...named, ...unknownChanges(...others), { attribute: 'ColorMode', raw: mode }];
}

const HUE_MODE = 'CurrentHueAndCurrentSaturation';
const enhanced = (touched: TouchedCluster): number | undefined => {
  const hue = touched.number('enhancedHue');
  return hue === undefined ? undefined : hue >> 8;
};

/** What commands to lights change, by `Cluster.Command`. */
export const LIGHT_CHANGES: Readonly<Record<string, Changes>> = {
  'OnOff.On': on,
  'OnOff.OnWithTimedOff': onWithTimedOff,
  'OnOff.Off': off,
  'OnOff.OffWithEffect': off,
  'OnOff.Toggle': toggle,
  'LevelControl.MoveToLevel': moveToLevel,
  'LevelControl.MoveToLevelWithOnOff': moveToLevelWithOnOff,
  'LevelControl.Step': step,
  'LevelControl.StepWithOnOff': stepWithOnOff,
  'LevelControl.MoveWithOnOff': () => [
    { attribute: 'CurrentLevel', raw: undefined },
    { cluster: 'OnOff', attribute: 'OnOff', raw: undefined },
  ],
  'LevelControl.Stop': NO_CHANGE,
  'LevelControl.StopWithOnOff': NO_CHANGE,
  'ColorControl.StopMoveStep': NO_CHANGE,
  'ColorControl.MoveToHue': (t) => colorAt(HUE_MODE, { CurrentHue: t.field('hue') }),
  'ColorControl.MoveToSaturation': (t) => colorAt(HUE_MODE, { CurrentSaturation: t.field('saturation') }),
  'ColorControl.MoveToHueAndSaturation': (t) => colorAt(HUE_MODE, { CurrentHue: t.field('hue'), CurrentSaturation: t.field('saturation') }),
  'ColorControl.EnhancedMoveToHue': (t) => colorAt(HUE_MODE, { CurrentHue: enhanced(t) }),
  'ColorControl.EnhancedMoveToHueAndSaturation': (t) =>
    colorAt(HUE_MODE, { CurrentHue: enhanced(t), CurrentSaturation: t.field('saturation') }),
  'ColorControl.MoveToColor': (t) => colorAt('CurrentXAndCurrentY', { CurrentX: t.field('colorX'), CurrentY: t.field('colorY') }),
  'ColorControl.MoveToColorTemperature': (t) =>
    colorAt('ColorTemperatureMireds', { ColorTemperatureMireds: t.field('colorTemperatureMireds') }),
};
