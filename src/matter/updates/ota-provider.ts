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

type UpdatesByNode = ReadonlyMap<string, RunningUpdate>;

/**
 * Returns the behavior of this hub's OTA Software Update Provider (Core §11.20.6). It offers an image to a node only during an update of
 * the node. The provider of matter.js is not used, because its service searches for images on the internet.
 */
function providerOf(updates: UpdatesByNode) {
  return class LocalUpdateProvider extends OtaSoftwareUpdateProviderBehavior {
    override queryImage(query: OtaSoftwareUpdateProvider.QueryImageRequest): OtaSoftwareUpdateProvider.QueryImageResponse {
      const { update, session } = this.#requestor();
      const answer = update?.query(query) ?? 'none';
      if (answer === 'no-protocol') return { status: Status.DownloadProtocolNotSupported };
      if (answer === 'none' || !update) return { status: Status.NotAvailable };
      const { version } = update.image;
      return {
        status: Status.UpdateAvailable,
        imageUri: new FileDesignator(`ota/${designatorOf(update)}`).asBdxUri(session.associatedFabric.rootNodeId),
        softwareVersion: version.number,
        softwareVersionString: version.text || String(version.number),
        updateToken: update.token,
      };
    }

    override applyUpdateRequest({
      updateToken,
    }: OtaSoftwareUpdateProvider.ApplyUpdateRequest): OtaSoftwareUpdateProvider.ApplyUpdateResponse {
      const answer = this.#requestor().update?.apply(Bytes.of(updateToken));
      const action = answer === 'proceed' ? ApplyUpdateAction.Proceed : ApplyUpdateAction.Discontinue;
      return { action, delayedActionTime: 0 };
    }

    override notifyUpdateApplied(): void {
      this.#requestor().update?.applied();
    }

    #requestor() {
      assertRemoteActor(this.context);
      const { session } = this.context;
      NodeSession.assert(session);
      return { session, update: updates.get(session.peerAddress.nodeId.toString()) };
    }
  };
}

/** Returns the name by which the device downloads the image: letters and digits only, whatever the file name is. */
const designatorOf = ({ token }: RunningUpdate): string => Buffer.from(token).toString('hex');

/** Adds the provider endpoint to the hub's node and grants the nodes of the fabric access to it. Returns the endpoint number. */
export async function addUpdateProvider(node: ServerNode, fabric: Fabric, updates: UpdatesByNode): Promise<number> {
  const endpoint = new Endpoint(OtaProviderEndpoint.with(providerOf(updates)), { id: 'updates' });
  await node.add(endpoint);
  const target = { endpoint: endpoint.number, cluster: OtaSoftwareUpdateProvider.id, deviceType: null };
  const entry = {
    fabricIndex: fabric.fabricIndex,
    privilege: AccessControl.AccessControlEntryPrivilege.Operate,
    authMode: AccessControl.AccessControlEntryAuthMode.Case,
    subjects: [],
    targets: [target],
  };
  const { acl } = node.stateOf(AccessControlServer);
  const isGranted = acl.some(({ targets }) =>
    targets?.some((each) => each.cluster === target.cluster && each.endpoint === target.endpoint),
  );
  if (!isGranted) await node.setStateOf(AccessControlServer, { acl: [...acl, entry] });
  return endpoint.number;
}

const SCOPE = 'ota';
/** Time limit for the device's next message in a BDX transfer (Core §11.22.3.2). */
const MESSAGE_LIMIT = Minutes(5);
/** Time limit for closing a transfer. Within it, the device should request its next block. The hub answers that request with an error. */
const CLOSE_LIMIT_MS = 3_000;

/** Storage of matter.js that contains only one image, so that no other file can be downloaded. */
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
    // The transfer uses only the members of a Blob that AbortableImage has.
    return this.#image as unknown as Blob;
  }
}

/** Lets one node download the image of its update over BDX (Core §11.22), and reports the progress to the update. Disposal ends this. */
export function openTransfer(node: ServerNode, peer: PeerAddress, update: RunningUpdate): AsyncDisposable {
  const bdx = node.env.get(BdxProtocol);
  const end = new AbortController();
  const image = new AbortableImage(update.image.blob, { end: end.signal, onRead: () => update.partRequested() });
  const storage = new ScopedStorage(new OneImage(image), [], SCOPE);
  const onSession = (session: BdxSession, scope: string): void => {
    if (scope !== SCOPE || !PeerAddress.is(session.peerAddress, peer)) return;
    session.progressInfo.on((bytes) => update.downloaded(bytes));
  };
  bdx.sessionStarted.on(onSession);
  bdx.enablePeerForScope(peer, storage, { preferredDriverModes: [Flow.DriverMode.ReceiverDrive], messageTimeout: MESSAGE_LIMIT });
  return {
    async [Symbol.asyncDispose]() {
      bdx.sessionStarted.off(onSession);
      end.abort();
      await ended(bdx.sessionFor(peer, SCOPE));
      const disable = (): Promise<void> => bdx.disablePeerForScope(peer, storage, true);
      // If a session ends with an error, the first call rejects and leaves the scope open. A second call then succeeds.
      await disable().catch(disable);
    },
  };
}

function ended(session: BdxSession | undefined): Promise<void> {
  if (session === undefined) return Promise.resolve();
  const { promise, resolve } = Promise.withResolvers<void>();
  session.closed.once(() => resolve());
  const timer = setTimeout(resolve, CLOSE_LIMIT_MS);
  return promise.finally(() => clearTimeout(timer));
}

/** Number of bytes that are read at a time. The number is small, so that few bytes are sent after the update has ended. */
const PIECE_BYTES = 4096;

interface ImageTransfer {
  /** Withdraws the image when it aborts. */
  readonly end: AbortSignal;
  /** Called before each piece of the image is read, which happens only when the device requests a block. */
  onRead(): void;
}

/**
 * An image that can be withdrawn during a download. The next request of the device then gets an error. If matter.js itself closed the
 * transfer, the device would receive no message and wait for minutes.
 */
export class AbortableImage {
  readonly #blob: Blob;
  readonly #transfer: ImageTransfer;

  constructor(blob: Blob, transfer: ImageTransfer) {
    this.#blob = blob;
    this.#transfer = transfer;
  }

  get size(): number {
    return this.#blob.size;
  }

  slice(start?: number, end?: number): AbortableImage {
    return new AbortableImage(this.#blob.slice(start, end), this.#transfer);
  }

  stream(): ReadableStream<Uint8Array> {
    let offset = 0;
    const pull = async (controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> => {
      this.#transfer.onRead();
      if (this.#transfer.end.aborted) throw new BdxError('The update was ended', BdxStatusCode.TransferFailedUnknownError);
      const piece = new Uint8Array(await this.#blob.slice(offset, offset + PIECE_BYTES).arrayBuffer());
      offset += piece.byteLength;
      if (piece.byteLength > 0) controller.enqueue(piece);
      if (offset >= this.#blob.size) controller.close();
    };
    const stream = new ReadableStream({ pull }, { highWaterMark: 0 });
    // matter.js does not await `cancel`. After a stream error, `cancel` rejects, and an unhandled rejection would end the hub.
    const cancel = (reason?: unknown): Promise<void> => ReadableStream.prototype.cancel.call(stream, reason).catch(() => undefined);
    return Object.assign(stream, { cancel });
  }
}
