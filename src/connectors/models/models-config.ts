import { optionalSection, SECRET_SOURCE, type Settings } from '../../core/config/config-section.ts';

/** Tasks that a model can have, in this order: write text, analyze images, transcribe speech, convert texts to vectors, return any JSON. */
export const MODEL_TASKS = ['llm', 'vision', 'speech', 'embeddings', 'run'] as const;
export type ModelTask = (typeof MODEL_TASKS)[number];

const NAMES = { pattern: '^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$' } as const;
const MODEL_NAME = { type: 'string', minLength: 1, maxLength: 64 } as const;

const ENDPOINT = optionalSection(
  {
    url: {
      type: 'string',
      format: 'uri',
      pattern: '^https?://[^\\s@]+$',
      description: 'Base address of an API in the form of OpenAI, up to its version',
    },
    key: { ...SECRET_SOURCE, description: 'Sent as bearer token' },
  },
  ['url'],
);

const MODEL = optionalSection(
  {
    endpoint: { ...MODEL_NAME, description: 'A name of `endpoints`' },
    model: { type: 'string', minLength: 1, maxLength: 200, description: 'What the endpoint calls it' },
    tasks: { type: 'array', minItems: 1, uniqueItems: true, items: { enum: MODEL_TASKS }, description: 'What it is asked for' },
    path: {
      type: 'string',
      pattern: '^/[^\\s?#]*$',
      default: '/run',
      description: 'Where the endpoint takes {model, input, …} for the task run',
    },
    options: { type: 'object', default: {}, description: 'Sent with each request as it is, such as {keep_alive: 10m}' },
  },
  ['endpoint', 'model', 'tasks'],
);

/** JSON Schema of `connectors.models`. */
export const MODELS_SECTION = optionalSection(
  {
    endpoints: { type: 'object', minProperties: 1, maxProperties: 32, propertyNames: NAMES, additionalProperties: ENDPOINT },
    models: { type: 'object', minProperties: 1, maxProperties: 64, propertyNames: NAMES, additionalProperties: MODEL },
    defaults: {
      type: 'object',
      default: {},
      additionalProperties: false,
      properties: Object.fromEntries(MODEL_TASKS.map((task) => [task, MODEL_NAME])) as Record<ModelTask, typeof MODEL_NAME>,
      description: 'Model for a task where the caller names none; the first that has the task when absent',
    },
  },
  ['endpoints', 'models'],
);

/** `connectors.models` of the configuration: the endpoints, the models, and the default model of each task. */
export type ModelsConfig = Settings<typeof MODELS_SECTION>;

/** Settings of one model. */
export type ModelConfig = Settings<typeof MODEL>;
