import { parseGrant } from '../../core/access/permission.ts';
import type { Principal } from '../../core/access/principal.ts';
import { AtmoError } from '../../core/errors.ts';
import type { Json } from '../../core/json.ts';
import type { CallerSight } from '../devices/caller-sight.ts';
import { json } from '../door/answer.ts';
import { defineRoute, type Route } from '../door/route.ts';
import type { ToolCatalogue } from './tool-catalogue.ts';

const MAX_PERMISSIONS = 64;
const LISTED = { type: 'array', items: { type: 'object' } };

interface PreviewCollaborators {
  readonly catalogue: ToolCatalogue;
  readonly sight: CallerSight;
}

/**
 * What an agent would be shown, before anybody makes it a token: judged as a call of such an agent would be, and never more than
 * whoever asks is shown.
 */
export function previewRoutes({ catalogue, sight }: PreviewCollaborators): readonly Route[] {
  return [
    defineRoute({
      method: 'POST',
      path: '/api/v1/tokens/preview',
      summary: 'The devices and tools that a token with these permissions would be shown; no token is made',
      body: {
        type: 'object',
        required: ['permissions'],
        properties: { permissions: { type: 'array', items: { type: 'string' }, maxItems: MAX_PERMISSIONS } },
        example: { permissions: ['device:control:@area/hall'] },
      },
      answers: {
        200: {
          description: 'devices and tools by id and name',
          schema: { type: 'object', required: ['devices', 'tools'], properties: { devices: LISTED, tools: LISTED } },
        },
      },
      handle({ principal, body }) {
        const agent: Principal = { id: 'preview', kind: 'agent', permissions: grantsOf(body.permissions) };
        const isShown = catalogue.visibleTo(principal);
        const devices = sight.devices(agent).filter(({ id }) => sight.maySee(principal, id));
        const tools = catalogue.all(agent).filter(isShown);
        return json({
          devices: devices.map(({ id, name, area }) => ({ id, name, area: area ?? null })),
          tools: tools.map(({ id, definition }) => ({ id, name: definition.metadata.title })),
        });
      },
    }),
  ];
}

function grantsOf(permissions: Json | undefined): readonly string[] {
  const texts = Array.isArray(permissions) ? permissions : [];
  const grants = texts.filter((text) => typeof text === 'string').filter((text) => parseGrant(text) !== undefined);
  if (grants.length > 0 && grants.length === texts.length && grants.length <= MAX_PERMISSIONS) return grants;
  throw new AtmoError('VALIDATION_ERROR', `permissions has to be a list of 1 to ${MAX_PERMISSIONS} permissions such as "device:read:*"`);
}
