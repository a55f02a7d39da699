import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../core/clock.ts';
import type { Capability } from '../tools/registry/capability-catalogue.ts';

/** The capabilities of every hub. */
export const OWN_CAPABILITIES: readonly Capability[] = [
  { type: 'sensor_access', description: () => 'Readings of the sensors of this home, now and over time' },
  { type: 'agent_runtime', description: () => 'Automations that run on this hub under tokens of their own' },
];

const some = (group: string) => (count: number) => `${group} of a Matter/Thread bridge with ${count} devices`;

/** The capabilities of a hub with a Matter fabric. */
export const DEVICE_CAPABILITIES: readonly Capability[] = [
  { type: 'matter_bridge', description: (count) => `Matter/Thread bridge with ${count} devices`, hasDevices: true },
  { type: 'device_control', description: some('Devices') },
  { type: 'light_control', description: some('Lights') },
  { type: 'thermostat_control', description: some('Thermostats') },
];

/** Milliseconds for which the kernel's data is cached. */
const CACHE_MS = 3_000;
/**
 * Flag bits of a route (linux/route.h, linux/ipv6_route.h). UP: the route is up. REJECT: the target is unreachable or prohibited. LOCAL:
 * the address belongs to this machine.
 */
const [UP, REJECT, LOCAL] = [0x1, 0x200, 0x8000_0000];
const LINK_LOCAL_4 = /FEA9$/i;
const LINK_LOCAL_6 = /^(?:fe[89ab]|ff)/i;

/** Finds out from the kernel whether this machine has a route to another network. Tools with `requires.network` need such a route. */
export class NetworkRoutes {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #root: string;
  #known: { readonly isOnline: boolean; readonly untilMs: number } | undefined;

  /** Tests set `root` to a folder that replaces `/`. */
  constructor(clock: Pick<Clock, 'monotonic'>, root = '/') {
    this.#clock = clock;
    this.#root = root;
  }

  /**
   * Returns whether a route leads to another network through an interface that is up. This need not be a default route: a home without
   * internet access has network services too. Also returns true if the kernel's route tables cannot be read.
   */
  isOnline(): boolean {
    const nowMs = this.#clock.monotonic();
    if (!this.#known || nowMs >= this.#known.untilMs) this.#known = { isOnline: this.#hasRoute(), untilMs: nowMs + CACHE_MS };
    return this.#known.isOnline;
  }

  #hasRoute(): boolean {
    const tables = [
      this.#read('proc/net/route')?.split('\n').slice(1).map(routeOf4),
      this.#read('proc/net/ipv6_route')?.split('\n').map(routeOf6),
    ].filter((table) => table !== undefined);
    return tables.length === 0 || tables.flat().some((route) => route !== undefined && this.#leadsOut(route));
  }

  #leadsOut({ device, flags, isOfLink }: KernelRoute): boolean {
    if ((flags & UP) === 0 || (flags & REJECT) !== 0 || (flags & LOCAL) !== 0 || isOfLink || device === 'lo') return false;
    return !/down/.test(this.#read(`sys/class/net/${device}/operstate`) ?? '');
  }

  #read(path: string): string | undefined {
    try {
      return readFileSync(join(this.#root, path), 'utf8');
    } catch {
      return undefined;
    }
  }
}

interface KernelRoute {
  readonly device: string;
  readonly flags: number;
  /** True for link-local and multicast routes, which do not lead to another network. */
  readonly isOfLink: boolean;
}

function routeOf4(line: string): KernelRoute | undefined {
  const [device, destination = '', , flags = ''] = line.split(/\s+/);
  return device ? { device, flags: Number.parseInt(flags, 16), isOfLink: LINK_LOCAL_4.test(destination) } : undefined;
}

function routeOf6(line: string): KernelRoute | undefined {
  const [destination = '', , , , , , , , flags = '', device] = line.trim().split(/\s+/);
  return device ? { device, flags: Number.parseInt(flags, 16), isOfLink: LINK_LOCAL_6.test(destination) } : undefined;
}

/** The capability of a hub with a GPU or a processor for neural networks. */
export const GPU: Capability = { type: 'gpu', description: () => 'A processor for graphics or neural networks' };

/** Device files of accelerators: NVIDIA, AMD's compute interface, Hailo and Coral. */
const ACCELERATORS = ['dev/nvidia0', 'dev/kfd', 'dev/hailo0', 'dev/apex_0'];
const RENDER_NODE = /^renderD\d+$/;
/** Matches the drivers of GPUs that can run models. Drivers of small boards (v3d, panfrost, …) and virtual machines do not match. */
const GPU_DRIVERS = /^DRIVER=(?:i915|xe|amdgpu|nvidia|nouveau)$/m;

/** Returns whether the machine has a GPU that can run models. Tests set `root` to a folder that replaces `/`. */
export function hasGpu(root = '/'): boolean {
  if (ACCELERATORS.some((path) => existsSync(join(root, path)))) return true;
  const nodes = namesIn(join(root, 'dev/dri')).filter((name) => RENDER_NODE.test(name));
  return nodes.some((name) => GPU_DRIVERS.test(textOf(join(root, 'sys/class/drm', name, 'device/uevent'))));
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
