import { p } from '../../tools/schema/parameter-builder.ts';
import type { RegisteredTool } from '../../tools/tool-definition.ts';

/** Parameter of every tool that asks a model. */
export const modelParameter = p
  .string({ description: 'Name of one of the models that the owner configured; the default one of the task when absent', maxLength: 64 })
  .optional();

/** Time limits of source 000 §8, in milliseconds. */
export const WRITING_LIMIT_MS = 120_000;
export const LOOKING_LIMIT_MS = 60_000;

/** Pictures of cameras and some minutes of speech, in base64. */
export const MAX_MEDIA_PARAMS_BYTES = 16 * 1_048_576;

/** The tool as one that tells parts of its answer before it is done. */
export function streaming(tool: RegisteredTool): RegisteredTool {
  const { definition } = tool;
  return { ...tool, definition: { ...definition, execution: { ...definition.execution, isStreamSupported: true } } };
}

/** The tool as one that goes to a hub with a GPU where one has it as well. */
export function preferringGpu(tool: RegisteredTool): RegisteredTool {
  const { definition } = tool;
  const requires = { ...definition.requires, gpuPreferred: true };
  return { ...tool, definition: { ...definition, requires, routing: { ...definition.routing, preferGpu: true } } };
}
