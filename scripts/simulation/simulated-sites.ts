import type { HubId } from '../../src/core/ids.ts';
import type { SimulatedHub } from './simulated-hub.ts';
import { dialsOf, SimulatedMesh } from './simulated-mesh.ts';
import { siteTool } from './simulated-tools.ts';

/** Size of a mesh with sites. */
export interface SitesShape {
  readonly sites: number;
  readonly hubsPerSite: number;
  /** Tools of each hub; two of them have names that no other hub has. */
  readonly tools: number;
}

const OWN_TOOLS = 2;
/** A heartbeat notices a machine without power after this number of milliseconds (src/mesh/rpc/heartbeat.ts). */
const UNNOTICED_MS = 9_000;
/** Of two hubs, the one with the greater id dials after this number of milliseconds (src/mesh/discovery/connection-manager.ts). */
const DIAL_DELAY_MS = 500;

/** Sites of hubs in one process. Hubs of a site connect as hubs of a mesh do, and border members with those of the neighbouring sites. */
export class SimulatedSites implements AsyncDisposable {
  readonly mesh = new SimulatedMesh();
  readonly sites: (readonly SimulatedHub[])[] = [];
  readonly #dialling = new Set<string>();

  /** Starts the hubs of all sites and connects them. One hub of each site has the address of one hub of the next site. */
  async start({ sites, hubsPerSite, tools }: SitesShape): Promise<void> {
    const shared = Array.from({ length: tools }, (_, tool) => siteTool(tool, 'any'));
    for (let site = 0; site < sites; site++) {
      const hubs: SimulatedHub[] = [];
      for (let index = 0; index < hubsPerSite; index++) {
        const own = Array.from({ length: OWN_TOOLS }, (_, tool) => siteTool(tool, `s${site}h${index}`));
        const offered = [...own, ...shared.slice(OWN_TOOLS)];
        hubs.push(await this.mesh.add({ tools: offered, site: `site-${site}`, name: `s${site}h${index}` }));
      }
      this.sites.push(hubs);
    }
    const dials = this.sites.flatMap((hubs, site) => {
      const [first, next] = [hubs[0], this.sites[(site + 1) % sites]?.[0]];
      return [
        ...hubs.flatMap((hub) => dialsOf(hub, hubs, (other) => hub.id < other)),
        ...(first && next && first !== next ? [first.connect(next)] : []),
      ];
    });
    for (const hub of this.sites.flat()) this.#keepBorders(hub);
    await this.mesh.clock.run(20);
    await Promise.all(dials);
  }

  /** Ends a hub as a power cut does it: it does not answer any more, and its neighbours notice it after seconds. */
  losePower(hub: SimulatedHub): void {
    hub.links.isSilent = true;
    hub.engine.isSilent = true;
    this.mesh.clock.after(UNNOTICED_MS, () => void hub.crash());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.mesh[Symbol.asyncDispose]();
  }

  #keepBorders(hub: SimulatedHub): void {
    const review = () => {
      for (const { id } of hub.gossip.sites?.wantedPeers() ?? []) this.#dial(hub, id);
    };
    hub.gossip.sites?.onChange(review);
  }

  #dial(hub: SimulatedHub, id: HubId): void {
    const key = `${hub.id} ${id}`;
    if (hub.links.to(id) || this.#dialling.has(key)) return;
    this.#dialling.add(key);
    this.mesh.clock.after(hub.id < id ? 0 : DIAL_DELAY_MS, () => {
      const other = this.mesh.hubs.find((one) => one.id === id);
      const dialled = other && !hub.links.to(id) && !other.links.isSilent && !hub.links.isSilent ? hub.connect(other) : undefined;
      void Promise.resolve(dialled).then(
        () => this.#dialling.delete(key),
        () => this.#dialling.delete(key),
      );
    });
  }
}
