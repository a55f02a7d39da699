import { join } from 'node:path';
import { anchorInStore } from '../../core/storage/key-value-store.ts';
import { type RegisteredTool, unconfigured } from '../../tools/definition/tool-definition.ts';
import type { Capability } from '../../tools/registry/capability-catalogue.ts';
import { CAMERA_ACCESS, Cameras, cameraFrameTool } from '../cameras/cameras.ts';
import { CollectionStore } from '../collections/collection-store.ts';
import { COLLECTIONS_DEFAULT } from '../collections/collections-config.ts';
import { collectionTools, VECTOR_STORE } from '../collections/rag-tools.ts';
import type { Connector, ConnectorContext } from '../connector.ts';
import type { ConnectorsConfig } from '../connectors-config.ts';
import type { FetchPublic } from '../web/public-fetch.ts';
import { lazyFetch } from '../web/web-connector.ts';
import { type Embedder, generateEmbeddingTool, ModelEmbedder } from './embeddings.ts';
import { codegenTool, llmCompleteTool, runModelTool } from './llm-tools.ts';
import { ModelRegistry } from './model-client.ts';
import { MAX_MEDIA_MB } from './model-inputs.ts';
import type { ModelTask } from './models-config.ts';
import { transcribeAudioTool } from './transcription.ts';
import { analyzeImageTool, lookThroughCameraTool } from './vision-tools.ts';

const DOCUMENTS = 'rag.db';
/**
 * Returns a connector with the tools for models, cameras and document search. Throws CONFIG_INVALID if settings contradict each other or a
 * secret cannot be read.
 */
export function openModels(
  { env, stateDir, store: anchors, logger, problems }: Pick<ConnectorContext, 'env' | 'stateDir' | 'store' | 'logger' | 'problems'>,
  { models, cameras: cameraSettings, collections, web }: Pick<ConnectorsConfig, 'models' | 'cameras' | 'collections' | 'web'>,
): Connector {
  const registry = new ModelRegistry(models, env);
  const cameras = new Cameras(cameraSettings, env);
  const onLoss = (fault: string) => {
    logger.error('documents.lost', { fault });
    problems.raise(DOCUMENTS, fault);
  };
  const options = { ...(collections ?? COLLECTIONS_DEFAULT), anchor: anchorInStore(anchors, DOCUMENTS), onLoss };
  const store = new CollectionStore(join(stateDir, DOCUMENTS), options);
  const embedder = new ModelEmbedder(registry);
  const hasEmbeddings = registry.tasks().includes('embeddings');
  return {
    tools: [
      ...modelTools(registry, embedder, lazyFetch(web?.allowedHosts)),
      cameraFrameTool(cameras),
      lookThroughCameraTool(registry, cameras),
      ...collectionTools({ store, embedder }, hasEmbeddings ? undefined : missingModel('embeddings')),
    ],
    capabilities: [
      ...modelCapabilities(registry),
      ...(cameras.ids().length > 0 ? [CAMERA_ACCESS] : []),
      ...(hasEmbeddings ? [VECTOR_STORE] : []),
    ],
    service: { start: async () => store.check(), [Symbol.asyncDispose]: async () => store[Symbol.dispose]() },
  };
}

const CAPABILITIES: Readonly<Record<ModelTask, readonly Capability[]>> = {
  llm: [{ type: 'llm', description: () => 'Language models that the owner configured' }],
  vision: [{ type: 'vision', description: () => 'Models that look at pictures' }],
  speech: [
    { type: 'audio', description: () => 'Recordings of sound' },
    { type: 'speech_recognition', description: () => 'Models that turn speech into text' },
  ],
  embeddings: [{ type: 'embeddings', description: () => 'Models that turn texts into vectors' }],
  run: [],
};
/** Maximum length of a constraint in characters. Hubs announce constraints together with a capability. */
const MAX_CONSTRAINT = 256;
const ML_RUNTIME: Capability = { type: 'ml_runtime', description: () => 'Models that are run by their names' };

function modelCapabilities(registry: ModelRegistry): readonly Capability[] {
  const tasks = registry.tasks();
  const ofTasks = tasks.flatMap((task) => CAPABILITIES[task].map((capability) => ({ ...capability, ...constraintsOf(registry, task) })));
  return [...ofTasks, ...(isRunnable(registry) ? [ML_RUNTIME] : [])];
}

/** Returns the constraints for a task: the models' names (if not too long) and, for the task `vision`, the maximum size of a picture. */
function constraintsOf(registry: ModelRegistry, task: ModelTask): Pick<Capability, 'constraints'> {
  const model = registry.names(task).join(', ');
  const constraints = {
    ...(model.length <= MAX_CONSTRAINT && { model }),
    ...(task === 'vision' && { max_image_mb: MAX_MEDIA_MB }),
  };
  return { constraints };
}

/** Returns the tools for models. If no model has a tool's task, the tool is listed as not configured. */
function modelTools(registry: ModelRegistry, embedder: Embedder, fetchPublic: FetchPublic): readonly RegisteredTool[] {
  const having = (task: ModelTask, tool: RegisteredTool) =>
    registry.tasks().includes(task) ? tool : unconfigured(tool, missingModel(task));
  const run = runModelTool(registry);
  return [
    having('llm', llmCompleteTool(registry)),
    having('llm', codegenTool(registry)),
    having('vision', analyzeImageTool(registry, fetchPublic)),
    having('speech', transcribeAudioTool(registry, fetchPublic)),
    having('embeddings', generateEmbeddingTool(embedder)),
    isRunnable(registry) ? run : unconfigured(run, 'set connectors.models in the configuration'),
  ];
}

function missingModel(task: ModelTask): string {
  return `set connectors.models with a model for ${task} in the configuration`;
}

/** Returns whether `run_model` can run a model. `run_model` takes no recordings, so a model with only the task `speech` does not count. */
function isRunnable(registry: ModelRegistry): boolean {
  return registry.tasks().some((task) => task !== 'speech');
}
