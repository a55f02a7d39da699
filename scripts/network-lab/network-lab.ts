import { AtmoError } from '../../src/core/errors.ts';
import { LabHost, SWITCH } from './lab-host.ts';
import { isInPrivateNetwork } from './private-network.ts';
import { runTool } from './run-tool.ts';

/** Networks that scripts/in-netns makes itself: bridge br0. */
const FIRST_LAN = 0;
const MAX_LANS = 9;
/** Numbers below are for the hosts of others on the same bridge. */
const FIRST_NUMBER = 0x1001;

/** Host number `index` (from 1) of a lab that has no others, by the name under which it was made. */
export function labHost(name: string, index: number): LabHost {
  return new LabHost(name, FIRST_NUMBER + index - 1);
}

interface HostOptions {
  /** Networks of its cards eth0, eth1…; network 0 when absent. */
  readonly lans?: readonly number[];
}

/**
 * Several hosts on one machine, joined by bridges; nothing of it reaches the machine's own interfaces. Works only inside
 * scripts/in-netns, as root or as an ordinary user.
 */
export class NetworkLab implements AsyncDisposable {
  readonly #hosts = new Map<string, LabHost>();
  readonly #bridges = new Set<string>();
  #nextNumber = FIRST_NUMBER;

  async start(): Promise<void> {
    if (!isInPrivateNetwork()) {
      throw new AtmoError('INTERNAL_ERROR', 'The lab has no private network: run this inside scripts/in-netns, or use scripts/netlab');
    }
  }

  get hosts(): readonly LabHost[] {
    return [...this.#hosts.values()];
  }

  /** A new host; its networks are made when they are first used. */
  async addHost(name: string, { lans = [FIRST_LAN] }: HostOptions = {}): Promise<LabHost> {
    if (this.#hosts.has(name)) throw new AtmoError('INTERNAL_ERROR', `The lab has a host ${name} already`);
    if (!/^[a-z][a-z0-9]{0,7}$/.test(name))
      throw new AtmoError('VALIDATION_ERROR', `Host name ${JSON.stringify(name)} is not [a-z][a-z0-9]{0,7}`);
    for (const lan of lans) await this.addLan(lan);
    const host = new LabHost(name, this.#nextNumber++, lans);
    await host.start();
    this.#hosts.set(name, host);
    return host;
  }

  async addHosts(count: number, prefix = 'n'): Promise<readonly LabHost[]> {
    const hosts: LabHost[] = [];
    for (let index = 1; index <= count; index++) hosts.push(await this.addHost(`${prefix}${index}`));
    return hosts;
  }

  async removeHost(host: LabHost): Promise<void> {
    this.#hosts.delete(host.name);
    await host[Symbol.asyncDispose]();
  }

  /** Makes network `lan` (0 to 8) unless it is there. Networks reach each other only over hosts with cards in both that `route`. */
  async addLan(lan: number): Promise<void> {
    if (!Number.isInteger(lan) || lan < 0 || lan >= MAX_LANS)
      throw new AtmoError('VALIDATION_ERROR', `Network ${lan} is not 0 to ${MAX_LANS - 1}`);
    if (lan !== FIRST_LAN) await this.#addBridge(`br${lan}`);
  }

  /** Cuts network `lan` in two: the hosts given on one side, everybody else on the other. Nobody sees a link go down. */
  async partition(hosts: readonly LabHost[], lan = FIRST_LAN): Promise<void> {
    const bridge = `cut${lan}`;
    await this.#addBridge(bridge);
    for (const host of hosts) await host.plug(host.lans.indexOf(lan), bridge);
  }

  /** Joins what `partition` cut. */
  async heal(hosts: readonly LabHost[], lan = FIRST_LAN): Promise<void> {
    for (const host of hosts) await host.plug(host.lans.indexOf(lan));
  }

  async #addBridge(name: string): Promise<void> {
    if (this.#bridges.has(name)) return;
    await runTool('ip', ['-n', SWITCH, 'link', 'add', name, 'type', 'bridge', 'mcast_snooping', '0']);
    await runTool('ip', ['-n', SWITCH, 'link', 'set', name, 'up']);
    this.#bridges.add(name);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const host of this.hosts) await this.removeHost(host);
    for (const bridge of this.#bridges) await runTool('ip', ['-n', SWITCH, 'link', 'del', bridge]);
    this.#bridges.clear();
  }
}
