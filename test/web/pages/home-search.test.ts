import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../src/core/json.ts';
import { EMPTY_HOME, withDevices } from '../../../src/web/api/home-store.ts';
import type { SceneInfo } from '../../../src/web/api/hub-types.ts';
import { homeDevices } from '../../../src/web/pages/home-areas.ts';
import { offersOf } from '../../../src/web/pages/home-search.ts';
import type { MatchView } from '../../../src/web/pages/tool-search.ts';
import { WHOLE_HOME } from '../whole-home.ts';

const devices = homeDevices(withDevices(EMPTY_HOME, WHOLE_HOME));
const NIGHT: SceneInfo = {
  scene: 'good_night',
  name: 'Good night',
  tool: 'scene:good_night@1.0.0',
  actions: [
    { device_id: 'hall-light', device: 'Hall light', action: 'turn_off', params: {} },
    { device_id: 'hall-light', device: 'Hall light', action: 'set_brightness', params: {} },
    { device_id: 'bedroom-lamp', device: 'Bedroom lamp', action: 'turn_off', params: {} },
  ],
};
const match = (id: string, more: JsonObject = {}): MatchView => ({
  id,
  name: id.replace(/^\w+:|@.*$/g, ''),
  description: '',
  available: true,
  parameters: {},
  confidence: 1,
  ...more,
});
const place = (area: string, [scope, what, action]: readonly [string, string, string], confidence = 1) =>
  match('core:control_area@1.0.0', { confidence, suggested_parameters: { area, scope, what, action } });
const offered = (words: string, found: readonly MatchView[], seen = devices) =>
  offersOf(words, found, { devices: seen, scenes: [NIGHT] }).map(({ call, about }) => [call.label, about]);

describe('what the search of Home offers in one tap', () => {
  test('is what the hub finds for the sentence, with the devices that it is about', () => {
    const found = [place('Bedroom', ['area', 'covers', 'close']), match('matter:bedroom_blind_close@1.0.0')];
    expect(offered('close the blinds in the bedroom', found)).toEqual([['Close covers: Bedroom', 'Bedroom blind']]);
    const [offer] = offersOf('', found, { devices, scenes: [] });
    expect(offer?.call).toMatchObject({
      tool: 'control_area',
      params: { area: 'Bedroom', scope: 'area', what: 'covers', action: 'close' },
    });
  });

  test('names three devices and counts the others', () => {
    const [[label, about] = []] = offered('all lights off', [place('house', ['house', 'lights', 'off'])]);
    expect(label).toBe('All lights off');
    expect(about).toMatch(/^[^,]+, [^,]+, [^,]+ and \d more$/);
  });

  test('is a scene by its name, or by what the hub finds', () => {
    expect(offered('good night', [])).toEqual([['Good night', 'Hall light, Bedroom lamp']]);
    expect(offered('start the scene for the night', [match(NIGHT.tool)])).toEqual([['Good night', 'Hall light, Bedroom lamp']]);
    expect(offered('kitchen', [])).toEqual([]);
  });

  test('is nothing that the person does not see, nothing unsure, and no other tool', () => {
    const lights = place('house', ['house', 'lights', 'off']);
    expect(offered('all lights off', [lights], [])).toEqual([]);
    expect(offered('all lights off', [place('house', ['house', 'lights', 'off'], 0.4)])).toEqual([]);
    expect(offered('pause all', [place('house', ['house', 'media', 'off']), match('core:control_area@1.0.0')])).toEqual([]);
  });
});
