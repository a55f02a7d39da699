import { isoTime } from '../../core/time/iso-time.ts';
import { defineTool } from '../../tools/definition/define-tool.ts';
import { withoutSetting } from '../../tools/definition/missing-setting.ts';
import type { RegisteredTool } from '../../tools/definition/tool-definition.ts';
import { cameraParameter, requireCamera } from '../camera/camera-parameter.ts';
import type { Cameras } from '../camera/cameras.ts';
import { LOOK_RETURNS, look, lookParameters } from './look.ts';
import type { ModelBook } from './model-book.ts';
import { LOOKING_LIMIT_MS, modelParameter } from './model-tool.ts';

/** `look_through_camera`: `analyze_image` of what a camera sees now, without the picture going through the caller. */
export function lookThroughCameraTool(book: ModelBook, cameras: Cameras): RegisteredTool {
  const tool = defineTool(
    {
      name: 'look_through_camera',
      title: 'Look through a camera',
      description:
        'Takes a picture with a camera of the house and has a model look at it. Use it to answer what is to be seen now, such as whether ' +
        'a parcel lies at the door. What the model finds is a guess.',
      category: 'sensing',
      capabilities: ['vision', 'camera_access'],
      permissions: ['vision:analyze', 'camera:capture:{camera_id}'],
      hasSideEffects: false,
      isAsyncAllowed: true,
      timeoutMs: LOOKING_LIMIT_MS,
      retries: 0,
      preferLocal: true,
      hopLimit: 1,
      tags: ['vision', 'camera', 'picture', 'model'],
      examples: cameras
        .ids()
        .slice(0, 1)
        .map((id) => ({ description: 'Looks for a parcel', params: { camera_id: id, task: 'custom', prompt: 'Is there a parcel?' } })),
      parameters: { camera_id: cameraParameter, ...lookParameters, model: modelParameter },
      returns: {
        type: 'object',
        required: ['result', 'model_used', 'processing_ms', 'timestamp'],
        properties: { ...LOOK_RETURNS, timestamp: { type: 'string', format: 'date-time', description: 'When the picture was taken' } },
      },
    },
    async ({ camera_id: id, task, prompt, model: name }, { signal, clock, permissions }) => {
      requireCamera(cameras, id, permissions);
      const model = book.pick('vision', name);
      const [atMs, startMs] = [clock.now(), clock.monotonic()];
      const { bytes } = await cameras.capture(id, { format: 'jpeg', quality: 85, within: { width: 1_280, height: 1_280 } }, signal);
      const found = await look(model, { bytes, type: 'image/jpeg' }, { task, prompt, signal });
      const tookMs = Math.round(clock.monotonic() - startMs);
      return { ...found, model_used: model.name, processing_ms: tookMs, timestamp: isoTime(atMs) };
    },
  );
  const missing = [
    ...(cameras.ids().length > 0 ? [] : ['connectors.cameras']),
    ...(book.tasks().includes('vision') ? [] : ['connectors.models with a model for vision']),
  ];
  return missing.length === 0 ? tool : withoutSetting(tool, `set ${missing.join(' and ')} in the configuration`);
}
