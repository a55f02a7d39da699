import type { Target } from './target.ts';
import { FILE_TARGETS } from './targets/file-targets.ts';
import { HOME_TARGETS } from './targets/home-targets.ts';
import { MESH_TARGETS } from './targets/mesh-targets.ts';
import { REQUEST_TARGETS } from './targets/request-targets.ts';
import { SERVICE_TARGETS } from './targets/service-targets.ts';

/** Every parser of what others sent. */
export const TARGETS: readonly Target[] = [...MESH_TARGETS, ...FILE_TARGETS, ...HOME_TARGETS, ...SERVICE_TARGETS, ...REQUEST_TARGETS];
