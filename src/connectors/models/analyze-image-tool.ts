import { defineTool } from '../../tools/definition/define-tool.ts';
import type { RegisteredTool } from '../../tools/definition/tool-definition.ts';
import type { FetchPublic } from '../web/fetch-public.ts';
import { LOOK_RETURNS, look, lookParameters } from './look.ts';
import { loadMedia } from './media-source.ts';
import type { ModelBook } from './model-book.ts';
import { LOOKING_LIMIT_MS, MAX_MEDIA_PARAMS_BYTES, mediaParameter, modelParameter } from './model-tool.ts';

/** `analyze_image` (source 000 §8.2) over models that see. */
export function analyzeImageTool(book: ModelBook, fetchPublic: FetchPublic): RegisteredTool {
  return defineTool(
    {
      name: 'analyze_image',
      title: 'Analyze an image',
      description:
        'Has a model look at a picture: what is in it, which text, or what a prompt asks. An address of the web takes the permission ' +
        'net:read as well. To look through a camera of the house there is look_through_camera. What the model finds is a guess.',
      category: 'computing',
      capabilities: ['vision'],
      permissions: ['vision:analyze'],
      hasSideEffects: false,
      isAsyncAllowed: true,
      isGpuPreferred: true,
      timeoutMs: LOOKING_LIMIT_MS,
      maxParamsBytes: MAX_MEDIA_PARAMS_BYTES,
      retries: 1,
      tags: ['vision', 'image', 'picture', 'model'],
      audit: { logParams: false },
      examples: [{ description: 'Reads a meter', params: { image: 'https://example.org/meter.jpg', task: 'ocr' } }],
      parameters: {
        image: mediaParameter('Address (http, https) of a picture, or its bytes in base64 or as a data: URI'),
        ...lookParameters,
        model: modelParameter,
      },
      returns: { type: 'object', required: ['result', 'model_used', 'processing_ms'], properties: LOOK_RETURNS },
    },
    async ({ image, task, prompt, model: name }, context) => {
      const { signal, clock } = context;
      const model = book.pick('vision', name);
      const startMs = clock.monotonic();
      const picture = await loadMedia(image, { kind: 'image', context, fetchPublic });
      const found = await look(model, picture, { task, prompt, signal });
      return { ...found, model_used: model.name, processing_ms: Math.round(clock.monotonic() - startMs) };
    },
  );
}
