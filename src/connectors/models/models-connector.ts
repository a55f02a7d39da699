import { join } from 'node:path';
import type { Service } from '../../core/lifecycle.ts';
import { anchorInStore } from '../../core/storage/file-anchor.ts';
import type { RegisteredTool } from '../../tools/definition/tool-definition.ts';
import { unconfigured } from '../../tools/definition/unconfigured-tool.ts';
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

type ModelsContext = Pick<ConnectorContext, 'env' | 'stateDir' | 'store' | 'logger' | 'problems'>;

const DOCUMENTS = 'rag.db';
type ModelsSettings = Pick<ConnectorsConfig, 'models' | 'cameras' | 'collections' | 'web'>;

/**
 * Models, the cameras that they look through, and the documents that they find again. CONFIG_INVALID for settings that contradict
 * each other, and for secrets that cannot be read.
 */
export function openModels(
  { env, stateDir, store: anchors, logger, problems }: ModelsContext,
  { models, cameras: cameraSettings, collections, web }: ModelsSettings,
): Connector {
  const book = new ModelRegistry(models, env);
  const cameras = new Cameras(cameraSettings, env);
  const onLoss = (fault: string) => {
    logger.error('documents.lost', { fault });
    problems.raise(DOCUMENTS, fault);
  };
  const options = { ...(collections ?? COLLECTIONS_DEFAULT), anchor: anchorInStore(anchors, DOCUMENTS), onLoss };
  const store = new CollectionStore(join(stateDir, DOCUMENTS), options);
  const embedder = new ModelEmbedder(book);
  const hasEmbeddings = book.tasks().includes('embeddings');
  return {
    tools: [
      ...modelTools(book, embedder, lazyFetch(web?.allowedHosts)),
      cameraFrameTool(cameras),
      lookThroughCameraTool(book, cameras),
      ...collectionTools({ store, embedder }, hasEmbeddings ? undefined : missingModel('embeddings')),
    ],
    capabilities: [
      ...modelCapabilities(book),
      ...(cameras.ids().length > 0 ? [CAMERA_ACCESS] : []),
      ...(hasEmbeddings ? [VECTOR_STORE] : []),
    ],
    service: serviceOf(store),
  };
}

/** The file is opened by the first call that needs it, or to see that what it held is there. */
function serviceOf(store: CollectionStore): Service {
  return {
    start: async () => store.check(),
    [Symbol.asyncDispose]: async () => store[Symbol.dispose](),
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
/** Longest text of a constraint that hubs send each other. */
const MAX_CONSTRAINT = 256;
const ML_RUNTIME: Capability = { type: 'ml_runtime', description: () => 'Models that are run by their names' };

/** What hubs with these models have. */
function modelCapabilities(book: ModelRegistry): readonly Capability[] {
  const tasks = book.tasks();
  const ofTasks = tasks.flatMap((task) => CAPABILITIES[task].map((capability) => ({ ...capability, ...constraintsOf(book, task) })));
  return [...ofTasks, ...(isRunnable(book) ? [ML_RUNTIME] : [])];
}

/** The names by which models are asked for, as far as they fit, and the largest picture. */
function constraintsOf(book: ModelRegistry, task: ModelTask): Pick<Capability, 'constraints'> {
  const model = book.names(task).join(', ');
  const constraints = {
    ...(model.length <= MAX_CONSTRAINT && { model }),
    ...(task === 'vision' && { max_image_mb: MAX_MEDIA_MB }),
  };
  return { constraints };
}

/** The tools over models; those whose task no model has are there without their setting. */
function modelTools(book: ModelRegistry, embedder: Embedder, fetchPublic: FetchPublic): readonly RegisteredTool[] {
  const having = (task: ModelTask, tool: RegisteredTool) => (book.tasks().includes(task) ? tool : unconfigured(tool, missingModel(task)));
  const run = runModelTool(book);
  return [
    having('llm', llmCompleteTool(book)),
    having('llm', codegenTool(book)),
    having('vision', analyzeImageTool(book, fetchPublic)),
    having('speech', transcribeAudioTool(book, fetchPublic)),
    having('embeddings', generateEmbeddingTool(embedder)),
    isRunnable(book) ? run : unconfigured(run, 'set connectors.models in the configuration'),
  ];
}

/** What to set where no model has a task. */
function missingModel(task: ModelTask): string {
  return `set connectors.models with a model for ${task} in the configuration`;
}

/** Recordings cannot be given to `run_model`. */
function isRunnable(book: ModelRegistry): boolean {
  return book.tasks().some((task) => task !== 'speech');
}
