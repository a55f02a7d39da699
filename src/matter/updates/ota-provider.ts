import '../matter-platform.ts';
import { BlobStorageDriver, Bytes, Endpoint, Minutes } from '@matter/main';
import { AccessControlServer } from '@matter/main/behaviors/access-control';
import { OtaSoftwareUpdateProviderBehavior } from '@matter/main/behaviors/ota-software-update-provider';
import { AccessControl } from '@matter/main/clusters/access-control';
import { OtaSoftwareUpdateProvider } from '@matter/main/clusters/ota-software-update-provider';
import { OtaProviderEndpoint } from '@matter/main/endpoints/ota-provider';
import type { ServerNode } from '@matter/main/node';
import {
  assertRemoteActor,
  BdxError,
  BdxProtocol,
  type BdxSession,
  type Fabric,
  FileDesignator,
  Flow,
  NodeSession,
  PeerAddress,
  ScopedStorage,
} from '@matter/main/protocol';
import { BdxStatusCode } from '@matter/main/types';
import type { RunningUpdate } from './update-progress.ts';

const { Status, ApplyUpdateAction } = OtaSoftwareUpdateProvider;

/** Node ids in decimal text, and the update that each of them is in. */
export type UpdatesByNode = ReadonlyMap<string, RunningUpdate>;

/**
 * The OTA Software Update Provider of this hub (Core §11.20.6): a node learns of an image only while an update of this very node
 * runs. matter.js's own provider brings a service that looks for images on the internet.
 */
function providerOf(courses: UpdatesByNode) {
  return class LocalUpdateProvider extends OtaSoftwareUpdateProviderBehavior {
    override queryImage(query: OtaSoftwareUpdateProvider.QueryImageRequest): OtaSoftwareUpdateProvider.QueryImageResponse {
      const { course, session } = this.#asker();
      const answer = course?.query(query) ?? 'none';
      if (answer === 'no-protocol') return { status: Status.DownloadProtocolNotSupported };
      if (answer === 'none' || !course) return { status: Status.NotAvailable };
      const { version } = course.image;
      return {
        status: Status.UpdateAvailable,
        imageUri: new FileDesignator(`ota/${designatorOf(course)}`).asBdxUri(session.associatedFabric.rootNodeId),
        softwareVersion: version.number,
        softwareVersionString: version.text || String(version.number),
        updateToken: course.token,
      };
    }

    override applyUpdateRequest({
      updateToken,
    }: OtaSoftwareUpdateProvider.ApplyUpdateRequest): OtaSoftwareUpdateProvider.ApplyUpdateResponse {
      const answer = this.#asker().course?.apply(Bytes.of(updateToken));
      const action = answer === 'proceed' ? ApplyUpdateAction.Proceed : ApplyUpdateAction.Discontinue;
      return { action, delayedActionTime: 0 };
    }

    override notifyUpdateApplied(): void {
      this.#asker().course?.applied();
    }

    #asker() {
      assertRemoteActor(this.context);
      const { session } = this.context;
      NodeSession.assert(session);
      return { session, course: courses.get(session.peerAddress.nodeId.toString()) };
    }
  };
}

/** Name under which the device downloads: letters and digits only, whatever the file is called. */
const designatorOf = ({ token }: RunningUpdate): string => Buffer.from(token).toString('hex');

/** Adds the endpoint of the provider to the hub's node and lets the fabric's nodes reach it; answers its number. */
export async function addUpdateProvider(node: ServerNode, fabric: Fabric, courses: UpdatesByNode): Promise<number> {
  const endpoint = new Endpoint(OtaProviderEndpoint.with(providerOf(courses)), { id: 'updates' });
  await node.add(endpoint);
  const entry = {
    fabricIndex: fabric.fabricIndex,
    privilege: AccessControl.AccessControlEntryPrivilege.Operate,
    authMode: AccessControl.AccessControlEntryAuthMode.Case,
    subjects: [],
    targets: [{ endpoint: endpoint.number, cluster: OtaSoftwareUpdateProvider.id, deviceType: null }],
  };
  const { acl } = node.stateOf(AccessControlServer);
  const isOpen = acl.some(({ targets }) =>
    targets?.some(({ cluster, endpoint: number }) => cluster === entry.targets[0]?.cluster && number === endpoint.number),
  );
  if (!isOpen) await node.setStateOf(AccessControlServer, { acl: [...acl, entry] });
  return endpoint.number;
}

const SCOPE = 'ota';
/** How long a transfer waits for the device's next message (Core §11.22.3.2). */
const MESSAGE_LIMIT = Minutes(5);
/** How long a device has to ask for its next block, and hear that there is none. */
const GOODBYE_MS = 3_000;

/** Storage of matter.js that holds one image and nothing else, so that no other file can be asked for. */
class OneImage extends BlobStorageDriver {
  readonly initialized = true;
  readonly #image: AbortableImage;

  constructor(image: AbortableImage) {
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
export function openTransfer(node: ServerNode, peer: PeerAddress, course: RunningUpdate): AsyncDisposable {
  const bdx = node.env.get(BdxProtocol);
  const end = new AbortController();
  const storage = new ScopedStorage(new OneImage(new AbortableImage(course.image.blob, end.signal)), [], SCOPE);
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

/** So few blocks go out after the end. */
const PIECE_BYTES = 4096;

/**
 * An image that can be withdrawn while a device downloads it. The transfer then answers the device's next question with an error;
 * when matter.js closes a transfer itself, the device hears nothing and waits for minutes.
 */
export class AbortableImage {
  readonly #blob: Blob;
  readonly #end: AbortSignal;

  constructor(blob: Blob, end: AbortSignal) {
    this.#blob = blob;
    this.#end = end;
  }

  get size(): number {
    return this.#blob.size;
  }

  slice(start?: number, end?: number): AbortableImage {
    return new AbortableImage(this.#blob.slice(start, end), this.#end);
  }

  stream(): ReadableStream<Uint8Array> {
    let offset = 0;
    const pull = async (controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> => {
      if (this.#end.aborted) throw new BdxError('The update was ended', BdxStatusCode.TransferFailedUnknownError);
      const piece = new Uint8Array(await this.#blob.slice(offset, offset + PIECE_BYTES).arrayBuffer());
      offset += piece.byteLength;
      if (piece.byteLength > 0) controller.enqueue(piece);
      if (offset >= this.#blob.size) controller.close();
    };
    const stream = new ReadableStream({ pull }, { highWaterMark: 0 });
    // matter.js cancels the stream when a transfer is over. Of one that has ended in an error that rejects, in a promise that nobody
    // waits for: it would end the hub.
    const cancel = (reason?: unknown): Promise<void> => ReadableStream.prototype.cancel.call(stream, reason).catch(() => undefined);
    return Object.assign(stream, { cancel });
  }
}
