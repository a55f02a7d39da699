import { join } from 'node:path';
import type { Service } from '../../core/service.ts';
import { anchorInStore } from '../../core/storage/file-anchor.ts';
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

type Ground = Pick<ConnectorGround, 'env' | 'stateDir' | 'store' | 'logger' | 'problems'>;

const DOCUMENTS = 'rag.db';
type Config = Pick<ConnectorsConfig, 'models' | 'cameras' | 'collections' | 'web'>;

/**
 * Models, the cameras that they look through, and the documents that they find again. CONFIG_INVALID for settings that contradict
 * each other, and for secrets that cannot be read.
 */
export function openModels(
  { env, stateDir, store: anchors, logger, problems }: Ground,
  { models, cameras: cameraSettings, collections, web }: Config,
): Connector {
  const book = new ModelBook(models, env);
  const cameras = new Cameras(cameraSettings, env);
  const onLoss = (fault: string) => {
    logger.error('documents.lost', { fault });
    problems?.raise(DOCUMENTS, fault);
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
    service: closing(store),
  };
}

/** The file is opened by the first call that needs it, or to see that what it held is there. */
function closing(store: CollectionStore): Service {
  return {
    start: async () => store.check(),
    [Symbol.asyncDispose]: async () => store[Symbol.dispose](),
  };
}
