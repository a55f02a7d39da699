import { describe, expect, test } from 'vitest';
import { EMPTY_HOME, withDevices } from '../../../src/web/api/home-store.ts';
import type { SceneInfo } from '../../../src/web/api/hub-types.ts';
import { areasOf } from '../../../src/web/pages/home-areas.ts';
import { actionWords, changeScene, deleteScene, newScene, recaptureScene, runScene } from '../../../src/web/pages/home-scenes.ts';
import { WHOLE_HOME } from '../whole-home.ts';

const rooms = areasOf(withDevices(EMPTY_HOME, WHOLE_HOME), { areas: [], own: { favourites: [], devices: [], rooms: [] } });
const NIGHT: SceneInfo = {
  scene: 'good_night',
  name: 'Good night',
  tool: 'scene:good_night@1.0.0',
  actions: [
    { device_id: 'hall-light', device: 'Hall light', action: 'turn_off', params: {} },
    { device_id: 'bedroom-lamp', device: 'Bedroom lamp', action: 'set_brightness', params: { brightness: 10 } },
    { device_id: 'bedroom-lamp', device: 'Bedroom lamp', action: 'set_color', params: { color: 'amber' } },
  ],
};

describe('a scene', () => {
  test('runs by its id', () => {
    expect(runScene(NIGHT)).toEqual({ tool: 'run_scene', params: { scene: 'good_night' }, label: 'Good night' });
  });

  test('of all rooms is that of the house', () => {
    const all = rooms.map(({ name }) => name);
    expect(newScene('Night', all, rooms).params).toEqual({ name: 'Night', area: 'house' });
  });

  test('of some rooms takes their devices, without locks and appliances', () => {
    const { devices } = newScene('Night', ['Hall', 'Cellar', 'Bedroom'], rooms).params;
    expect(devices).toEqual(expect.arrayContaining(['hall-light', 'bedroom-blind', 'bedroom-lamp', 'bedroom-fan']));
    for (const id of ['front-door', 'washer', 'robot', 'kitchen-ceiling', 'hall-motion']) expect(devices).not.toContain(id);
  });

  test('is changed by what is new only', () => {
    expect(changeScene(NIGHT, { name: 'Good night', kept: NIGHT.actions })).toBeUndefined();
    expect(changeScene(NIGHT, { name: 'Night', kept: NIGHT.actions })?.params).toEqual({ scene: 'good_night', name: 'Night' });
    expect(changeScene(NIGHT, { name: 'Good night', kept: NIGHT.actions.slice(0, 1) })?.params).toEqual({
      scene: 'good_night',
      actions: [{ device: 'hall-light', action: 'turn_off', params: {} }],
    });
  });

  test('takes the present state of each of its devices once', () => {
    expect(recaptureScene(NIGHT).params).toEqual({ scene: 'good_night', devices: ['hall-light', 'bedroom-lamp'] });
    expect(deleteScene(NIGHT)).toMatchObject({ tool: 'delete_scene', params: { scene: 'good_night' } });
  });

  test('says in words what each device does', () => {
    expect(NIGHT.actions.map(actionWords)).toEqual([
      'Turn off Hall light',
      'Bedroom lamp: Set brightness 10',
      'Bedroom lamp: Set color amber',
    ]);
  });
});
