import { text } from '../texts/text.ts';
import {
  actionText,
  type ButtonsControl,
  buttonOf,
  callOf,
  mainRow,
  type SwitchControl,
  type TileButton,
  type TileSource,
} from './tile-control.ts';

/** States of a robot in which it stands at its dock or is on the way to it. */
const AT_HOME = ['docked', 'charging', 'seeking_charger'];
/** Words in the names of the modes in which a robot cleans. */
const CLEANING_WORDS = ['clean', 'vacuum', 'sweep', 'auto'];

/** Returns the buttons of a robot that cleans: start, pause or resume, and back to its dock. */
export function robotOf(source: TileSource): ButtonsControl | undefined {
  const state = source.readings.get('operational_state')?.value;
  const isRobot = source.actions.has('go_home') || source.readings.has('run_mode');
  if (!isRobot) return undefined;
  const home = AT_HOME.includes(String(state)) ? undefined : buttonOf(source, 'go_home', 'home');
  if (state === 'running') return mainRow(buttonOf(source, 'pause', 'pause'), home);
  if (state === 'paused') return mainRow(buttonOf(source, 'resume', 'play'), home);
  return mainRow(cleaningOf(source), home);
}

function cleaningOf(source: TileSource): TileButton | undefined {
  const call = callOf(source, 'set_run_mode');
  if (!call) return undefined;
  const label = text('tiles.do_clean', { name: source.device.name });
  return { icon: 'play', text: actionText('clean'), call: { ...call, label, fill: { name: 'run_mode', words: CLEANING_WORDS } } };
}

/** Returns the buttons of a washer, oven or other device that runs a programme: start, pause or resume, and stop. */
export function applianceButtonsOf(source: TileSource): ButtonsControl | undefined {
  const state = source.readings.get('operational_state')?.value;
  const isAppliance = source.actions.has('start') || source.actions.has('stop');
  if (state === undefined || !isAppliance) return undefined;
  const stop = buttonOf(source, 'stop', 'stop');
  if (state === 'running') return mainRow(buttonOf(source, 'pause', 'pause'), stop);
  if (state === 'paused') return mainRow(buttonOf(source, 'resume', 'play'), stop);
  return mainRow(buttonOf(source, 'start', 'play'));
}

/** Returns the switch that lets a charger charge the car. */
export function chargerOf(source: TileSource): SwitchControl | undefined {
  const supply = source.readings.get('supply_state')?.value;
  if (supply === undefined) return undefined;
  const label = text('tiles.charging_of', { name: source.device.name });
  const isOn = supply !== 'disabled' && !String(supply).startsWith('disabled_');
  if (isOn) {
    const flip = callOf(source, 'disable_charging');
    return flip && { kind: 'switch', isOn, label, flip };
  }
  const call = callOf(source, 'enable_charging');
  // The tool's definition has the capacity of the circuit as the largest current.
  return call && { kind: 'switch', isOn, label, flip: { ...call, fill: { name: 'max_current', words: 'maximum' } } };
}

/** Returns the switch of a loudspeaker's sound. */
export function mutingOf(source: TileSource): SwitchControl | undefined {
  const value = source.readings.get('is_unmuted')?.value;
  const flip = callOf(source, value === true ? 'mute' : 'unmute');
  return flip && { kind: 'switch', isOn: value === true, label: text('tiles.sound_of', { name: source.device.name }), flip };
}

/** Returns the buttons of a player: play or pause, and stop. */
export function playbackOf(source: TileSource): ButtonsControl | undefined {
  const state = source.readings.get('playback_state')?.value;
  if (state === undefined) return undefined;
  if (state === 'playing') return mainRow(buttonOf(source, 'pause_playback', 'pause'), buttonOf(source, 'stop_playback', 'stop'));
  return mainRow(buttonOf(source, 'play', 'play'));
}
