import { AtmoError } from '../../../core/errors.ts';
import { defineTool } from '../../definition/define-tool.ts';
import type { RegisteredTool } from '../../definition/tool-definition.ts';
import { done, FOR_HUB, HUB_ACTS, SUCCESS } from '../devices/admin-declaration.ts';

/** What the owner's tools work with. */
interface OwnerPorts {
  /** Replaces the owner's token; the old one ends at once. STORAGE_FAILED, and then the old one stays. */
  readonly credential: { rotate(): void };
}

/** `hub:rotate_owner`: the new token stands in its file alone, no answer and no journal repeats it. */
export function ownerTools({ credential }: OwnerPorts): readonly RegisteredTool[] {
  const rotate = defineTool(
    {
      ...HUB_ACTS,
      ...FOR_HUB,
      name: 'rotate_owner',
      title: "Replace the owner's token",
      description: "Replaces the owner's token; the old one ends at once and the new one is written to owner.token in the state directory.",
      isDangerous: true,
      parameters: {},
      returns: done,
    },
    async (_params, { principal }) => {
      if (principal.kind !== 'owner')
        throw new AtmoError('PERMISSION_DENIED', `Only the owner replaces the owner's token, not ${principal.id}`);
      credential.rotate();
      return SUCCESS;
    },
  );
  return [rotate];
}
