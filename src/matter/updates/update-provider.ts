import '../matter-platform.ts';
import { Bytes, Endpoint } from '@matter/main';
import { AccessControlServer } from '@matter/main/behaviors/access-control';
import { OtaSoftwareUpdateProviderBehavior } from '@matter/main/behaviors/ota-software-update-provider';
import { AccessControl } from '@matter/main/clusters/access-control';
import { OtaSoftwareUpdateProvider } from '@matter/main/clusters/ota-software-update-provider';
import { OtaProviderEndpoint } from '@matter/main/endpoints/ota-provider';
import type { ServerNode } from '@matter/main/node';
import { assertRemoteActor, type Fabric, FileDesignator, NodeSession } from '@matter/main/protocol';
import type { UpdateCourse } from './update-course.ts';

const { Status, ApplyUpdateAction } = OtaSoftwareUpdateProvider;

/** Node ids in decimal text, and the update that each of them is in. */
export type Courses = ReadonlyMap<string, UpdateCourse>;

/**
 * The OTA Software Update Provider of this hub (Core §11.20.6): a node learns of an image only while an update of this very node
 * runs. matter.js's own provider brings a service that looks for images on the internet.
 */
function providerOf(courses: Courses) {
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
const designatorOf = ({ token }: UpdateCourse): string => Buffer.from(token).toString('hex');

/** Adds the endpoint of the provider to the hub's node and lets the fabric's nodes reach it; answers its number. */
export async function addUpdateProvider(node: ServerNode, fabric: Fabric, courses: Courses): Promise<number> {
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
