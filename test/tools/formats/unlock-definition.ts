import { normalizeDefinition } from '../../../src/tools/definition/public-definition.ts';

/** The definition of a dangerous tool of a device; it uses most members of the public form. */
export const unlockDefinition = normalizeDefinition({
  name: 'unlock',
  namespace: 'matter',
  version: '1.2.0',
  title: 'Unlock the door',
  description: 'Unlocks the front door',
  dangerous: true,
  parameters: {
    type: 'object',
    required: ['pin'],
    properties: {
      pin: { type: 'string', description: 'PIN', 'x-secret': true },
      seconds: { type: 'integer', description: 'For how long', minimum: 1, default: 5 },
    },
  },
  returns: { type: 'object', required: ['success'], properties: { success: { type: 'boolean' } } },
  requires: { capabilities: ['matter_bridge'], permissions: ['device:control:front-door'], multi_party: 2 },
  execution: { timeout_ms: 9000, idempotent: true, max_memory_bytes: 1000 },
  routing: { node_affinity: ['matter-bridge'], hop_limit: 1 },
  metadata: {
    category: 'acting',
    tags: ['door'],
    device: 'front-door',
    area: 'hall',
    created_by: 'agent',
    examples: [{ description: 'Now', params: { pin: '1234' } }],
  },
});
