import { type ApproverDirectory, type ApproverKey, PERSON_NAME } from '../../../core/access/approvals.ts';
import type { Effect } from '../../../core/access/authorizer.ts';
import type { JsonObject } from '../../../core/json.ts';
import { defineTool } from '../../definition/define-tool.ts';
import type { RegisteredTool } from '../../definition/tool-definition.ts';
import { p } from '../../schema/parameter-builder.ts';
import { HUB_ACTS, HUB_READS } from '../devices/admin-declaration.ts';

const PERMISSION = 'admin:approvals';
const FOR_APPROVALS = { permissions: [PERMISSION] } as const;

/** Whose signatures approve dangerous calls. To change that is dangerous itself: somebody of them has to agree. */
export function approverTools(approvers: ApproverDirectory): readonly RegisteredTool[] {
  return [listTool(approvers), enrollTool(approvers), removeTool(approvers)];
}

function listTool(approvers: ApproverDirectory): RegisteredTool {
  return defineTool(
    {
      ...HUB_READS,
      ...FOR_APPROVALS,
      name: 'list_approvers',
      title: 'List approvers',
      description: 'Lists the persons who may approve dangerous calls, with their keys.',
      parameters: {},
      returns: { type: 'object', required: ['approvers'], properties: { approvers: { type: 'array' } } },
    },
    async () => ({ approvers: approvers.list().map(keyJson) }),
  );
}

function enrollTool(approvers: ApproverDirectory): RegisteredTool {
  return defineTool(
    {
      ...HUB_ACTS,
      ...FOR_APPROVALS,
      name: 'enroll_approver',
      title: 'Let a person approve dangerous calls',
      description: 'Enrols a key of a person, whose signatures then approve dangerous calls that are made from now on.',
      isDangerous: true,
      parameters: {
        person: p.string({ description: 'Name of the person', pattern: PERSON_NAME.source }),
        key: p.string({ description: 'Raw Ed25519 public key, 32 bytes in base64url', pattern: '^[A-Za-z0-9_-]{43}$' }),
        label: p.string({ description: 'Which key of hers it is, such as phone', maxLength: 64, default: '', isGivenName: true }),
      },
      effects: ({ person }) => [touching(`approver/${person}`)],
    },
    async (params) => keyJson(await approvers.enrol(params)),
  );
}

function removeTool(approvers: ApproverDirectory): RegisteredTool {
  return defineTool(
    {
      ...HUB_ACTS,
      ...FOR_APPROVALS,
      name: 'remove_approver',
      title: 'Remove an approver key',
      description: "Removes a key; the person's approvals with it that were not used yet count no more.",
      isDangerous: true,
      parameters: { key_id: p.string({ description: 'Id of the key, as list_approvers tells it', pattern: '^[0-9a-f]{16}$' }) },
      // People have to see whose key it is: they know no key by its id.
      effects: ({ key_id: id }) => {
        const owner = approvers.list().find(({ keyId }) => keyId === id);
        return [touching(owner ? `approver/${owner.person}/${id}` : `approver-key/${id}`)];
      },
    },
    async ({ key_id: id }) => keyJson(await approvers.remove(id)),
  );
}

function touching(target: string): Effect {
  return { permission: PERMISSION, risk: 'dangerous', target };
}

function keyJson({ person, keyId, key, label, enrolledAt }: ApproverKey): JsonObject {
  return { person, key_id: keyId, key, label, enrolled_at: enrolledAt };
}
