import type { JsonObject } from '../core/json.ts';
import { type Finding, objectsIn, ok, warning } from './check-result.ts';

const NOBODY_ADVICE =
  'see that the others run and that the mesh port (8082) is open; on one of them atmo mesh status tells whether this hub was sent away';

/** Returns the names of the other hubs that this hub cannot reach. */
export function unreachableHubs(mesh: JsonObject): readonly string[] {
  return objectsIn(mesh, 'peers').flatMap(({ id, name, reachable }) => (reachable === true ? [] : [String(name ?? id)]));
}

/** Returns a description of the mesh on one line. */
export function meshText(mesh: JsonObject): string {
  const { mesh_id: id, state } = mesh;
  if (id === undefined) return 'none';
  if (state !== 'member') return `${id}; the membership of this hub is ${state}`;
  const count = objectsIn(mesh, 'peers').length;
  const away = unreachableHubs(mesh);
  return `${id} with ${count} other ${count === 1 ? 'hub' : 'hubs'}${away.length > 0 ? ` (not reachable: ${away.join(', ')})` : ''}`;
}

/** Returns the finding of `atmo doctor` about the mesh. */
export function meshFinding(mesh: JsonObject): Finding {
  const found = meshText(mesh);
  const advice = meshAdvice(mesh);
  return advice === undefined ? ok(found) : warning(found, advice);
}

function meshAdvice(mesh: JsonObject): string | undefined {
  if (mesh.mesh_id === undefined) return undefined;
  if (mesh.state !== 'member') return 'join again: atmo mesh invite on another hub, then atmo mesh join LINE here';
  const peers = objectsIn(mesh, 'peers');
  const away = unreachableHubs(mesh);
  if (away.length > 0 && away.length === peers.length) return NOBODY_ADVICE;
  if (away.length > 0) return `see that ${away.join(', ')} run, and atmo mesh peers`;
  if (peers.length === 0 && Number(mesh.members) > 0) return NOBODY_ADVICE;
  const twice = sharedNames(mesh);
  return twice.length > 0 ? `several hubs are called ${twice.join(', ')}: give each a mesh.name in its config.yaml` : undefined;
}

/** Returns the names that occur more than once among this hub and its peers. */
export function sharedNames(mesh: JsonObject): readonly string[] {
  const names = [mesh.hub_name, ...objectsIn(mesh, 'peers').map(({ name }) => name)].map(String);
  return names.filter((name, index) => names.indexOf(name) !== index);
}
