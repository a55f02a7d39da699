import { p } from '../../tools/schema/parameter-builder.ts';

/** Parameter of every tool that asks a model. */
export const modelParameter = p
  .string({ description: 'Name of one of the models that the owner configured; the default one of the task when absent', maxLength: 64 })
  .optional();

/** A parameter that takes bytes, or says where they are. */
export const mediaParameter = (description: string) =>
  p.string({
    description,
    minLength: 1,
    anyOf: [
      { type: 'string', description: 'The bytes', contentEncoding: 'base64' },
      { type: 'string', description: 'An address, a data: URI, or base64 of other forms' },
    ],
  });

/** Time limits of source 000 §8, in milliseconds. */
export const WRITING_LIMIT_MS = 120_000;
export const LOOKING_LIMIT_MS = 60_000;

/** Pictures of cameras and some minutes of speech, in base64. */
export const MAX_MEDIA_PARAMS_BYTES = 16 * 1_048_576;
