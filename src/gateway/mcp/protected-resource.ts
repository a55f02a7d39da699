import { json } from '../door/answer.ts';
import { type DoorRequest, defineRoute, RESOURCE_METADATA, type Route } from '../door/route.ts';

/**
 * How the MCP endpoints are protected (RFC 9728 §2): by a bearer token in the header, which the owner mints; there is no
 * authorization server. Public, as it says nothing of the home. `resource` is what the address was made from (§3.3): without a
 * path the whole hub.
 */
export function protectedResourceRoutes(paths: readonly string[]): readonly Route[] {
  return ['', ...paths].map((path) =>
    defineRoute({
      method: 'GET',
      path: `${RESOURCE_METADATA}${path}`,
      summary: 'How the MCP endpoints are protected (RFC 9728)',
      access: 'public',
      answers: { 200: 'metadata' },
      handle: (request) =>
        json({
          resource: `${originOf(request)}${resourcePath(request)}`,
          resource_name: 'atmosphere-edge',
          bearer_methods_supported: ['header'],
          scopes_supported: ['device:read:*', 'device:control:*', 'sensor:read:*'],
        }),
    }),
  );
}

function originOf({ request }: DoorRequest): string {
  return new URL(request.url).origin;
}

/** As it was asked for, so that an area is spelled as in the address of its endpoint. */
function resourcePath({ request }: DoorRequest): string {
  return new URL(request.url).pathname.slice(RESOURCE_METADATA.length);
}
