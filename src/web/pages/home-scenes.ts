import type { JsonObject } from '../../core/json.ts';
import type { SceneAction, SceneInfo } from '../api/hub-types.ts';
import { capital, humanWords, valueWords } from '../components/formatting.ts';
import { hasText, text } from '../texts/text.ts';
import type { AreaView } from './home-areas.ts';
import type { TileCall } from './tile-control.ts';

/** Returns the call that runs a scene. */
export function runScene({ scene, name }: SceneInfo): TileCall {
  return { tool: 'run_scene', params: { scene }, label: name };
}

/** Returns the call that saves a scene from what the devices of the chosen rooms are now. `rooms` are all rooms. */
export function newScene(name: string, chosen: readonly string[], rooms: readonly AreaView[]): TileCall {
  const label = text('home.save_scene', { name });
  if (rooms.every((room) => chosen.includes(room.name))) return { tool: 'save_scene', params: { name, area: 'house' }, label };
  const tiles = rooms.filter((room) => chosen.includes(room.name)).flatMap((room) => room.tiles);
  const devices = tiles.filter(({ controls, icon }) => controls.length > 0 && !LEFT_OUT.includes(icon)).map(({ id }) => id);
  return { tool: 'save_scene', params: { name, devices }, label };
}

/** Icons of devices whose state no scene takes by itself: locks, and what heats or washes. */
const LEFT_OUT = ['lock', 'unlock', 'valve', 'oven', 'washer', 'robot', 'car'];

/** Returns the call that gives a scene another name, and keeps only some of its actions. Returns undefined if nothing changes. */
export function changeScene(
  before: SceneInfo,
  wanted: { readonly name: string; readonly kept: readonly SceneAction[] },
): TileCall | undefined {
  const actions = wanted.kept.map(({ device_id: device, action, params }) => ({ device, action, params }));
  const change: JsonObject = {
    ...(wanted.name !== before.name && { name: wanted.name }),
    ...(actions.length < before.actions.length && { actions }),
  };
  if (Object.keys(change).length === 0) return undefined;
  return { tool: 'change_scene', params: { scene: before.scene, ...change }, label: text('home.change_scene', { name: before.name }) };
}

/** Returns the call that gives a scene the present state of its devices. */
export function recaptureScene({ scene, name, actions }: SceneInfo): TileCall {
  const devices = [...new Set(actions.map(({ device_id: id }) => id))];
  return { tool: 'change_scene', params: { scene, devices }, label: text('home.change_scene', { name }) };
}

/** Returns the call that deletes a scene. */
export function deleteScene({ scene, name }: SceneInfo): TileCall {
  return { tool: 'delete_scene', params: { scene }, label: text('home.delete_scene', { name }) };
}

/** Returns what a device does in a scene, such as `Turn off Hall light` or `Set brightness: 40`. */
export function actionWords({ device, action, params }: SceneAction): string {
  const key = `tiles.do_${action}`;
  const values = Object.values(params).map(valueWords).join(', ');
  if (hasText(key)) return values === '' ? text(key, { name: device }) : `${text(key, { name: device })}: ${values}`;
  return `${device}: ${capital(humanWords(action))}${values === '' ? '' : ` ${values}`}`;
}
