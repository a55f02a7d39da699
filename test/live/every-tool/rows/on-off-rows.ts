import { expect } from 'vitest';
import { does, type ToolRow } from '../tool-row.ts';

/** On and off of `slug` whose endpoint in the home is `part`. Begins off or on, ends on. */
export function switchRows(slug: string, part: string): readonly ToolRow[] {
  const on = [part, 'OnOff', 'OnOff', true] as const;
  const off = [part, 'OnOff', 'OnOff', false] as const;
  return [
    does(`${slug}_turn_on`, {}, { given: [off], raw: [on], state: { is_on: true } }),
    does(`${slug}_turn_off`, {}, { raw: [off], state: { is_on: false } }),
    does(`${slug}_toggle`, {}, { raw: [on], state: { is_on: true } }),
  ];
}

/** What lights and plugs have beyond that: a timer and scenes. */
export function lightingRows(slug: string, part: string): readonly ToolRow[] {
  const on = [part, 'OnOff', 'OnOff', true] as const;
  const off = [part, 'OnOff', 'OnOff', false] as const;
  const scenes = (sceneCount: number) => [part, 'ScenesManagement', 'FabricSceneInfo', [expect.objectContaining({ sceneCount })]] as const;
  const scene = { groupId: 0, sceneId: 3 };
  return [
    ...switchRows(slug, part),
    does(
      `${slug}_store_scene`,
      { scene: 3 },
      { raw: [scenes(1)], sent: { cluster: 'ScenesManagement', command: 'storeScene', fields: scene } },
    ),
    does(`${slug}_recall_scene`, { scene: 3, transition_seconds: 0 }, { given: [off], raw: [on], later: [on] }),
    does(`${slug}_remove_scene`, { scene: 3 }, { raw: [scenes(0)] }),
    does(
      `${slug}_turn_on_for`,
      { seconds: 5.2 },
      {
        // A longer time that runs already gives way to the new one.
        given: [on, [part, 'OnOff', 'OnTime', 6000]],
        raw: [on],
        later: [off],
        sent: {
          cluster: 'OnOff',
          command: 'onWithTimedOff',
          fields: { onTime: 52, offWaitTime: 0, onOffControl: { acceptOnlyWhenOn: false } },
        },
        state: { is_on: true },
      },
    ),
  ];
}
