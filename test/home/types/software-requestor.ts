import { Millis } from '@matter/main';
import { BasicInformationServer } from '@matter/main/behaviors/basic-information';
import { OtaSoftwareUpdateRequestorServer } from '@matter/main/behaviors/ota-software-update-requestor';
import type { OtaSoftwareUpdateRequestor } from '@matter/main/clusters/ota-software-update-requestor';
import { ClientNodeInteraction, ServerNode } from '@matter/main/node';
import type { UpdatesSpec } from '../home-spec.ts';

const QUERY_DELAY = Millis(200);
const REBOOT = Millis(500);

/**
 * Attempts to download, as long as the device is on. matter.js 0.17.9 does not end one that failed, and a node that is to stop waits
 * for its end: a device of which a download was cancelled would never restart for the next one.
 */
const attempts = new Set<AsyncDisposable>();
const { initBdx } = ClientNodeInteraction.prototype;
ClientNodeInteraction.prototype.initBdx = async function (...request) {
  const response = await initBdx.apply(this, request);
  attempts.add(response.context);
  return response;
};

/** A root endpoint that downloads and installs software, with matter.js's own requestor. */
export function updatableRoot({ installs, isPossible = true }: UpdatesSpec): {
  readonly type: ServerNode.RootEndpoint;
  readonly state: object;
} {
  class Requestor extends OtaSoftwareUpdateRequestorServer {
    /** matter.js waits for 1 to 600 seconds, as it has to. */
    override async announceOtaProvider(request: OtaSoftwareUpdateRequestor.AnnounceOtaProviderRequest): Promise<void> {
      await super.announceOtaProvider(request);
      const timer = this.internal.updateQueryTimer;
      if (!timer) return;
      timer.stop();
      timer.interval = QUERY_DELAY;
      timer.start();
    }

    override async applyUpdate(newVersion: number): Promise<void> {
      const node = this.endpoint as ServerNode;
      const file = await this.getDownloadLocation();
      setTimeout(() => void reboot(node, installs ? newVersion : undefined, () => file.delete()), REBOOT);
    }
  }
  const type = ServerNode.RootEndpoint.with(Requestor) as ServerNode.RootEndpoint;
  return { type, state: { otaSoftwareUpdateRequestor: { updatePossible: isPossible } } };
}

async function reboot(node: ServerNode, version: number | undefined, clean: () => unknown): Promise<void> {
  for (const attempt of attempts) await attempt[Symbol.asyncDispose]();
  attempts.clear();
  await node.cancel();
  await clean();
  if (version !== undefined) {
    await node.setStateOf(BasicInformationServer, { softwareVersion: version, softwareVersionString: `v${version}` });
  }
  await node.start();
}
