import type { Capability } from '../../tools/capability-catalogue.ts';
import { withoutSetting } from '../../tools/definition/missing-setting.ts';
import type { RegisteredTool } from '../../tools/definition/tool-definition.ts';
import type { FetchPublic } from '../web/fetch-public.ts';
import { analyzeImageTool } from './analyze-image-tool.ts';
import { codegenTool } from './codegen-tool.ts';
import type { Embedder } from './embedder.ts';
import { generateEmbeddingTool } from './generate-embedding-tool.ts';
import { llmCompleteTool } from './llm-complete-tool.ts';
import { MAX_MEDIA_MB } from './media-source.ts';
import type { ModelBook } from './model-book.ts';
import type { ModelTask } from './models-config.ts';
import { runModelTool } from './run-model-tool.ts';
import { transcribeAudioTool } from './transcribe-audio-tool.ts';

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

/** What hubs with these models have (source 000 §5, requires). */
export function modelCapabilities(book: ModelBook): readonly Capability[] {
  const tasks = book.tasks();
  const ofTasks = tasks.flatMap((task) => CAPABILITIES[task].map((capability) => ({ ...capability, ...constraintsOf(book, task) })));
  return [...ofTasks, ...(isRunnable(book) ? [ML_RUNTIME] : [])];
}

/** The names by which models are asked for, as far as they fit, and the largest picture. */
function constraintsOf(book: ModelBook, task: ModelTask): Pick<Capability, 'constraints'> {
  const model = book.names(task).join(', ');
  const constraints = {
    ...(model.length <= MAX_CONSTRAINT && { model }),
    ...(task === 'vision' && { max_image_mb: MAX_MEDIA_MB }),
  };
  return { constraints };
}

/** The tools over models; those whose task no model has are there without their setting. */
export function modelTools(book: ModelBook, embedder: Embedder, fetchPublic: FetchPublic): readonly RegisteredTool[] {
  const having = (task: ModelTask, tool: RegisteredTool) => (book.tasks().includes(task) ? tool : withoutSetting(tool, missingModel(task)));
  const run = runModelTool(book);
  return [
    having('llm', llmCompleteTool(book)),
    having('llm', codegenTool(book)),
    having('vision', analyzeImageTool(book, fetchPublic)),
    having('speech', transcribeAudioTool(book, fetchPublic)),
    having('embeddings', generateEmbeddingTool(embedder)),
    isRunnable(book) ? run : withoutSetting(run, 'set connectors.models in the configuration'),
  ];
}

/** What to set where no model has a task. */
export function missingModel(task: ModelTask): string {
  return `set connectors.models with a model for ${task} in the configuration`;
}

/** Recordings cannot be given to `run_model`. */
function isRunnable(book: ModelBook): boolean {
  return book.tasks().some((task) => task !== 'speech');
}
