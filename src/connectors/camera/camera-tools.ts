import { isoTime } from '../../core/time/iso-time.ts';
import type { Capability } from '../../tools/capability-catalogue.ts';
import { defineTool } from '../../tools/definition/define-tool.ts';
import { withoutSetting } from '../../tools/definition/missing-setting.ts';
import { IMAGE_MEMBER } from '../../tools/definition/tool-companions.ts';
import type { RegisteredTool } from '../../tools/definition/tool-definition.ts';
import { p } from '../../tools/schema/parameter-builder.ts';
import { cameraParameter, requireCamera } from './camera-parameter.ts';
import type { Cameras } from './cameras.ts';
import { FRAME_FORMATS } from './frame-source.ts';

const LIMIT_MS = 30_000;
const side = (description: string) => p.integer({ description, minimum: 16, maximum: 8_192, unit: 'px' });

/** What hubs with cameras have (source 000 §5, requires). */
export const CAMERA_ACCESS: Capability = { type: 'camera_access', description: () => 'Cameras of this home' };

const FRAME = {
  type: 'object',
  [IMAGE_MEMBER]: 'image',
  required: ['image', 'format', 'width', 'height', 'timestamp'],
  properties: {
    image: { type: 'string', contentEncoding: 'base64' },
    format: { enum: FRAME_FORMATS },
    width: { type: 'integer', 'x-unit': 'px' },
    height: { type: 'integer', 'x-unit': 'px' },
    timestamp: { type: 'string', format: 'date-time' },
  },
};

/** `get_camera_frame` (source 000 §8.9); without its setting where there are no cameras. */
export function cameraFrameTool(cameras: Cameras): RegisteredTool {
  const tool = defineTool(
    {
      name: 'get_camera_frame',
      title: 'Take a picture',
      description:
        'Takes a picture with a camera of the house now and answers it in base64. Use it to show or keep the picture; to know what is ' +
        'to be seen, ask look_through_camera instead.',
      category: 'sensing',
      capabilities: ['camera_access'],
      permissions: ['camera:capture:{camera_id}'],
      hasSideEffects: false,
      timeoutMs: LIMIT_MS,
      retries: 0,
      preferLocal: true,
      hopLimit: 1,
      tags: ['camera', 'image', 'picture'],
      audit: { logResult: false },
      examples: cameras
        .ids()
        .slice(0, 1)
        .map((id) => ({ description: 'A small picture', params: { camera_id: id, resolution: { width: 640, height: 480 } } })),
      parameters: {
        camera_id: cameraParameter,
        resolution: p
          .object(
            { width: side('Greatest width').optional(), height: side('Greatest height').optional() },
            {
              description:
                'The picture fits into it and keeps its shape; with one side alone the other follows; as the camera gives it when absent',
            },
          )
          .optional(),
        format: p.enum(FRAME_FORMATS, { description: 'raw is RGB, three bytes for each pixel, row by row', default: 'jpeg' }),
        quality: p.integer({ description: 'Quality of JPEG; 100 is best', minimum: 1, maximum: 100, default: 85 }),
      },
      returns: FRAME,
    },
    async ({ camera_id: id, resolution, format, quality }, { signal, clock, permissions }) => {
      requireCamera(cameras, id, permissions);
      const atMs = clock.now();
      const frame = await cameras.capture(id, { format, quality, ...(resolution && { within: resolution }) }, signal);
      const { width, height, bytes } = frame;
      return { image: Buffer.from(bytes).toString('base64'), format, width, height, timestamp: isoTime(atMs) };
    },
  );
  return cameras.ids().length > 0 ? tool : withoutSetting(tool, 'set connectors.cameras in the configuration');
}
