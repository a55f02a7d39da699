import { join } from 'node:path';
import type { Service } from '../../core/service.ts';
import { CAMERA_ACCESS, cameraFrameTool } from '../camera/camera-tools.ts';
import { Cameras } from '../camera/cameras.ts';
import { CollectionStore } from '../collections/collection-store.ts';
import { collectionTools, VECTOR_STORE } from '../collections/collection-tools.ts';
import { COLLECTIONS_DEFAULT } from '../collections/collections-config.ts';
import type { Connector, ConnectorGround } from '../connector.ts';
import type { ConnectorsConfig } from '../connector-config.ts';
import { lazyFetch } from '../web/lazy-fetch.ts';
import { ModelEmbedder } from './embedder.ts';
import { lookThroughCameraTool } from './look-through-camera-tool.ts';
import { ModelBook } from './model-book.ts';
import { missingModel, modelCapabilities, modelTools } from './model-tools.ts';

type Ground = Pick<ConnectorGround, 'env' | 'stateDir'>;
type Config = Pick<ConnectorsConfig, 'models' | 'cameras' | 'collections' | 'web'>;

/**
 * Models, the cameras that they look through, and the documents that they find again. CONFIG_INVALID for settings that contradict
 * each other, and for secrets that cannot be read.
 */
export function openModels({ env, stateDir }: Ground, { models, cameras: cameraSettings, collections, web }: Config): Connector {
  const book = new ModelBook(models, env);
  const cameras = new Cameras(cameraSettings, env);
  const store = new CollectionStore(join(stateDir, 'rag.db'), collections ?? COLLECTIONS_DEFAULT);
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
    service: closing(store),
  };
}

/** The file is opened by the first call that needs it. */
function closing(store: CollectionStore): Service {
  return {
    start: async () => {},
    [Symbol.asyncDispose]: async () => store[Symbol.dispose](),
  };
}
