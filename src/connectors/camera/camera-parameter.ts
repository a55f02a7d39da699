import { AtmoError } from '../../core/errors.ts';
import { p } from '../../tools/schema/parameter-builder.ts';
import { knownTo } from '../models/held-permissions.ts';
import type { Cameras } from './cameras.ts';

/** Parameter of every tool on a camera. */
export const cameraParameter = p.string({
  description: 'Id of the camera; a wrong one is answered with those that there are',
  pattern: '^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$',
});

/** NOT_FOUND with the cameras that the caller may use, when there is none of this id. */
export function requireCamera(cameras: Cameras, id: string, grants: readonly string[]): void {
  if (cameras.ids().includes(id)) return;
  const candidates = knownTo(grants, 'camera:capture', cameras.ids());
  const known = candidates.length === 0 ? '' : `; there is ${candidates.join(', ')}`;
  throw new AtmoError('NOT_FOUND', `There is no camera ${id} at this hub${known}`, { candidates });
}
