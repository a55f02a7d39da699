import { BlobStorageDriver, Minutes } from '@matter/main';
import type { ServerNode } from '@matter/main/node';
import { BdxProtocol, type BdxSession, Flow, PeerAddress, ScopedStorage } from '@matter/main/protocol';
import type { UpdateCourse } from './update-course.ts';

const SCOPE = 'ota';
/** How long a transfer waits for the device's next message (Core §11.22.3.2). */
const MESSAGE_LIMIT = Minutes(5);

/** Storage of matter.js that holds one image and nothing else, so that no other file can be asked for. */
class OneImage extends BlobStorageDriver {
  readonly initialized = true;
  readonly #blob: Blob;

  constructor(blob: Blob) {
    super();
    this.#blob = blob;
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
    return this.#blob;
  }
}

/** Lets one node download the image of its update over BDX (Core §11.22) and tells the course of it; disposal ends that. */
export function openTransfer(node: ServerNode, peer: PeerAddress, course: UpdateCourse): AsyncDisposable {
  const bdx = node.env.get(BdxProtocol);
  const storage = new ScopedStorage(new OneImage(course.image.blob), [], SCOPE);
  const hear = (session: BdxSession, scope: string): void => {
    if (scope !== SCOPE || !PeerAddress.is(session.peerAddress, peer)) return;
    session.progressInfo.on((bytes) => course.downloaded(bytes));
  };
  bdx.sessionStarted.on(hear);
  bdx.enablePeerForScope(peer, storage, { preferredDriverModes: [Flow.DriverMode.ReceiverDrive], messageTimeout: MESSAGE_LIMIT });
  return {
    async [Symbol.asyncDispose]() {
      bdx.sessionStarted.off(hear);
      await bdx.disablePeerForScope(peer, storage, true);
    },
  };
}
