import type { ScryptCost } from '../../codec/passphrase-encryption.ts';
import { GOSSIP_LIMITS, type GossipLimits } from '../../mesh/gossip/gossip-limits.ts';
import { ARCHIVE_COST, SMALL_ARCHIVE_COST } from '../../storage/backup/archive-encryption.ts';

/** Names of the memory profiles, as `memory` in the configuration and ATMO_MEMORY take them. */
export const MEMORY_PROFILES = ['normal', 'small'] as const;

/** Name of a memory profile. */
export type MemoryProfileName = (typeof MEMORY_PROFILES)[number];

/** What bounds the memory of a hub. */
export interface MemoryProfile {
  readonly name: MemoryProfileName;
  /** Flags for Node.js besides those of the start scripts. V8 takes them only at its start. */
  readonly nodeFlags: readonly string[];
  /** Environment variables of the process. The C library and libuv read them only at its start. */
  readonly environment: Readonly<Record<string, string>>;
  /** `MemoryHigh` and `MemoryMax` of the service in MiB: above the first the kernel takes pages back, above the second it ends a process. */
  readonly service: { readonly highMb: number; readonly maxMb: number };
  /** Page cache of each of the hub's databases, in KiB. */
  readonly databaseCacheKib: number;
  readonly calls: {
    /** Defaults of `tools.max_concurrent`, `tools.max_queued` and `tools.max_concurrent_per_caller`. */
    readonly maxConcurrent: number;
    readonly maxQueued: number;
    readonly maxConcurrentPerCaller: number;
    /** Largest number of calls of one caller that wait for a slot. */
    readonly maxQueuedPerCaller: number;
  };
  /** Default of `mesh.max_peers`, and bounds of what is kept about other hubs of a mesh. */
  readonly mesh: { readonly maxPeers: number; readonly limits: Pick<GossipLimits, 'maxHubs' | 'maxBytes' | 'maxBlobBytes'> };
  /** A call is refused while less than this number of bytes is available, of the memory or of V8's heap. */
  readonly minFreeBytes: number;
  /** scrypt cost of the backups that the hub itself writes. */
  readonly backupCost: ScryptCost;
  /** Events that are kept for readers that reconnect, and bytes that may wait for a slow reader before it is disconnected. */
  readonly eventStreams: { readonly kept: number; readonly maxPendingBytes: number };
}

/**
 * The profiles. `normal` suits boards with 1 GB and more. `small` suits boards with 512 MB: its V8 collects garbage sooner and has a
 * bound, and its queues and caches are shorter.
 */
const PROFILES: Readonly<Record<MemoryProfileName, Omit<MemoryProfile, 'name'>>> = {
  normal: {
    nodeFlags: [],
    environment: {},
    service: { highMb: 384, maxMb: 512 },
    databaseCacheKib: 2_000,
    calls: { maxConcurrent: 256, maxQueued: 1_024, maxConcurrentPerCaller: 64, maxQueuedPerCaller: 256 },
    mesh: { maxPeers: 64, limits: GOSSIP_LIMITS },
    minFreeBytes: 16_000_000,
    backupCost: ARCHIVE_COST,
    eventStreams: { kept: 1_000, maxPendingBytes: 1_048_576 },
  },
  small: {
    nodeFlags: ['--max-semi-space-size=1', '--max-old-space-size=112', '--heap-growing-percent=10', '--v8-pool-size=1'],
    // One arena of glibc's malloc for all threads (mallopt(3)), which gives memory back sooner, and two threads of libuv.
    environment: { MALLOC_ARENA_MAX: '1', MALLOC_TRIM_THRESHOLD_: '131072', MALLOC_MMAP_THRESHOLD_: '65536', UV_THREADPOOL_SIZE: '2' },
    service: { highMb: 224, maxMb: 288 },
    databaseCacheKib: 500,
    calls: { maxConcurrent: 32, maxQueued: 128, maxConcurrentPerCaller: 16, maxQueuedPerCaller: 32 },
    mesh: { maxPeers: 16, limits: { maxHubs: 64, maxBytes: 12 * 1_048_576, maxBlobBytes: 4 * 1_048_576 } },
    minFreeBytes: 8_000_000,
    backupCost: SMALL_ARCHIVE_COST,
    eventStreams: { kept: 250, maxPendingBytes: 131_072 },
  },
};

/** Returns the profile of this name. */
export function memoryProfile(name: MemoryProfileName): MemoryProfile {
  return { name, ...PROFILES[name] };
}
