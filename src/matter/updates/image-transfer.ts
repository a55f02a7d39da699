import '../matter-platform.ts';
import { BlobStorageDriver, Minutes } from '@matter/main';
import type { ServerNode } from '@matter/main/node';
import { BdxProtocol, type BdxSession, Flow, PeerAddress, ScopedStorage } from '@matter/main/protocol';
import { EndableImage } from './endable-image.ts';
import type { UpdateCourse } from './update-course.ts';

const SCOPE = 'ota';
/** How long a transfer waits for the device's next message (Core §11.22.3.2). */
const MESSAGE_LIMIT = Minutes(5);
/** How long a device has to ask for its next block, and hear that there is none. */
const GOODBYE_MS = 3_000;

/** Storage of matter.js that holds one image and nothing else, so that no other file can be asked for. */
class OneImage extends BlobStorageDriver {
  readonly initialized = true;
  readonly #image: EndableImage;

  constructor(image: EndableImage) {
    super();
    this.#image = image;
  }

  initialize(): void {}
  close(): void {}
  delete(): void {}
  clearAll(): void {}
  writeBlobFromStream(): void {}

  has(): boolean {
    return true;
  }

  keys(): string[] {
    return [];
  }

  contexts(): string[] {
    return [];
  }

  openBlob(): Blob {
    // Of a blob, the transfer uses these members only.
    return this.#image as unknown as Blob;
  }
}

/** Lets one node download the image of its update over BDX (Core §11.22) and tells the course of it; disposal ends that. */
export function openTransfer(node: ServerNode, peer: PeerAddress, course: UpdateCourse): AsyncDisposable {
  const bdx = node.env.get(BdxProtocol);
  const end = new AbortController();
  const storage = new ScopedStorage(new OneImage(new EndableImage(course.image.blob, end.signal)), [], SCOPE);
  const hear = (session: BdxSession, scope: string): void => {
    if (scope !== SCOPE || !PeerAddress.is(session.peerAddress, peer)) return;
    session.progressInfo.on((bytes) => course.downloaded(bytes));
  };
  bdx.sessionStarted.on(hear);
  bdx.enablePeerForScope(peer, storage, { preferredDriverModes: [Flow.DriverMode.ReceiverDrive], messageTimeout: MESSAGE_LIMIT });
  return {
    async [Symbol.asyncDispose]() {
      bdx.sessionStarted.off(hear);
      end.abort();
      await ended(bdx.sessionFor(peer, SCOPE));
      const disable = (): Promise<void> => bdx.disablePeerForScope(peer, storage, true);
      // Rejects, with the scope left open, when a session ends badly; then it has ended. Nobody waits here: it must not fail.
      await disable().catch(disable);
    },
  };
}

function ended(session: BdxSession | undefined): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  if (session === undefined) return Promise.resolve();
  session.closed.once(() => resolve());
  const timer = setTimeout(resolve, GOODBYE_MS);
  return promise.finally(() => clearTimeout(timer));
}
